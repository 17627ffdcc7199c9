import API
import Postgres

/// Decodes rows of a statement whose columns are named like the fields of `Row`, in snake case.
struct RowDecoder<Row: WireRow> {
    /// The statement's column of each field; nil for one without.
    private let columns: [Int?]
    private var reader = RowReader<Row.Field>()

    /// - Parameter absent: fields that the statement does not have.
    init(_ result: PostgresResult, without absent: [Row.Field] = []) throws(PostgresError) {
        var columns: [Int?] = []
        for (index, name) in Row.Field.layout.columnNames.enumerated() {
            let isAbsent = absent.contains { $0.rawValue == index }
            columns.append(isAbsent ? nil : try result.index(ofColumn: name))
        }
        self.columns = columns
    }

    /// Decodes a row. Throws an `UnreadableRow` for a value that its field cannot have.
    mutating func row(_ row: PostgresRow) throws -> Row {
        do {
            return try row.withTexts { try Row.read(columns, with: &reader, $0) }
        } catch let error as DecodingError {
            throw UnreadableRow(error)
        }
    }
}

/// A row with a value that its field cannot have: another version wrote it, or somebody edited it.
struct UnreadableRow: Error, CustomStringConvertible {
    /// The field, such as `titles`; nil if fields contradict each other.
    let field: String?
    /// Says what is wrong, without the value.
    let description: String

    init(_ error: DecodingError) {
        var keys: [any CodingKey]
        switch error {
        case .dataCorrupted(let context), .typeMismatch(_, let context),
            .valueNotFound(_, let context):
            keys = context.codingPath
            // Texts of `incomplete`; others could quote the value.
            guard !keys.isEmpty else {
                (field, description) = (nil, context.debugDescription)
                return
            }
        case .keyNotFound(let key, let context): keys = context.codingPath + [key]
        @unknown default: keys = []
        }
        let name = keys.map(\.stringValue).joined(separator: ".")
        field = name.isEmpty ? nil : name
        description = name.isEmpty ? "a field is not valid" : "the field \(name) is not valid"
    }
}
