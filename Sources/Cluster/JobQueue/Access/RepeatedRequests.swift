package import Model
import Postgres

/// Requests that create something, by the key that their sender chose, with their answers.
package struct RepeatedRequests: Sendable {
    let database: QueueDatabase

    /// What is known of a key.
    package enum Outcome: Hashable, Sendable {
        /// It is new, and now of this request, whose number is for `end` or `release`.
        case begun(Int64)
        /// Its request has not ended.
        case running
        /// Its request succeeded; the body is nil if it is not kept.
        case answered(status: Int, body: [UInt8]?)
        /// It is of another request.
        case other
    }

    /// Hours for which a key is kept.
    package static let keptHours = 24
    /// Seconds after which a request that has not ended counts as lost with its coordinator: more
    /// than it takes, and less than its sender repeats it for.
    package static let lostSeconds = 15
    /// Keys that are kept, whatever their age.
    package static let maxRows: Int64 = 100_000
    private static let rowsPerTrim = 10_000

    /// Takes a key for a request.
    ///
    /// - Parameters:
    ///   - caller: nil for the token of the coordinator's environment.
    ///   - digest: SHA-256 of what makes two requests the same.
    package func begin(
        caller: AccessTokenID?, key: String, digest: [UInt8]
    ) async throws(Failure) -> Outcome {
        // Numbers of tokens begin with 1.
        let owner: SQLValues = ["caller": .int(caller?.rawValue ?? 0), "key": .text(key)]
        return try await database.withConnection { connection in
            let begun = try await connection.query(
                SQL.Access.beginRequest,
                owner + [
                    "digest": .bytes(digest), "hours": .int(Self.keptHours),
                    "lost": .int(Self.lostSeconds),
                ])
            if let row = begun.firstRow { return .begun(try row.int64("number")) }
            let held = try await connection.query(SQL.Access.heldRequest, owner)
            // It has just been released.
            guard let row = held.firstRow else { return .running }
            guard try row.bytes("digest") == digest else { return .other }
            guard let status = try row.optionalInt64("status") else { return .running }
            return .answered(status: Int(status), body: try row.optionalBytes("answer"))
        }
    }

    /// Keeps the answer of a request that succeeded.
    package func end(_ number: Int64, status: Int, body: [UInt8]?) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(
                SQL.Access.endRequest,
                [
                    "number": .int(number), "status": .int(status),
                    "answer": body.map { .bytes($0) } ?? .null,
                ])
        }
    }

    /// Forgets a request that failed.
    package func release(_ number: Int64) async throws(Failure) {
        try await database.withConnection { connection in
            _ = try await connection.query(SQL.Access.releaseRequest, ["number": .int(number)])
        }
    }

    /// Deletes keys that are too old, and those beyond `rows`; a bounded number at once. Returns true
    /// if there may be more.
    @discardableResult
    package func trim(rows: Int64 = maxRows) async throws(Failure) -> Bool {
        try await database.withConnection { connection in
            let deleted = try await connection.query(
                SQL.Access.trimRequests,
                [
                    "hours": .int(Self.keptHours), "rows": .int(rows),
                    "limit": .int(Self.rowsPerTrim),
                ]
            ).affectedRowCount
            return deleted == Self.rowsPerTrim
        }
    }
}
