import FoundationEssentials

/// JSON of the API's bodies: by Foundation, except for messages with a hand-written codec.
package enum WireJSON {
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        if let message = value as? any WireMessage { return try message.wireBytes() }
        return try plain(value)
    }

    /// Throws a `DecodingError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        if let type = type as? any WireMessage.Type,
            let message = try type.reading(bytes) as? Value
        {
            return message
        }
        return try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Decodes input and rejects fields that `type` does not have. Throws a `DecodingError`.
    ///
    /// For requests. Answers are read by `decode`, so that a coordinator may be newer than its
    /// client.
    package static func decodeStrictly<Value: Decodable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8]
    ) throws -> Value {
        // Hand-written readers accept no other fields.
        if let type = type as? any WireMessage.Type,
            let message = try type.reading(bytes) as? Value
        {
            return message
        }
        return try JSONDecoder().decode(Strict<Value>.self, from: Data(bytes)).value
    }

    static func plain(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

/// A message with a hand-written codec for its usual form.
protocol WireMessage: Codable {
    func wireBytes() throws -> [UInt8]
    /// Returns nil if Foundation must read it, because `wireBytes` would not write it so.
    static func reading(_ bytes: [UInt8]) throws -> Self?
}

/// Elements of a message from columns, with their indices in the whole list.
struct PlacedRows<Element> {
    var places: [Int]
    var elements: [Element]
}

/// A message with a list that travels in columns, as the message's last member. Its `Codable` has
/// the list without columns; both forms are accepted.
protocol ColumnMessage: WireMessage {
    associatedtype Element

    static var columnsName: StaticString { get }
    var elements: [Element] { get set }

    /// Returns the indices of the elements that travel in columns, a group for each object of
    /// columns.
    func columnGroups() -> [[Int]]
    /// Writes the members of a group's object, each followed by a comma.
    func write(_ places: [Int], to writer: inout WireTextWriter)
    /// Reads a group's object; returns nil if `write` would not write it so.
    static func readColumns(_ reader: inout WireTextReader) -> PlacedRows<Element>?

    /// Writes the other members, each followed by a comma, if no element remains in the list.
    /// Returns false if Foundation must write it.
    func writeRest(to writer: inout WireTextWriter) -> Bool
    /// Reads a whole message of that kind; returns nil for another.
    static func readWhole(_ reader: inout WireTextReader) -> Self?
}

extension ColumnMessage {
    func wireBytes() throws -> [UInt8] {
        let groups = columnGroups()
        let placed = groups.reduce(0) { $0 + $1.count }
        var writer = WireTextWriter()
        writer.reserve(placed * 150 + 1_000)
        writer.raw("{")
        if placed < elements.count || !writeRest(to: &writer) {
            guard !groups.isEmpty else { return try WireJSON.plain(self) }
            writer = WireTextWriter(try WireJSON.plain(without(groups)))
            writer.removeLast()
            writer.raw(",")
        }
        if !groups.isEmpty {
            writer.raw("\"")
            writer.raw(Self.columnsName)
            writer.raw("\":[")
            for group in groups {
                writer.raw("{")
                write(group, to: &writer)
                writer.removeLast()
                writer.raw("},")
            }
            writer.removeLast()
            writer.raw("],")
        }
        writer.removeLast()
        writer.raw("}")
        return writer.bytes
    }

    /// Returns the message with the elements that travel in no column.
    private func without(_ groups: [[Int]]) -> Self {
        var rest = self
        let placed = Set(groups.joined())
        rest.elements = elements.indices.lazy.filter { !placed.contains($0) }.map { elements[$0] }
        return rest
    }

    static func reading(_ bytes: [UInt8]) throws -> Self? {
        let whole = bytes.withUnsafeBufferPointer { bytes -> Self? in
            var reader = WireTextReader(bytes)
            let whole = readWhole(&reader)
            return reader.isAtEnd ? whole : nil
        }
        if let whole { return whole }
        guard let (rest, rows) = bytes.withUnsafeBufferPointer(cut) else { return nil }
        var message = try JSONDecoder().decode(Self.self, from: Data(rest))
        guard let elements = merged(rows, with: message.elements) else {
            throw brokenColumns([])
        }
        message.elements = elements
        return message
    }

    /// Returns the message without its columns, and the columns.
    private static func cut(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) -> (rest: [UInt8], rows: [PlacedRows<Element>])? {
        var reader = WireTextReader(bytes)
        guard reader.take(UInt8(ascii: "{")) else { return nil }
        var rows: [PlacedRows<Element>]?
        var columns = 0..<0
        // There is no comma to cut before the first member.
        var comma: Int?
        repeat {
            guard let name = reader.text(), reader.take(UInt8(ascii: ":")) else { return nil }
            if name.isName(columnsName) {
                guard let start = comma, rows == nil, let read = reader.array(readColumns) else {
                    return nil
                }
                rows = read
                columns = start..<reader.index
            } else if !reader.skip() {
                return nil
            }
            comma = reader.index
        } while reader.take(UInt8(ascii: ","))
        guard reader.take(UInt8(ascii: "}")), reader.isAtEnd, let rows else { return nil }
        return (Array(bytes[..<columns.lowerBound]) + bytes[columns.upperBound...], rows)
    }

    /// Returns the whole list, with `others` in the gaps; nil if they do not match.
    static func merged(_ rows: [PlacedRows<Element>], with others: [Element]) -> [Element]? {
        if others.isEmpty, rows.count == 1, rows[0].places.elementsEqual(rows[0].places.indices) {
            return rows[0].elements
        }
        let count = rows.reduce(others.count) { $0 + $1.places.count }
        var slots = [Element?](repeating: nil, count: count)
        for group in rows {
            for (place, element) in zip(group.places, group.elements) {
                guard slots.indices.contains(place), slots[place] == nil else { return nil }
                slots[place] = element
            }
        }
        var rest = others[...]
        let whole = slots.compactMap { $0 ?? rest.popFirst() }
        return rest.isEmpty && whole.count == count ? whole : nil
    }

    static func brokenColumns(_ path: [any CodingKey]) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: path, debugDescription: "the columns do not fit together"))
    }
}
