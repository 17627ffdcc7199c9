/// Codes the fields of a row as the fields of a JSON object.
extension WireObject {
    package func encode(to encoder: any Encoder) throws {
        var row = self
        var coder = JSONFieldWriter(container: encoder.container(keyedBy: FieldName<Field>.self))
        try row.code(with: &coder)
    }

    package init(from decoder: any Decoder) throws {
        var row = Self.blank
        var coder = JSONFieldReader(
            container: try decoder.container(keyedBy: FieldName<Field>.self))
        try row.code(with: &coder)
        self = row
    }
}

private struct JSONFieldWriter<Field: WireField>: FieldCoder {
    var container: KeyedEncodingContainer<FieldName<Field>>

    var isReading: Bool { false }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value) throws {
        try container.encode(value, forKey: FieldName(field))
    }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value?) throws {
        try container.encodeIfPresent(value, forKey: FieldName(field))
    }

    mutating func codeJSON<Value: Codable>(_ field: Field, _ value: inout Value?) throws {
        try container.encodeIfPresent(value, forKey: FieldName(field))
    }
}

private struct JSONFieldReader<Field: WireField>: FieldCoder {
    let container: KeyedDecodingContainer<FieldName<Field>>

    var isReading: Bool { true }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value) throws {
        value = try container.decode(Value.self, forKey: FieldName(field))
    }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value?) throws {
        value = try container.decodeIfPresent(Value.self, forKey: FieldName(field))
    }

    mutating func codeJSON<Value: Codable>(_ field: Field, _ value: inout Value?) throws {
        value = try container.decodeIfPresent(Value.self, forKey: FieldName(field))
    }
}
