internal import FoundationEssentials
internal import Model

/// Reads the fields of one row.
///
/// The texts of the fields must stay valid while it is used.
package struct RowReader<Field: WireField>: FieldCoder {
    /// Texts by column; nil for null.
    private var fields: [UnsafeBufferPointer<UInt8>?]
    /// True for requests: JSON in a field is limited and must have no unknown fields.
    private let isStrict: Bool
    /// Number of elements of lists in the rows so far.
    private var elements = 0
    /// Position of the row for failures; nil for a message's own fields.
    fileprivate var position: RowPosition?

    package init(isStrict: Bool = false) {
        fields = Array(repeating: nil, count: Field.layout.names.count)
        self.isStrict = isStrict
    }

    package var isReading: Bool { true }

    private var path: [any CodingKey] { position?.path ?? [] }

    /// Sets the texts of the columns; nil for null.
    mutating func setTexts<Failure: Error>(
        _ set: (UnsafeMutableBufferPointer<UnsafeBufferPointer<UInt8>?>) throws(Failure) -> Void
    ) throws(Failure) {
        try fields.withUnsafeMutableBufferPointer { fields throws(Failure) in try set(fields) }
    }

    /// Reads a row from the current texts. Throws a `DecodingError`.
    package mutating func row<Row: WireRow>(_ type: Row.Type = Row.self) throws -> Row
    where Row.Field == Field {
        var row = Row.blank
        try row.code(with: &self)
        return row
    }

    package mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value) throws {
        guard let text = fields[field.rawValue] else {
            throw DecodingError.keyNotFound(FieldName(field), context("the field is null."))
        }
        guard let read = Value(field: text) else { throw wrong(field, text, Value.self) }
        value = read
    }

    package mutating func code<Value: FieldValue>(_ field: Field, _ value: inout Value?) throws {
        guard let text = fields[field.rawValue] else { return value = nil }
        if Value.isList, isStrict { try count(text) }
        guard let read = Value(field: text) else { throw wrong(field, text, Value.self) }
        value = read
    }

    package mutating func codeJSON<Value: Codable>(
        _ field: Field, _ value: inout Value?
    ) throws {
        guard let text = fields[field.rawValue] else { return value = nil }
        let maxBytes =
            position == nil ? WireJSON.maximumOwnFieldBytes : WireJSON.maximumFieldBytes
        guard !isStrict || text.count <= maxBytes else {
            throw DecodingError.dataCorrupted(
                context("the field has more than \(maxBytes) bytes.", FieldName(field)))
        }
        if isStrict {
            let location = (path.map(\.stringValue) + [FieldName(field).stringValue])
                .joined(separator: ".")
            try JSONShape.check(Array(text), location)
        }
        do {
            value = try WireJSON.json(Value.self, from: Data(text), isStrict: isStrict)
        } catch let error as DecodingError {
            throw error.inside(path + [FieldName(field)])
        }
    }

    /// Bounds the elements of all lists in a request.
    private mutating func count(_ text: UnsafeBufferPointer<UInt8>) throws {
        for byte in text where byte == UInt8(ascii: "\n") { elements += 1 }
        guard elements <= JSONShape.maximumValues else {
            throw Failure(
                .inputTooLarge,
                "The lists in the body have more than \(JSONShape.maximumValues) elements; "
                    + "send fewer at once.")
        }
    }

    private func wrong<Value: FieldValue>(
        _ field: Field, _ text: UnsafeBufferPointer<UInt8>, _ type: Value.Type
    ) -> DecodingError {
        guard let allowed = type.allowedText else { return wrong(field, type) }
        let given = String(decoding: text.prefix(200), as: UTF8.self)
        let context = DecodingError.Context(
            codingPath: path + [FieldName(field)], debugDescription: "not \(allowed).",
            underlyingError: InvalidValue(given: given, allowed: allowed))
        return .dataCorrupted(context)
    }

    private func wrong(_ field: Field, _ type: any Any.Type) -> DecodingError {
        .typeMismatch(type, context("", FieldName(field)))
    }

    private func context(
        _ text: String, _ last: (any CodingKey)? = nil
    ) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: path + (last.map { [$0] } ?? []), debugDescription: text)
    }
}

/// The name of a column as a key of JSON.
struct FieldName<Field: WireField>: CodingKey {
    let field: Field

    init(_ field: Field) { self.field = field }

    var stringValue: String { Field.layout.names[field.rawValue] }
    var intValue: Int? { nil }

    init?(intValue: Int) { nil }

    init?(stringValue: String) {
        guard let index = Field.layout.names.firstIndex(of: stringValue),
            let field = Field(rawValue: index)
        else { return nil }
        self.field = field
    }
}

/// The position of a row in a message's list. Its path is made for failures only.
struct RowPosition {
    let list: String
    var index = 0

    var path: [any CodingKey] {
        [ListPosition(stringValue: list), ListPosition(intValue: index)]
    }
}

/// The name of a list, or the index of an element.
struct ListPosition: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) { self.stringValue = stringValue }

    init(intValue: Int) {
        self.intValue = intValue
        stringValue = String(intValue)
    }
}

