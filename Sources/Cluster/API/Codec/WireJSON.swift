internal import FoundationEssentials

/// JSON of the API's bodies and of stored options.
package enum WireJSON {
    /// Maximum bytes of JSON in a field of a row of a request's list.
    static let maximumFieldBytes = 256 << 10
    /// The same in a field of the request itself, such as a reload of a live title.
    static let maximumOwnFieldBytes = 8 << 20

    /// - Parameter isSorted: true for names in a fixed order, so that equal values have equal bytes.
    package static func encode(
        _ value: some Encodable, isSorted: Bool = false
    ) throws -> [UInt8] {
        Array(try json(value, isSorted: isSorted))
    }

    /// Throws a `DecodingError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        try json(type, from: Data(bytes), isStrict: false)
    }

    /// Decodes input and rejects fields that `type` does not have. Throws a `DecodingError`.
    package static func decodeStrictly<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        try json(type, from: Data(bytes), isStrict: true)
    }

    static func json(_ value: some Encodable, isSorted: Bool = false) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        if isSorted { encoder.outputFormatting.insert(.sortedKeys) }
        return try encoder.encode(value)
    }

    static func json<Value: Decodable>(
        _ type: Value.Type, from data: Data, isStrict: Bool
    ) throws -> Value {
        guard isStrict else { return try JSONDecoder().decode(type, from: data) }
        return try JSONDecoder().decode(Strict<Value>.self, from: data).value
    }
}
