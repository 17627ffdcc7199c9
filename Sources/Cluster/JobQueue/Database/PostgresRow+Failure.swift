import Model
import Postgres

extension Failure {
    /// Reads a failure from two columns of a row; nil without a code.
    init?(
        in row: PostgresRow, code: PostgresColumn = "failure_code",
        message: PostgresColumn = "failure_message"
    ) throws {
        guard let code = try row.optionalString(code) else { return nil }
        self.init(FailureCode(code), try row.optionalString(message) ?? "")
    }
}
