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
        for (index, name) in Row.Field.layout.names.enumerated() {
            let isAbsent = absent.contains { $0.rawValue == index }
            columns.append(isAbsent ? nil : try result.index(ofColumn: Self.snakeCase(name)))
        }
        self.columns = columns
    }

    mutating func row(_ row: PostgresRow) throws(PostgresError) -> Row {
        do {
            return try row.withTexts { text in
                for (field, column) in columns.enumerated() {
                    guard let column else { continue }
                    reader[field] = text(column)
                }
                return try reader.row()
            }
        } catch {
            throw PostgresError(.decoding, "a row does not hold \(Row.self): \(error)")
        }
    }

    /// Returns `known_sha256` for `knownSHA256`.
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
