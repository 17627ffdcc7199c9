package import API
package import Model
import Postgres

/// The audit log: who changed what.
package struct AuditLog: Sendable {
    let database: QueueDatabase

    /// A change that is about to be made.
    package struct Change: Sendable {
        /// Nil for the token of the coordinator's environment.
        package var token: AccessTokenID?
        package var name: String
        package var role: AccessRole
        package var action: String
        package var object: String

        package init(
            token: AccessTokenID?, name: String, role: AccessRole, action: String, object: String
        ) {
            self.token = token
            self.name = name
            self.role = role
            self.action = action
            self.object = object
        }
    }

    /// Rows of one token to keep, whatever their age: one token's changes displace no other's.
    package static let maxRows: Int64 = 100_000
    /// Rows of all tokens together to keep: tokens come and go.
    package static let maxTotalRows: Int64 = 1_000_000
    private static let rowsPerTrim = 20_000

    /// Records a change before it is made; returns its number. It does not wait for the disk, because
    /// the change's own commit waits for both.
    package func begin(_ change: Change) async throws(Failure) -> Int64 {
        let begin = PostgresStatement(
            SQL.Access.beginChange,
            [
                "token": .int(change.token?.rawValue ?? 0), "name": .text(change.name),
                "role": .text(change.role.rawValue), "action": .text(change.action),
                "object": .text(change.object),
            ])
        return try await database.withConnection { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.Common.commitLater), begin,
            ])
            return try results[1].only().int64("id")
        }
    }

    /// Records the answer to a change; `detail` is added to its object.
    package func end(
        _ id: Int64, status: Int, code: FailureCode?, detail: String? = nil
    ) async throws(Failure) {
        let end = PostgresStatement(
            SQL.Access.endChange,
            [
                "id": .int(id), "status": .int(status), "code": .optionalText(code?.rawValue),
                "detail": .optionalText(detail),
            ])
        try await database.withConnection { connection in
            _ = try await connection.pipeline([PostgresStatement(SQL.Common.commitLater), end])
        }
    }

    /// Returns a page, the latest first; `after` is the previous page's `next`.
    package func page(after: Int64?, limit: Int) async throws(Failure) -> AuditPage {
        try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Access.auditPage, ["after": .optionalInt(after), "limit": .int(limit)]
            ).rows
            let entries = try rows.map { try AuditEntry(row: $0) }
            return AuditPage(
                entries: entries,
                next: entries.count < limit ? nil : entries.last.map { "\($0.id)" })
        }
    }

    /// Deletes rows of more than `days` days ago, those of a token beyond `rows`, and of all beyond
    /// `total`; a bounded number at once. Returns true if there may be more.
    @discardableResult
    package func trim(
        olderThanDays days: Int, rows: Int64 = maxRows, total: Int64 = maxTotalRows
    ) async throws(Failure) -> Bool {
        try await database.withConnection { connection in
            let deleted = try await connection.query(
                SQL.Access.trimAudit,
                [
                    "days": .int(days), "rows": .int(rows), "total": .int(total),
                    "limit": .int(Self.rowsPerTrim),
                ]
            ).affectedRowCount
            return deleted >= Self.rowsPerTrim
        }
    }
}

extension AuditEntry {
    /// Decodes a row of `Access.auditPage`.
    fileprivate init(row: PostgresRow) throws {
        let token = try row.int64("token_id")
        self.init(
            id: try row.int64("id"), time: try row.double("begun"),
            token: token == 0 ? nil : AccessTokenID(token),
            name: try row.string("token_name"),
            role: AccessRole(rawValue: try row.string("role")) ?? .reader,
            action: try row.string("action"), object: try row.string("object"),
            status: try row.optionalInt64("status").map { Int($0) },
            code: try row.optionalString("code").map { FailureCode($0) })
    }
}
