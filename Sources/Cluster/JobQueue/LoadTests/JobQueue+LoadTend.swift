package import Model
import Postgres

/// What becomes of load tests by themselves: their start, their end, workers that are gone.
extension JobQueue {
    /// Times of load tests, in seconds.
    package struct LoadTests: Sendable {
        /// From when the start is set until it: every worker is to know by then.
        package var leadSeconds = 2.0
        /// A share that was not heard of for so long is lost.
        package var silentSeconds = WireLimits.loadSilentSeconds
        /// A test that nobody followed for so long is stopped.
        package var followedSeconds = 20.0
        /// Beyond its duration, a test is stopped.
        package var overtimeSeconds = 120.0
        /// A share that goes on for so long after it was to stop is lost.
        package var stoppingSeconds = 30.0

        package init() {}
    }

    /// Shares of a test by state.
    struct ShareCounts {
        var joined = 0
        var ready = 0
        var running = 0
        /// Of one that failed.
        var failure: Failure?

        var underWay: Int { joined + ready + running }
    }

    /// Decides the fate of every test that has not ended; answers those that want workers. Safe to run on
    /// all coordinators at once.
    package func tendLoadTests() async throws(Failure) -> [LoadTestCall] {
        let open = try await withConnection { connection in
            try await connection.query(SQL.LoadTests.open).rows.map { try $0.string("id") }
        }
        guard !open.isEmpty else { return [] }
        for id in open { try await tendLoadTest(id) }
        return try await calledLoadTests()
    }

    /// Tests that want workers.
    package func calledLoadTests() async throws(Failure) -> [LoadTestCall] {
        try await withConnection { connection in
            try await connection.query(
                SQL.LoadTests.called, ["max_shares": .int(WireLimits.loadWorkers)]
            ).rows.map {
                LoadTestCall(id: try $0.string("id"), queue: try $0.optionalString("queue"))
            }
        }
    }

    /// Decides the fate of one test.
    func tendLoadTest(_ id: LoadTestID) async throws(Failure) {
        try await transaction { connection in
            guard let test = try await self.lockLoadTest(id, connection),
                let state = LoadTestState(rawValue: try test.string("state")), state != .ended
            else { return }
            let times = self.settings.loadTests
            let silent = Failure(
                .workerLost, "It was not heard of for \(Int(times.silentSeconds)) s.")
            _ = try await connection.query(
                SQL.LoadTests.loseSilent,
                ["test": .uuid(id), "seconds": .double(times.silentSeconds)] + Self.columns(silent))
            if state == .stopping {
                let overdue = Failure(.workerLost, "It did not stop when it was told to.")
                _ = try await connection.query(
                    SQL.LoadTests.loseOverdue,
                    ["test": .uuid(id), "seconds": .double(times.stoppingSeconds)]
                        + Self.columns(overdue))
            }
            let shares = try await Self.shares(of: id, connection)
            if state == .waiting {
                try await self.gather(id, test, shares, connection)
            } else {
                try await Self.watch(id, state, test, shares, connection)
            }
        }
    }

    /// Starts a test, or gives it up, or lets it wait.
    private func gather(
        _ id: LoadTestID, _ test: PostgresRow, _ shares: ShareCounts,
        _ connection: PostgresConnection
    ) async throws {
        if let failure = shares.failure { return try await Self.end(id, failure, connection) }
        if try test.bool("is_abandoned") {
            return try await Self.end(id, Self.abandoned, connection)
        }
        let isOver = try test.bool("is_wait_over")
        let isFull = try test.optionalInt64("workers") == Int64(shares.ready)
        guard isFull || isOver else { return }
        let atLeast = try test.int("at_least")
        guard isFull || shares.ready >= atLeast else {
            let failure = Failure(
                .clusterFewWorkers,
                "\(shares.ready) of the \(atLeast) workers that are needed were ready in time"
                    + (shares.joined > 0
                        ? "; \(shares.joined) were not done with other work." : "."))
            return try await Self.end(id, failure, connection)
        }
        _ = try await connection.pipeline([
            PostgresStatement(SQL.LoadTests.beginShares, ["test": .uuid(id)]),
            PostgresStatement(SQL.LoadTests.dismissShares, ["test": .uuid(id)]),
            PostgresStatement(
                SQL.LoadTests.start,
                ["test": .uuid(id), "lead_seconds": .double(settings.loadTests.leadSeconds)]),
            PostgresStatement(SQL.LoadTests.notify),
        ])
    }

    /// Ends a test without shares that go on; stops one that nobody wants, or that lasts too long.
    private static func watch(
        _ id: LoadTestID, _ state: LoadTestState, _ test: PostgresRow, _ shares: ShareCounts,
        _ connection: PostgresConnection
    ) async throws {
        guard shares.running > 0 else { return try await end(id, nil, connection) }
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
        .clusterAbandoned, "Nobody followed the test any more; it was stopped.")

    /// Ends a test under its lock; what it was is kept, what it asked for is not.
    static func end(
        _ id: LoadTestID, _ failure: Failure?, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.pipeline([
            PostgresStatement(SQL.LoadTests.dismissShares, ["test": .uuid(id)]),
            PostgresStatement(SQL.LoadTests.end, ["test": .uuid(id)] + columns(failure)),
            PostgresStatement(SQL.LoadTests.notify),
        ])
    }

    /// A test's row under its lock; nil where there is none.
    func lockLoadTest(
        _ id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> PostgresRow? {
        let times = settings.loadTests
        return try await connection.query(
            SQL.LoadTests.lock,
            [
                "test": .uuid(id), "followed_seconds": .double(times.followedSeconds),
                "overtime_seconds": .double(times.overtimeSeconds),
            ]
        ).firstRow
    }

    static func shares(
        of id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> ShareCounts {
        var counts = ShareCounts()
        for row in try await connection.query(SQL.LoadTests.countShares, ["test": .uuid(id)]).rows {
            let count = Int(try row.int64("shares"))
            switch LoadShareState(rawValue: try row.string("state")) {
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
