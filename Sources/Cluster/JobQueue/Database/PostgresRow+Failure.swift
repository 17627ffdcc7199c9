import API
import Model
import Postgres

extension Failure {
    /// Reads a failure from two columns of a row; nil without a code.
    init?(
        in row: PostgresRow, code: PostgresColumn = "failure_code",
        message: PostgresColumn = "failure_message"
    ) throws {
        guard let code = try row.optionalString(code) else { return nil }
        self.init(FailureCode(code), try row.optionalMessage(message) ?? "")
    }
}

extension PostgresRow {
    /// Reads a message of an asset, of one of its results or of an event. Of recorded facts it is
    /// their sentence.
    func optionalMessage(_ column: PostgresColumn) throws(PostgresError) -> String? {
        guard let text = try optionalString(column) else { return nil }
        // Few messages begin so, and of these most are not JSON.
        guard text.utf8.starts(with: #"{""#.utf8) else { return text }
        return (try? WireJSON.decode(RecordedMessage.self, from: Array(text.utf8)))?.sentence
            ?? text
    }
}
