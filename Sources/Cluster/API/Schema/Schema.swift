/// The schema of a JSON value (JSON Schema 2020-12): what OpenAPI documents of Dray use of it.
package struct Schema: Hashable, Sendable {
    package indirect enum Kind: Hashable, Sendable {
        case string, integer, number, boolean
        case array(Schema)
        /// An object with any names.
        case map(Schema)
        case object([Property])
        /// A named schema of the document.
        case reference(String)
    }

    /// A field of an object.
    package struct Property: Hashable, Sendable {
        package var name: String
        package var schema: Schema
        package var isRequired: Bool

        package init(_ name: String, _ schema: Schema, isRequired: Bool = true) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }
    }

    /// A limit of a value.
    package indirect enum Bound: Hashable, Sendable {
        case numbers(ClosedRange<Double>)
        case characters(ClosedRange<Int>)
        /// Elements of a list, and a limit of each.
        case items(ClosedRange<Int>, each: Bound? = nil)
        /// A regular expression (ECMA 262) that the whole value matches.
        case pattern(String)
        case values([String])

        package static func range(_ range: ClosedRange<Double>) -> Bound { .numbers(range) }

        package static func range(_ range: ClosedRange<Int>) -> Bound {
            .numbers(Double(range.lowerBound)...Double(range.upperBound))
        }
    }

    package var kind: Kind
    package var bounds: [Bound] = []
    package var isNullable = false

    package init(_ kind: Kind, _ bounds: Bound...) {
        self.kind = kind
        self.bounds = bounds
    }

    /// The same schema, which null also matches: as an omitted field.
    package var nullable: Schema {
        var copy = self
        copy.isNullable = true
        return copy
    }

    /// Returns the same schema with more bounds; those of elements are the elements'.
    package func bounded(_ more: [Bound]) -> Schema {
        var copy = self
        for bound in more {
            if case .items(let count, each: let each?) = bound, case .array(let element) = kind {
                copy.kind = .array(element.bounded([each]))
                copy.bounds.append(.items(count))
            } else {
                copy.bounds.append(bound)
            }
        }
        return copy
    }

    // MARK: JSON

    /// Returns the schema as JSON.
    ///
    /// - Parameter isClosed: true if an object must not have other fields, as in requests.
    package func json(isClosed: Bool = false) -> JSONNode {
        var members: [String: JSONNode] = [:]
        let type: JSONNode
        switch kind {
        case .reference(let name):
            let reference: JSONNode = ["$ref": "#/components/schemas/\(name)"]
            return isNullable ? ["anyOf": [reference, ["type": "null"]]] : reference
        case .string: type = "string"
        case .integer:
            type = "integer"
            members["format"] = "int64"
        case .number: type = "number"
        case .boolean: type = "boolean"
        case .array(let element):
            type = "array"
            members["items"] = element.json()
        case .map(let value):
            type = "object"
            members["additionalProperties"] = value.json()
        case .object(let properties):
            type = "object"
            members["properties"] = .object(
                Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.schema.json()) }))
            let required = properties.filter(\.isRequired).map { JSONNode.string($0.name) }
            if !required.isEmpty { members["required"] = .array(required) }
            if isClosed { members["additionalProperties"] = false }
        }
        members["type"] = isNullable ? [type, "null"] : type
        for bound in bounds { add(bound, to: &members) }
        return .object(members)
    }

    private func add(_ bound: Bound, to members: inout [String: JSONNode]) {
        switch bound {
        case .numbers(let range):
            members["minimum"] = number(range.lowerBound)
            if range.upperBound < Self.unlimited { members["maximum"] = number(range.upperBound) }
        case .characters(let count):
            members["minLength"] = .integer(Int64(count.lowerBound))
            members["maxLength"] = .integer(Int64(count.upperBound))
        case .items(let count, _):
            members["minItems"] = .integer(Int64(count.lowerBound))
            members["maxItems"] = .integer(Int64(count.upperBound))
        case .pattern(let pattern): members["pattern"] = .string(pattern)
        case .values(let values):
            members["enum"] = .array(values.map(JSONNode.string) + (isNullable ? [.null] : []))
        }
    }

    /// A bound that is that of the type: of 64 bits.
    private static let unlimited = 0x1p63

    private func number(_ bound: Double) -> JSONNode {
        Int64(exactly: bound).map(JSONNode.integer) ?? .number(bound)
    }

    // MARK: Text

    /// Describes the value in a few words, as `text of 1 to 200 characters`.
    package var text: String {
        let limits = bounds.compactMap(Self.text(of:)).joined(separator: "; ")
        let name =
            switch kind {
            case .string: "text"
            case .integer: "whole number"
            case .number: "number"
            case .boolean: "true or false"
            case .array(let element): "list of \(element.text)"
            case .map(let value): "object of \(value.text)"
            case .object: "object"
            case .reference(let name): "[\(name)](#\(Self.anchor(name)))"
            }
        return limits.isEmpty ? name : "\(name), \(limits)"
    }

    /// Returns the anchor of a Markdown heading.
    package static func anchor(_ name: String) -> String {
        name.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    private static func text(of bound: Bound) -> String? {
        switch bound {
        case .numbers(let range) where range.upperBound >= unlimited:
            "\(plain(range.lowerBound)) or more"
        case .numbers(let range): "\(plain(range.lowerBound)) to \(plain(range.upperBound))"
        case .characters(let count): "\(count.lowerBound) to \(count.upperBound) characters"
        case .items(let count, _): "\(count.lowerBound) to \(count.upperBound) of them"
        case .pattern(let pattern):
            "`\(pattern.replacing("|", with: "\\|"))`"
        case .values(let values): "one of " + values.map { "`\($0)`" }.joined(separator: ", ")
        }
    }

    private static func plain(_ bound: Double) -> String {
        Int64(exactly: bound).map { "\($0)" } ?? "\(bound)"
    }
}
