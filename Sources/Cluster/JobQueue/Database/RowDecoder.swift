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

    mutating func row(_ row: PostgresRow) throws(PostgresError) -> Row {
        do {
            return try row.withTexts { try Row.read(columns, with: &reader, $0) }
        } catch {
            throw PostgresError(.decoding, "a row does not hold \(Row.self): \(error)")
        }
    }
}
