import Postgres

/// Arrays that PostgreSQL reads from their text form, because the statement casts the parameter.
extension PostgresValue {
    static func uuidArray(_ values: [String]) -> PostgresValue { .textArray(values) }
    static func optionalTextArray(_ values: [String?]) -> PostgresValue { .textArray(values) }
    static func boolArray(_ values: [Bool]) -> PostgresValue {
        .textArray(values.map { $0 ? "t" : "f" })
    }
    static func doubleArray(_ values: [Double]) -> PostgresValue {
        .textArray(values.map(\.description))
    }
    static func optionalIntArray(_ values: [Int64?]) -> PostgresValue {
        .textArray(values.map { $0?.description })
    }
}

extension PostgresResult {
    /// Returns the row of a statement that always has exactly one.
    func only() throws(PostgresError) -> PostgresRow {
        guard let row = firstRow else { throw PostgresError(.usage, "a row was expected") }
        return row
    }
}