/// Splits tables into rows, and rows into fields.
///
/// Its bytes are changed: escapes are replaced in place.
package struct RowScanner {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let isStrict: Bool
    private var index = 0
    /// Position of the current row; nil for a message's own fields.
    private var position: RowPosition?

    init(_ bytes: UnsafeMutableBufferPointer<UInt8>, isStrict: Bool) {
        self.bytes = bytes
        self.isStrict = isStrict
    }

    /// Reads the table of a message's own fields, which has one row.
    mutating func head<Row: WireRow>() throws -> Row {
        var reader = RowReader<Row.Field>(isStrict: isStrict)
        let columns = try columns(of: Row.Field.self)
        guard try line(columns, into: &reader) else { throw corrupted("it ends here.") }
        return try reader.row()
    }

    /// Reads a table up to the end of the message. Also throws `input.tooLarge`.
    mutating func rows<Row: WireRow>(_ name: String) throws -> [Row] {
        var reader = RowReader<Row.Field>(isStrict: isStrict)
        let columns = try columns(of: Row.Field.self)
        var rows: [Row] = []
        position = RowPosition(list: name)
        // A rough estimate that is right for the usual rows.
        rows.reserveCapacity(min((bytes.count - index) / 100, 5_000))
        while true {
            position?.index = rows.count
            reader.position = position
            guard try line(columns, into: &reader) else { return rows }
            guard rows.count < Self.maximumRows else {
                throw Failure(
                    .inputTooLarge,
                    "The body has more than \(Self.maximumRows) rows; send fewer at once.")
            }
            rows.append(try reader.row())
        }
    }

    /// Throws if there is more text.
    func end() throws {
        guard index == bytes.count else { throw corrupted("text after the last row.") }
    }

    /// Reads a line of names, and returns the column of each; nil for one that is ignored.
    private mutating func columns<Field: WireField>(of type: Field.Type) throws -> [Int?] {
        let layout = Field.layout
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        guard index < bytes.count else { throw corrupted("no line of column names.") }
        let line = UnsafeBufferPointer(rebasing: bytes[start..<index])
        index += 1
        if line.elementsEqual(layout.header) { return Array(layout.names.indices) }
        let names = line.split(
            separator: 0x09, maxSplits: Self.maximumColumns, omittingEmptySubsequences: false)
        guard names.count <= Self.maximumColumns else {
            throw corrupted("more than \(Self.maximumColumns) columns.")
        }
        var seen: Set<Int> = []
        return try names.map { name in
            let name = String(decoding: name.prefix(100), as: UTF8.self)
            guard let column = layout.names.firstIndex(of: name) else {
                if !isStrict { return nil }
                throw corrupted(column: name, "there is no such field.")
            }
            guard seen.insert(column).inserted else {
                throw corrupted(column: name, "the column is repeated.")
            }
            return column
        }
    }

    private static let maximumColumns = 100
    /// Twice those of the largest request.
    private static let maximumRows = 10_000

    /// Reads a line into the columns of `reader`. Returns false at the end.
    private mutating func line<Field>(
        _ columns: [Int?], into reader: inout RowReader<Field>
    ) throws -> Bool {
        guard index < bytes.count else { return false }
        try reader.setTexts { fields in
            // Nulls at the end of a row are omitted.
            fields.update(repeating: nil)
            for column in columns {
                let (text, isLast) = try field()
                if let column { fields[column] = text }
                if isLast { return }
            }
            throw corrupted("more fields than columns.")
        }
        return true
    }

    /// Reads a field up to its tab or newline; nil for null.
    private mutating func field() throws -> (text: UnsafeBufferPointer<UInt8>?, isLast: Bool) {
        let start = index
        // Most fields have no escapes.
        index = plainEnd(from: index)
        var end = index
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case 0x09, 0x0A:
                return (UnsafeBufferPointer(rebasing: bytes[start..<end]), byte == 0x0A)
            case UInt8(ascii: "\\"):
                guard index < bytes.count else { break }
                let letter = bytes[index]
                index += 1
                if letter == UInt8(ascii: "N"), end == start, index < bytes.count,
                    bytes[index] == 0x09 || bytes[index] == 0x0A
                {
                    index += 1
                    return (nil, bytes[index - 1] == 0x0A)
                }
                guard let escaped = RowEscape.byte(of: letter) else {
                    throw corrupted("an unknown escape.")
                }
                bytes[end] = escaped
                end += 1
            default:
                bytes[end] = byte
                end += 1
            }
        }
        throw corrupted("it ends here.")
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080
    private static let tabs: UInt64 = 0x0909_0909_0909_0909
    private static let newlines: UInt64 = 0x0A0A_0A0A_0A0A_0A0A
    private static let escapes: UInt64 = 0x5C5C_5C5C_5C5C_5C5C

    /// Sets the high bit of the first zero byte, and none before it.
    private static func zeros(of word: UInt64) -> UInt64 { (word &- ones) & ~word & highBits }

    /// Returns the index of the next tab, newline or escape.
    private func plainEnd(from start: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(bytes)
        var end = start
        // Eight bytes at a time. A byte of `found` is zero up to the first match.
        while end + 8 <= bytes.count {
            let word = UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
            let found =
                Self.zeros(of: word ^ Self.tabs) | Self.zeros(of: word ^ Self.newlines)
                | Self.zeros(of: word ^ Self.escapes)
            guard found == 0 else { return end + found.trailingZeroBitCount / 8 }
            end += 8
        }
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "\\") || byte &- 0x09 < 2 { break }
            end += 1
        }
        return end
    }

    private func corrupted(column: String? = nil, _ text: String) -> DecodingError {
        let path = column.map { [ListPosition(stringValue: $0)] } ?? position?.path ?? []
        return .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: text))
    }
}

extension DecodingError {
    /// The same error with a path before its own.
    fileprivate func inside(_ path: [any CodingKey]) -> DecodingError {
        func moved(_ context: Context) -> Context {
            Context(
                codingPath: path + context.codingPath,
                debugDescription: context.debugDescription,
                underlyingError: context.underlyingError)
        }
        return switch self {
        case .keyNotFound(let key, let context): .keyNotFound(key, moved(context))
        case .typeMismatch(let type, let context): .typeMismatch(type, moved(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, moved(context))
        case .dataCorrupted(let context): .dataCorrupted(moved(context))
        @unknown default: self
        }
    }
}
