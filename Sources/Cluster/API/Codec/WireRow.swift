/// The columns of a row; a case's name is the column's name, its raw value the column's index.
package protocol WireField: CaseIterable, RawRepresentable, Sendable where RawValue == Int {
    /// Names of all columns.
    static var layout: RowLayout { get }
}

/// Names of the columns of a row.
package struct RowLayout: Sendable {
    package let names: [String]
    /// The names in snake case, such as `known_sha256` for `knownSHA256`: columns of statements.
    package let columnNames: [String]
    /// The line of names, without its newline.
    let header: [UInt8]

    package init<Field: WireField>(of fields: Field.Type) {
        names = fields.allCases.map { String(describing: $0) }
        columnNames = names.map(Self.snakeCase)
        header = Array(names.joined(separator: "\t").utf8)
    }

    private static func snakeCase(_ name: String) -> String {
        var text = ""
        var wasLower = false
        for letter in name {
            if letter.isUppercase, wasLower { text += "_" }
            wasLower = letter.isLowercase
            text += letter.lowercased()
        }
        return text
    }
}

/// A value whose fields are described once, in `code`.
package protocol WireRow: Sendable {
    associatedtype Field: WireField

    /// A row that `code` fills.
    static var blank: Self { get }

    /// Reads or writes every field, in the order of the columns.
    mutating func code(with coder: inout some FieldCoder<Field>) throws

    /// Reads a row from the texts of other columns: `columns` has the column of each field.
    ///
    /// A requirement, so that each type has its own optimized code in this module.
    static func read(
        _ columns: [Int?], with reader: inout RowReader<Field>,
        _ text: (Int) -> UnsafeBufferPointer<UInt8>?
    ) throws -> Self
}

extension WireRow {
    package static func read(
        _ columns: [Int?], with reader: inout RowReader<Field>,
        _ text: (Int) -> UnsafeBufferPointer<UInt8>?
    ) throws -> Self {
        reader.setTexts { fields in
            for (field, column) in columns.enumerated() {
                if let column { fields[field] = text(column) }
            }
        }
        return try reader.row()
    }
}

/// A row that is also a JSON object with the same fields.
package protocol WireObject: WireRow, Codable {}

/// Reads or writes the fields of one row.
package protocol FieldCoder<Field> {
    associatedtype Field: WireField

    /// True if fields are read; false if they are written.
    var isReading: Bool { get }

    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value) throws
    /// Codes a field that may be null.
    mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value?) throws
    /// Codes a rare value of several parts, which is JSON in a row.
    mutating func codeJSON<Value: Codable>(_ field: Field, _ value: inout Value?) throws
}

extension FieldCoder {
    /// Codes a field that is null if false.
    mutating func codeFlag(_ field: Field, _ value: inout Bool) throws {
        var flag: Bool? = value ? true : nil
        try code(field, &flag)
        value = flag ?? false
    }

    /// Codes a list that is null if empty.
    mutating func codeList<Element>(_ field: Field, _ value: inout [Element]) throws
    where [Element]: FieldValue {
        var list: [Element]? = value.isEmpty ? nil : value
        try code(field, &list)
        value = list ?? []
    }
}

/// A message that also travels in rows: its own fields are the one row of the first table.
package protocol WireMessage: WireRow {
    /// Appends the tables.
    func write(to bytes: inout [UInt8]) throws
    /// Reads the tables, up to the end of the message.
    static func read(from scanner: inout RowScanner) throws -> Self
}

/// A message with a list, whose elements are the rows of a second table.
package protocol WireTable: WireMessage {
    associatedtype Element: WireRow

    /// The list's name in JSON and in failures.
    static var listName: String { get }
    var list: [Element] { get set }
}

extension WireMessage {
    package func write(to bytes: inout [UInt8]) throws {
        var writer = RowWriter<Field>(bytes)
        bytes = []
        try writer.table(CollectionOfOne(self))
        bytes = writer.bytes
    }

    package static func read(from scanner: inout RowScanner) throws -> Self {
        let message: Self = try scanner.head()
        try scanner.end()
        return message
    }
}

extension WireTable {
    package func write(to bytes: inout [UInt8]) throws {
        bytes.reserveCapacity(1_000 + list.count * 200)
        var head = RowWriter<Field>(bytes)
        bytes = []
        try head.table(CollectionOfOne(self))
        var rows = RowWriter<Element.Field>(head.bytes)
        head.bytes = []
        try rows.table(list)
        bytes = rows.bytes
    }

    package static func read(from scanner: inout RowScanner) throws -> Self {
        var message: Self = try scanner.head()
        message.list = try scanner.rows(Self.listName)
        return message
    }
}
