package import API
package import Model
import Postgres

/// Starts and ends load tests by time, and ends shards of disconnected workers.
package struct LoadTestSupervision: Sendable {
    let database: QueueDatabase
    let times: LoadTestTimes

    /// Updates the state of every test that has not ended; returns the tests that need workers.
    /// Safe to run on all coordinators at once.
    package func reconcile() async throws(Failure) -> [LoadTestCall] {
        let open = try await database.withConnection { connection in
            try await connection.query(SQL.LoadTests.open).rows.map {
                try $0.uuid("id") as LoadTestID
            }
        }
        guard !open.isEmpty else { return [] }
        for id in open { try await reconcile(id) }
        return try await called()
    }

    /// Returns the tests that need workers.
    package func called() async throws(Failure) -> [LoadTestCall] {
        try await database.withConnection { connection in
            try await connection.query(
                SQL.LoadTests.called, ["max_shards": .int(WireLimits.loadWorkers)]
            ).rows.map {
                LoadTestCall(id: try $0.uuid("id"), queue: try $0.optionalString("queue"))
            }
        }
    }

    /// Updates the state of one test.
    func reconcile(_ id: LoadTestID) async throws(Failure) {
        try await database.transaction { connection in
            guard let test = try await lock(id, connection),
                let state = LoadTestState(rawValue: try test.string("state")), state != .ended
            else { return }
            let silent = Failure(
                .workerLost, "It has not reported for \(Int(times.silentSeconds)) s.")
            _ = try await connection.query(
                SQL.LoadTests.loseSilent,
                ["test": .uuid(id), "seconds": .double(times.silentSeconds)] + Self.columns(silent))
            if state == .stopping {
                let overdue = Failure(.workerLost, "It did not stop in time.")
                _ = try await connection.query(
                    SQL.LoadTests.loseOverdue,
                    ["test": .uuid(id), "seconds": .double(times.stoppingSeconds)]
                        + Self.columns(overdue))
            }
            let shards = try await Self.shards(of: id, connection)
            if state == .waiting {
                try await gather(id, test, shards, connection)
            } else {
                try await Self.watch(id, state, test, shards, connection)
            }
        }
    }

    /// Starts a test, lets it fail, or lets it wait.
    private func gather(
        _ id: LoadTestID, _ test: PostgresRow, _ shards: ShardCounts,
        _ connection: PostgresConnection
    ) async throws {
        if let failure = shards.failure { return try await Self.end(id, failure, connection) }
        if try test.bool("is_abandoned") {
            return try await Self.end(id, Self.abandoned, connection)
        }
        let isOver = try test.bool("is_wait_over")
        let isFull = try test.optionalInt64("workers") == Int64(shards.ready)
        guard isFull || isOver else { return }
        let atLeast = try test.int("at_least")
        guard isFull || shards.ready >= atLeast else {
            let failure = Failure(
                .clusterFewWorkers,
                "\(shards.ready) of the \(atLeast) workers that are needed were ready in time"
                    + (shards.joined > 0
                        ? "; \(shards.joined) were not done with other work." : "."))
            return try await Self.end(id, failure, connection)
        }
        let data = try await connection.query(SQL.LoadTests.countParts, ["test": .uuid(id)]).only()
        // A client that does not send the rest is no follower for long.
        guard try data.int64("parts") == Int64(try test.int("parts")) else { return }
        // Workers fetch their parts before the start.
        let fetchSeconds =
            Double(try data.int64("bytes")) / Double(WireLimits.loadDataBytesPerSecond)
        _ = try await connection.pipeline([
            PostgresStatement(SQL.LoadTests.beginShards, ["test": .uuid(id)]),
            PostgresStatement(SQL.LoadTests.dismissShards, ["test": .uuid(id)]),
            PostgresStatement(
                SQL.LoadTests.start,
                [
                    "test": .uuid(id), "lead_seconds": .double(times.leadSeconds + fetchSeconds),
                ]),
            PostgresStatement(SQL.LoadTests.notify),
        ])
    }

    /// Ends a test without active shards; stops one without followers, or one that lasts too long.
    private static func watch(
        _ id: LoadTestID, _ state: LoadTestState, _ test: PostgresRow, _ shards: ShardCounts,
        _ connection: PostgresConnection
    ) async throws {
        guard shards.running > 0 else { return try await end(id, nil, connection) }
        guard state == .running else { return }
        let isAbandoned = try test.bool("is_abandoned")
        let isOverdue = try test.bool("is_overdue")
        guard isAbandoned || isOverdue else { return }
        let failure = isAbandoned ? abandoned : nil
        _ = try await connection.pipeline([
            PostgresStatement(SQL.LoadTests.stop, ["test": .uuid(id)] + columns(failure)),
            PostgresStatement(SQL.LoadTests.notify),
        ])
    }

    private static let abandoned = Failure(
        .clusterAbandoned, "The test had no follower and was stopped.")

    /// Ends a test under its lock; keeps its results and deletes its plan and data.
    static func end(
        _ id: LoadTestID, _ failure: Failure?, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.pipeline([
            PostgresStatement(SQL.LoadTests.dismissShards, ["test": .uuid(id)]),
            PostgresStatement(SQL.LoadTests.end, ["test": .uuid(id)] + columns(failure)),
            PostgresStatement(SQL.LoadTests.deleteData, ["test": .uuid(id)]),
            PostgresStatement(SQL.LoadTests.notify),
        ])
    }

    /// Returns a test's row under its lock; nil without one.
    func lock(
        _ id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> PostgresRow? {
        return try await connection.query(
            SQL.LoadTests.lock,
            [
                "test": .uuid(id), "followed_seconds": .double(times.followedSeconds),
                "overtime_seconds": .double(times.overtimeSeconds),
            ]
        ).firstRow
    }

    static func shards(
        of id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> ShardCounts {
        var counts = ShardCounts()
        for row in try await connection.query(SQL.LoadTests.countShards, ["test": .uuid(id)]).rows {
            let count = Int(try row.int64("shards"))
            switch LoadShardState(rawValue: try row.string("state")) {
            case .joined: counts.joined = count
            case .ready: counts.ready = count
            case .running: counts.running = count
            case .failed:
                counts.failure = Failure(
                    try row.optionalString("code").map { FailureCode($0) } ?? .workerInternal,
                    "\(try row.string("worker")): \(try row.optionalString("message") ?? "")")
            default: break
            }
        }
        return counts
    }

    private static func columns(_ failure: Failure?) -> SQLValues {
        [
            "failure_code": .optionalText(failure?.code.rawValue),
            "failure_message": .optionalText(failure?.message),
        ]
    }
}
