/// The fields that a type has asked its decoder for, over several decodings.
final class FieldRecord {
    private struct Field {
        var name: String
        var schema: Schema
        /// Number of decodings that required it.
        var required = 0
    }

    private var fields: [Field] = []
    /// The schema of a type that is no object.
    var single: Schema?
    /// Number of decodings that try every value of each enumeration.
    private(set) var choices = 1

    func add(_ name: String, _ schema: Schema, isRequired: Bool, choices: Int) {
        self.choices = max(self.choices, choices)
        if !fields.contains(where: { $0.name == name }) {
            fields.append(Field(name: name, schema: schema))
        }
        guard isRequired, let index = fields.firstIndex(where: { $0.name == name }) else { return }
        fields[index].required += 1
    }

    /// Returns the fields in the order of their first use.
    func properties(passes: Int) -> [Schema.Property] {
        fields.map { field in
            let isRequired = field.required == passes
            return Schema.Property(
                field.name, isRequired ? field.schema : field.schema.nullable,
                isRequired: isRequired)
        }
    }
}

/// A decoder without input: it records what is asked for, and returns samples.
struct TraceDecoder: Decoder {
    let tracer: SchemaTracer
    let record: FieldRecord
    /// Which value of enumerations is returned.
    let choice: Int
    /// False if optional fields are missing.
    let hasOptionals: Bool

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ tracer: SchemaTracer, _ record: FieldRecord, choice: Int, hasOptionals: Bool) {
        self.tracer = tracer
        self.record = record
        self.choice = choice
        self.hasOptionals = hasOptionals
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(TracedFields(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unsupported() }

    func singleValueContainer() -> any SingleValueDecodingContainer { TracedValue(decoder: self) }

    /// The failure of a type that has to be `SchemaDescribed`.
    fileprivate func unsupported(_ key: (any CodingKey)? = nil) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: key.map { [$0] } ?? [], debugDescription: "cannot be traced"))
    }
}

private final class TracedFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoder: TraceDecoder
    /// The key that was looked for last: it is optional.
    private var optional: String?

    init(decoder: TraceDecoder) { self.decoder = decoder }

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    /// Called for optional fields, before they are decoded.
    func contains(_ key: Key) -> Bool {
        optional = key.stringValue
        return decoder.hasOptionals
    }

    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let isRequired = optional != key.stringValue
        optional = nil
        let (schema, sample, choices) = decoder.tracer.trace(type, choice: decoder.choice)
        decoder.record.add(key.stringValue, schema, isRequired: isRequired, choices: choices)
        guard let sample else { throw decoder.unsupported(key) }
        return sample
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw decoder.unsupported(key) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw decoder.unsupported(key)
    }

    func superDecoder() throws -> any Decoder { throw decoder.unsupported() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw decoder.unsupported(key) }
}

private struct TracedValue: SingleValueDecodingContainer {
    let decoder: TraceDecoder

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (schema, sample, _) = decoder.tracer.trace(type)
        decoder.record.single = schema
        guard let sample else { throw decoder.unsupported() }
        return sample
    }
}
