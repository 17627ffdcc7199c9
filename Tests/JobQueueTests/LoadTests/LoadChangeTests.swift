import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Changes of the load of running tests: who gets them, in which order, and what is rejected.
@Suite struct LoadChangeTests {
    /// A running test whose load can change.
    private static func running(
        _ queue: JobQueue, workers: Int = 2,
        _ range: LoadRange? = LoadRange(unit: .arrivalsPerSecond, most: 1_000, seconds: 600)
    ) async throws -> (id: LoadTestID, workers: [WorkerID]) {
        var test = LoadTestTests.test(workers: workers)
        test.range = range
        test.durationSeconds = 600
        _ = try await queue.loadTests.create(test)
        let all = (0..<workers).map { _ in WorkerID.random() }
        for worker in all {
            _ = try await LoadTestTests.join(queue, test.id, worker)
            _ = try await queue.loadTests.shards.report(
                LoadTestTests.report(worker, .ready), of: test.id)
        }
        #expect(try await queue.loadTests.status(of: test.id).state == .running)
        return (test.id, all)
    }

    /// Changes that a worker gets which has `known` of them.
    private static func changes(
        _ queue: JobQueue, _ id: LoadTestID, _ worker: WorkerID, known: Int?
    ) async throws -> [LoadTestChange]? {
        var report = LoadTestTests.report(worker, .ready)
        report.changes = known
        let order = try await queue.loadTests.shards.report(report, of: id)
        #expect(order.kind == .run)
        return order.changes
    }

