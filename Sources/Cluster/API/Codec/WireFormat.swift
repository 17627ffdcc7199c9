/// Encodes and decodes the bodies of requests and answers: JSON, or rows for frequent messages.
///
/// A message in rows is UTF-8 text: a table of its own fields, with one row, then the table of its
/// list, if it has one. A table is a line of column names and a line per row; a tab separates
/// fields. As in the text format of PostgreSQL's COPY, `\N` is null, booleans are `t` and `f`, and
/// `\t`, `\n`, `\r`, `\\` are escapes. Nulls at the end of a row are omitted.
package enum WireFormat: Sendable {
    case json
    case rows

    package var contentType: String {
        switch self {
        case .json: "application/json"
        case .rows: "application/vnd.dray.rows"
        }
    }

    /// Returns the format of a content type; nil for another type.
    package init?(contentType: String) {
        let name = contentType.utf8
        if Self.rows.isNamed(by: name) {
            self = .rows
        } else if Self.json.isNamed(by: name) {
            self = .json
        } else {
            return nil
        }
    }

    /// Returns true if an `Accept` header names the format, with or without parameters.
    package func isAccepted(by header: String) -> Bool {
        header.utf8.split(separator: UInt8(ascii: ",")).contains { type in
            isNamed(by: type.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
        }
    }

    /// Returns true if a media type is the format's, in any case (RFC 9110, 8.3.1), with or without
    /// parameters.
    private func isNamed(by type: some Sequence<UInt8>) -> Bool {
        type.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
            .elementsEqual(contentType.utf8) { byte, own in
                byte == own || (0x41...0x5a).contains(byte) && byte | 0x20 == own
            }
    }

    /// Returns the shortest format of a value.
    package static func preferred(for value: some Encodable) -> WireFormat {
        value is any WireMessage ? .rows : .json
    }

    /// Encodes a value; one that is no message in rows becomes JSON.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        guard self == .rows, let message = value as? any WireMessage else {
            return try WireJSON.encode(value)
        }
        var bytes: [UInt8] = []
        try message.write(to: &bytes)
        return bytes
    }

    /// Decodes an answer and ignores fields that `type` does not have: a coordinator may be newer
    /// than its client. Throws a `DecodingError`.
    package func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        guard self == .rows else { return try WireJSON.decode(type, from: bytes) }
        return try rows(type, from: bytes, isStrict: false)
    }

    /// Decodes a request and rejects fields that `type` does not have. Throws a `DecodingError`.
    package func decodeStrictly<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        guard self == .rows else { return try WireJSON.decodeStrictly(type, from: bytes) }
        return try rows(type, from: bytes, isStrict: true)
    }

    private func rows<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], isStrict: Bool
    ) throws -> Value {
        guard let message = type as? any WireMessage.Type else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "this message has no rows; send JSON."))
        }
        var bytes = bytes
        let value = try bytes.withUnsafeMutableBufferPointer { bytes in
            var scanner = RowScanner(bytes, isStrict: isStrict)
            return try message.read(from: &scanner)
        }
        guard let value = value as? Value else {
            preconditionFailure("\(message) was read as another type")
        }
        return value
    }
}
