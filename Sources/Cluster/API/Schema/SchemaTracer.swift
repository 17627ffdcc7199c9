/// A type whose schema does not follow from the way in which it is decoded.
package protocol SchemaDescribed {
    static func schema(by tracer: SchemaTracer) -> Schema
    /// Any value of the type, which stands for it while others are traced.
    static var sample: Self { get }
}

/// A type with limits on the values of its fields, by their names. What a coordinator checks of a
/// request; the schema has no others.
package protocol SchemaBounded {
    static var bounds: [String: [Schema.Bound]] { get }
}

/// Derives the schemas of wire types from the way in which they are decoded, so that a schema has
/// exactly the fields that are read.
///
/// Each type is decoded from nothing, by a decoder that records the fields asked for. A field that
/// depends on the value of an enumeration is found because all of its values are tried. Confined to
/// one task.
package final class SchemaTracer {
    /// The schemas of all objects so far, by name.
    package private(set) var components: [String: Schema] = [:]
    /// Types that could not be traced; empty unless a type needs to be `SchemaDescribed`.
    package private(set) var problems: [String] = []
    private var samples: [String: Any] = [:]

    package init() {}

    /// Returns the schema of a type; that of an object is a reference to `components`.
    package func schema(of type: any Decodable.Type) -> Schema {
        func open<Value: Decodable>(_ type: Value.Type) -> Schema { trace(type).schema }
        return open(type)
    }

    /// Returns the names of the components that a schema refers to, itself or by others.
    package func names(in schema: Schema) -> Set<String> {
        var found: Set<String> = []
        func add(_ schema: Schema) {
            switch schema.kind {
            case .string, .integer, .number, .boolean: break
            case .array(let element), .map(let element): add(element)
            case .object(let properties): for property in properties { add(property.schema) }
            case .reference(let name):
                guard found.insert(name).inserted, let component = components[name] else { return }
                add(component)
            }
        }
        add(schema)
        return found
    }

    // MARK: Tracing

    /// Returns a type's schema, and a value of it if one could be made.
    ///
    /// - Parameter choice: the value of an enumeration, counted round its cases.
    func trace<Value: Decodable>(
        _ type: Value.Type, choice: Int = 0
    ) -> (schema: Schema, sample: Value?, choices: Int) {
        switch type {
        case is String.Type: return (Schema(.string), "" as? Value, 1)
        case is Bool.Type: return (Schema(.boolean), false as? Value, 1)
        case is Double.Type: return (Schema(.number), 0.0 as? Value, 1)
        case is Int.Type: return (Schema(.integer), 0 as? Value, 1)
        case is Int64.Type: return (Schema(.integer), Int64(0) as? Value, 1)
        default: break
        }
        if let described = type as? any SchemaDescribed.Type {
            return (component(of: described, type), described.sample as? Value, 1)
        }
        if let list = type as? any TracedCollection.Type {
            let (schema, sample) = list.trace(by: self)
            return (schema, sample as? Value, 1)
        }
        if let enumeration = type as? any CaseIterable.Type {
            let cases = Self.cases(of: enumeration)
            let names = cases.compactMap { Self.text(of: $0) }
            let sample = cases.isEmpty ? nil : cases[choice % cases.count] as? Value
            return (Schema(.string, .values(names)), sample, cases.count)
        }
        return (object(type), samples[Self.name(of: type)] as? Value, 1)
    }

    private static func cases<Enumeration: CaseIterable>(of type: Enumeration.Type) -> [Any] {
        type.allCases.map { $0 as Any }
    }

    private static func text(of value: Any) -> String? {
        func open(_ value: some RawRepresentable) -> String? { value.rawValue as? String }
        return (value as? any RawRepresentable).flatMap { open($0) }
    }

    /// `ClusterStatus.QueueStatus`, without the module.
    private static func name(of type: Any.Type) -> String {
        let parts = String(reflecting: type).split(separator: ".")
        return parts.dropFirst().joined(separator: ".")
    }

    private func component(of described: any SchemaDescribed.Type, _ type: Any.Type) -> Schema {
        let schema = described.schema(by: self)
        guard case .object = schema.kind else { return schema }
        let name = Self.name(of: type)
        components[name] = schema
        return Schema(.reference(name))
    }

    private func object<Value: Decodable>(_ type: Value.Type) -> Schema {
        let name = Self.name(of: type)
        if components[name] != nil { return Schema(.reference(name)) }
        let record = FieldRecord()
        var errors: [any Error] = []
        var pass = 0
        repeat {
            decode(type, TraceDecoder(self, record, choice: pass, hasOptionals: true), &errors)
            pass += 1
        } while pass < record.choices
        decode(type, TraceDecoder(self, record, choice: 0, hasOptionals: false), &errors)
        // Fields that depend on each other may contradict each other in some of them.
        if let error = errors.first, samples[name] == nil { problems.append("\(name): \(error)") }
        if let single = record.single { return single }
        var properties = record.properties(passes: pass + 1)
        let bounds = (type as? any SchemaBounded.Type)?.bounds ?? [:]
        for (field, limits) in bounds {
            guard let index = properties.firstIndex(where: { $0.name == field }) else {
                problems.append("\(name) has no field \(field), which has bounds.")
                continue
            }
            properties[index].schema = properties[index].schema.bounded(limits)
        }
        components[name] = Schema(.object(properties))
        return Schema(.reference(name))
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type, _ decoder: TraceDecoder, _ errors: inout [any Error]
    ) {
        let name = Self.name(of: type)
        do {
            let value = try Value(from: decoder)
            if samples[name] == nil { samples[name] = value }
        } catch {
            errors.append(error)
        }
    }
}

/// A list or a dictionary, whose elements are traced.
private protocol TracedCollection {
    static func trace(by tracer: SchemaTracer) -> (Schema, Any)
}

extension Array: TracedCollection where Element: Decodable {
    fileprivate static func trace(by tracer: SchemaTracer) -> (Schema, Any) {
        let element = tracer.trace(Element.self)
        let sample: [Element] = element.sample.map { [$0] } ?? []
        return (Schema(.array(element.schema)), sample)
    }
}

extension Dictionary: TracedCollection where Key == String, Value: Decodable {
    fileprivate static func trace(by tracer: SchemaTracer) -> (Schema, Any) {
        let sample: [String: Value] = [:]
        return (Schema(.map(tracer.trace(Value.self).schema)), sample)
    }
}