    private static func expectFixed(
        _ queue: JobQueue, _ id: LoadTestID, _ reason: String
    ) async throws {
        await #expect {
            try await queue.loadTests.change(id, to: 5)
        } throws: {
            let failure = $0 as? Failure
            return failure?.code == .inputLoadFixed && failure?.message.contains(reason) == true
        }
    }

    @Test func allWorkersAndTheFollowerGetEachChangeOnce() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue)
            // The test began nine minutes ago, by the database's clock.
            try await fixture.pool.query("UPDATE load_test SET start_at = now() - interval '9 min'")
            #expect(try await queue.loadTests.status(of: id).change == nil)
            let first = try await queue.loadTests.change(id, to: 20)
            #expect(first.revision == 1 && first.level == 20)
            #expect((542...700).contains(first.seconds))
            // The same again is no other change: a repeated request has one effect.
            #expect(try await queue.loadTests.change(id, to: 20) == first)
            // Another coordinator knows no less.
            let other = JobQueue(pool: fixture.pool, settings: queue.settings)
            let second = try await other.loadTests.change(id, to: 0)
            #expect(second.revision == 2 && second.seconds >= first.seconds)
            for worker in workers {
                #expect(
                    try await Self.changes(queue, id, worker, known: 0) == [first, second])
                #expect(try await Self.changes(other, id, worker, known: 1) == [second])
                #expect(try await Self.changes(queue, id, worker, known: 2) == nil)
                #expect(try await Self.changes(queue, id, worker, known: nil) == nil)
            }
            #expect(
                try await queue.loadTests.follow(id, after: [], changes: 0).changes
                    == [first, second])
            #expect(
                try await queue.loadTests.follow(id, after: [], changes: 1).changes == [second])
            for known in [2, nil] {
                #expect(
                    try await queue.loadTests.follow(id, after: [], changes: known).changes == nil)
            }
            let status = try await queue.loadTests.status(of: id)
            #expect(status.change == second && status.range?.most == 1_000)
            // A lost worker gets no more, and the others theirs.
            try await fixture.pool.query(
                "UPDATE load_shard SET reported_at = now() - interval '11 s' WHERE number = 1")
            _ = try await queue.loadTests.supervision.reconcile()
            let third = try await queue.loadTests.change(id, to: 7)
            var report = LoadTestTests.report(workers[1], .ready)
            report.changes = 2
            let order = try await queue.loadTests.shards.report(report, of: id)
            #expect(order.kind == .leave && order.changes == nil)
            #expect(try await Self.changes(queue, id, workers[0], known: 2) == [third])
        }
    }

    @Test func ofChangesAtOnceTheLastOneHolds() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue, workers: 1)
            let made = try await withThrowingTaskGroup(of: LoadTestChange.self) {
                group -> [LoadTestChange] in
                for level in 1...8 {
                    group.addTask { try await queue.loadTests.change(id, to: Double(level)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }.sorted { $0.revision < $1.revision }
            #expect(made.map(\.revision) == Array(1...8))
            #expect(made.map(\.seconds) == made.map(\.seconds).sorted())
            #expect(Set(made.map(\.level)).count == 8)
            #expect(try await queue.loadTests.status(of: id).change == made.last)
            #expect(try await Self.changes(queue, id, workers[0], known: 0) == made)
        }
    }

    @Test func aLoadOutOfTheRangeIsRefused() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (rate, _) = try await Self.running(queue, workers: 1)
            let unknown = LoadTestID.random()
            await #expect {
                try await queue.loadTests.change(unknown, to: 1)
            } throws: { ($0 as? Failure)?.code == .inputNotFound }
            await #expect {
                try await queue.loadTests.change(rate, to: 1_000.5)
            } throws: {
                ($0 as? Failure)?.message
                    == "field level: given 1000.5, allowed 0 to 1000 arrivals per second"
            }
            #expect(try await queue.loadTests.change(rate, to: 0.5).level == 0.5)
            _ = try await queue.loadTests.stop(rate)
            try await Self.expectFixed(queue, rate, "it is being stopped")
            try await fixture.pool.query(
                "UPDATE load_test SET stopped_at = now() - interval '31 s'")
            _ = try await queue.loadTests.supervision.reconcile()
            _ = try await queue.loadTests.supervision.reconcile()
            try await Self.expectFixed(queue, rate, "it has ended")

            let (users, _) = try await Self.running(
                queue, workers: 1, LoadRange(unit: .users, most: 50, seconds: 600))
            for level in [51, 1.5] {
                await #expect {
                    try await queue.loadTests.change(users, to: level)
                } throws: {
                    let failure = $0 as? Failure
                    return failure?.code == .inputField
                        && failure?.message.contains("a whole number of users up to 50") == true
                }
            }
            #expect(try await queue.loadTests.change(users, to: 50).level == 50)
            #expect(try await fixture.count("load_change") == 2)
        }
    }

    @Test func aTestWhoseLoadIsFixedIsRefused() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            // A replay, or a step of a search.
            let (fixed, _) = try await Self.running(queue, workers: 1, nil)
            try await Self.expectFixed(queue, fixed, "a replay, or a step of --search or --scale")
            try await fixture.pool.query("DELETE FROM load_test")

            var waiting = LoadTestTests.test(workers: 1)
            waiting.range = LoadRange(unit: .users, most: 50, seconds: 600)
            _ = try await queue.loadTests.create(waiting)
            try await Self.expectFixed(queue, waiting.id, "it has not started yet")
            _ = try await queue.loadTests.stop(waiting.id)

            let (short, _) = try await Self.running(
                queue, workers: 1, LoadRange(unit: .users, most: 50, seconds: 60))
            try await fixture.pool.query("UPDATE load_test SET start_at = now() - interval '59 s'")
            try await Self.expectFixed(queue, short, "it ends now")
            try await fixture.pool.query("UPDATE load_test SET start_at = now()")
            try await fixture.pool.query(
                "INSERT INTO load_change SELECT id, \(WireLimits.loadChanges), 1, 1 FROM load_test "
                    + "WHERE state = 'running'")
            try await Self.expectFixed(queue, short, "changed \(WireLimits.loadChanges) times")
            // It goes with its test.
            try await fixture.pool.query("DELETE FROM load_test")
            #expect(try await fixture.count("load_change") == 0)
        }
    }
}
