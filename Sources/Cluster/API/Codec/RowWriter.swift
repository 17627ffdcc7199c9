internal import FoundationEssentials
internal import Model

/// Writes tables of rows.
struct RowWriter<Field: WireField>: FieldCoder {
    var bytes: [UInt8]
    /// Index of the next column to write.
    private var next = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var isReading: Bool { false }

    /// Appends the names of the columns and a line per row.
    mutating func table<Row: WireRow>(_ rows: some Collection<Row>) throws
    where Row.Field == Field {
        bytes.append(contentsOf: Field.layout.header)
        bytes.append(UInt8(ascii: "\n"))
        for row in rows {
            next = 0
            var row = row
            try row.code(with: &self)
            // A line without fields would be one empty field.
            if next == 0 { null() }
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value) throws {
        begin(field)
        try value.appendField(to: &bytes)
    }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value?) throws {
        // Nulls are written before the next value; those at the end of a row are omitted.
        guard let value else { return }
        begin(field)
        try value.appendField(to: &bytes)
    }

    mutating func codeJSON<Value: Codable>(_ field: Field, _ value: inout Value?) throws {
        guard let value else { return }
        begin(field)
        for byte in try WireJSON.json(value) { RowEscape.append(byte, to: &bytes) }
    }

    private mutating func begin(_ field: Field) {
        precondition(field.rawValue >= next, "\(field) is out of order")
        while next < field.rawValue { null() }
        separate()
    }

    private mutating func null() {
        separate()
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: "N"))
    }

    private mutating func separate() {
        if next > 0 { bytes.append(0x09) }
        next += 1
    }
}
