import API
package import Model
import Postgres

/// A request that creates something, by the key that its sender chose.
package struct RequestKey: Sendable {
    /// Number of its token, from 1; 0 for that of the coordinator's environment.
    let caller: Int64
    let key: String
    /// SHA-256 of what makes two requests the same.
    let digest: [UInt8]

    /// - Parameter caller: nil for the token of the coordinator's environment.
    package init(caller: AccessTokenID?, key: String, digest: [UInt8]) {
        self.caller = caller?.rawValue ?? 0
        self.key = key
        self.digest = digest
    }

    fileprivate var values: SQLValues { ["caller": .int(caller), "key": .text(key)] }
}

/// Requests that create something, with their answers.
///
/// A key is recorded by the transaction that makes what its request creates: either both are there
/// or neither is, whatever becomes of the coordinator.
package struct RepeatedRequests: Sendable {
    let database: QueueDatabase

    /// State of a key.
    package enum Outcome: Hashable, Sendable {
        case new
        /// Its request is being answered.
        case running
        /// Its request succeeded; the answer is nil if it is not kept.
        case answered([UInt8]?)
        /// It is of another request.
        case other
    }

    /// Hours for which a key is kept.
    package static let keptHours = 24
    /// Keys of one token that are kept, whatever their age.
    package static let maxRows: Int64 = 100_000
    /// Keys of all tokens together that are kept.
    package static let maxTotalRows: Int64 = 1_000_000
    /// Bytes of an answer that is kept.
    static let maxAnswerBytes = 65_536
    private static let rowsPerTrim = 20_000

    /// Looks for an earlier request with the same key.
    package func find(_ key: RequestKey) async throws(Failure) -> Outcome {
        try await database.withConnection { connection in
            let found = try await connection.query(
                SQL.Access.findRequest, key.values + ["hours": .int(Self.keptHours)])
            let row = try found.only()
            guard try row.bool("is_known") else {
                return try row.bool("is_running") ? .running : .new
            }
            guard try row.bytes("digest") == key.digest else { return .other }
            return .answered(try row.optionalBytes("answer"))
        }
    }

    /// Deletes keys that are too old, those of a token beyond `rows`, and of all beyond `total`; a
    /// bounded number at once. Returns true if there may be more.
    @discardableResult
    package func trim(
        rows: Int64 = maxRows, total: Int64 = maxTotalRows
    ) async throws(Failure) -> Bool {
        try await database.withConnection { connection in
            let deleted = try await connection.query(
                SQL.Access.trimRequests,
                [
                    "hours": .int(Self.keptHours), "rows": .int(rows), "total": .int(total),
                    "limit": .int(Self.rowsPerTrim),
                ]
            ).affectedRowCount
            return deleted >= Self.rowsPerTrim
        }
    }
}

extension QueueDatabase {
    /// Runs `body` in a transaction that records the request's key too, with the value as its answer if
    /// that has at most `RepeatedRequests.maxAnswerBytes`.
    ///
    /// Throws `cluster.requestRunning`, and does not run `body`, if another request has the key.
    ///
    /// - Parameter keepsAnswer: false for an answer with a secret.
    func once<Value: Encodable & Sendable>(
        _ key: RequestKey?, keepsAnswer: Bool = true,
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        guard let key else { return try await transaction(body) }
        return try await transaction { connection in
            let claimed = try await connection.pipeline([
                PostgresStatement(SQL.Access.boundIdle),
                PostgresStatement(
                    SQL.Access.claimRequest,
                    key.values + [
                        "digest": .bytes(key.digest), "hours": .int(RepeatedRequests.keptHours),
                    ]),
            ])
            guard claimed[1].firstRow != nil else {
                throw Failure.requestRunning
            }
            let value = try await body(connection)
            if keepsAnswer {
                let answer = try WireJSON.encode(value, isSorted: true)
                guard answer.count <= RepeatedRequests.maxAnswerBytes else { return value }
                _ = try await connection.query(
                    SQL.Access.keepAnswer, key.values + ["answer": .bytes(answer)])
            }
            return value
        }
    }
}

extension Failure {
    /// The failure of a request whose key another one has that is not answered yet.
    package static let requestRunning = Failure(
        .clusterRequestRunning, "A request with this key is being answered.")
}
