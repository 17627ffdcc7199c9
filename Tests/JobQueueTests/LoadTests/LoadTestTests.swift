import API
import Foundation
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Load tests: who takes part, when they begin, what of their reports counts, how they end.
@Suite struct LoadTestTests {
    private static let scenario = #"{"targets":["http://origin.test/a"]}"#

    static func test(
        workers: Int? = 2, atLeast: Int? = nil, queue: String? = nil
    ) -> LoadTestSubmission {
        LoadTestSubmission(
            id: .random(), name: "smoke", queue: queue, scenario: scenario,
            workers: workers,
            atLeast: atLeast ?? workers ?? 1, waitSeconds: 60, durationSeconds: 10)
    }

    static func report(
        _ worker: WorkerID, _ progress: LoadTestReport.Progress, seconds: [Int] = []
    ) -> LoadTestReport {
        var report = LoadTestReport(worker: worker, progress: progress)
        report.intervals = seconds.map {
            .init(second: $0, data: "\(worker.description.prefix(4)) \($0)")
        }
        if progress != .preparing { report.cores = 2 }
        if progress == .finished { report.breakdown = "all of \(worker.description.prefix(4))" }
        if progress == .failed { report.failure = Failure("origin.connect", "refused") }
        return report
    }

    static func join(_ queue: JobQueue, _ id: LoadTestID, _ worker: WorkerID) async throws
        -> String?
    {
        try await queue.loadTests.shards.join(
            id, LoadTestJoin(worker: worker, name: "name-\(worker.description.prefix(4))")
        )
        .scenario
    }

    /// A running test, and its workers.
    static func running(
        _ queue: JobQueue, workers: Int = 2
    ) async throws -> (id: LoadTestID, workers: [WorkerID]) {
        let test = test(workers: workers)
        _ = try await queue.loadTests.create(test)
        let all = (0..<workers).map { _ in WorkerID.random() }
        for worker in all {
            #expect(try await join(queue, test.id, worker) == scenario)
            _ = try await queue.loadTests.shards.report(report(worker, .ready), of: test.id)
        }
        #expect(try await queue.loadTests.status(of: test.id).state == .running)
        return (test.id, all)
    }

    @Test func itStartsForAllWhenTheLastIsReady() async throws {
        try await QueueFixture.with { fixture in
            var settings = fixture.queue.settings
            settings.loadTests.leadSeconds = 3_600
            let queue = JobQueue(pool: fixture.pool, settings: settings)
            let test = Self.test(workers: 2)
            #expect(try await queue.loadTests.create(test).state == .waiting)
            #expect(try await queue.loadTests.supervision.reconcile().map(\.id) == [test.id])
            let (one, two, three) = (
                WorkerID.random(), WorkerID.random(), WorkerID.random()
            )
            for worker in [one, two, one] {
                #expect(try await Self.join(queue, test.id, worker) == Self.scenario)
            }
            // There is no third shard, and no worker is called for it.
            #expect(try await Self.join(queue, test.id, three) == nil)
            #expect(try await queue.loadTests.supervision.called().isEmpty)
            #expect(
                try await queue.loadTests.shards.report(Self.report(one, .preparing), of: test.id)
                    .kind
                    == .wait)
            #expect(
                try await queue.loadTests.shards.report(Self.report(one, .ready), of: test.id).kind
                    == .wait)
            let last = try await queue.loadTests.shards.report(
                Self.report(two, .ready), of: test.id)
            let first = try await queue.loadTests.shards.report(
                Self.report(one, .ready), of: test.id)
            #expect([first.kind, last.kind] == [.run, .run])
            #expect([first.shard, last.shard] == [0, 1])
            #expect([first.shards, last.shards] == [2, 2])
            // Both get the same start time; the later request has the shorter wait.
            let ahead = try [last, first].map { try #require($0.startsInSeconds) }
            let now = try #require(
                try await queue.loadTests.shards.report(Self.report(two, .ready), of: test.id)
                    .startsInSeconds)
            #expect(ahead[0] <= 3_600 && ahead[1] < ahead[0] && now < ahead[1] && now > 0)
            let column = "start_at IS NOT NULL AND start_at > created_at + interval '1 h'"
            #expect(try await fixture.count("load_test WHERE \(column)") == 1)
            #expect(
                try await queue.loadTests.shards.report(Self.report(three, .ready), of: test.id)
                    .kind
                    == .leave)
        }
    }

    @Test func aReportShowsThatItsWorkerIsConnected() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = try await Self.running(queue, workers: 1)
            _ = try await queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: test.workers[0], leases: [], progress: [:], name: "w",
                    activeTransfers: 0))
            try await fixture.pool.query("UPDATE worker SET last_seen = now() - interval '2 min'")
            #expect(try await queue.workers.clusterStatus().workers.isEmpty)
            _ = try await queue.loadTests.shards.report(
                Self.report(test.workers[0], .ready, seconds: [0]), of: test.id)
            let seconds = try await queue.workers.clusterStatus().workers.map(\.silentSeconds)
            #expect(seconds.count == 1 && seconds[0] < 60)
        }
    }

    @Test func whenTheWaitIsOverThoseThatAreReadyBegin() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 3, atLeast: 1)
            _ = try await queue.loadTests.create(test)
            let (ready, late) = (WorkerID.random(), WorkerID.random())
            _ = try await Self.join(queue, test.id, late)
            _ = try await Self.join(queue, test.id, ready)
            _ = try await queue.loadTests.shards.report(Self.report(ready, .ready), of: test.id)
            #expect(try await queue.loadTests.status(of: test.id).state == .waiting)
            try await fixture.pool.query("UPDATE load_test SET join_until = now() - interval '1 s'")
            #expect(try await Self.join(queue, test.id, .random()) == nil)
            _ = try await queue.loadTests.supervision.reconcile()
            let order = try await queue.loadTests.shards.report(
                Self.report(ready, .ready), of: test.id)
            #expect(order.kind == .run && order.shard == 0 && order.shards == 1)
            #expect(
                try await queue.loadTests.shards.report(Self.report(late, .ready), of: test.id).kind
                    == .leave)
            let states = try await queue.loadTests.status(of: test.id).shards.map(\.state)
            #expect(states == [.running, .dismissed])
            // An autoscaler sees that it is not idle.
            #expect(try await queue.workers.load(ofQueue: nil).busy == 1)
        }
    }

    @Test func tooFewWorkersAreAnError() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 2)
            _ = try await queue.loadTests.create(test)
            let worker = WorkerID.random()
            _ = try await Self.join(queue, test.id, worker)
            _ = try await queue.loadTests.shards.report(Self.report(worker, .ready), of: test.id)
            try await fixture.pool.query("UPDATE load_test SET join_until = now() - interval '1 s'")
            _ = try await queue.loadTests.supervision.reconcile()
            let status = try await queue.loadTests.status(of: test.id)
            #expect(status.state == .ended && status.failure?.code == "cluster.fewWorkers")
            #expect(status.failure?.message.hasPrefix("1 of the 2 workers") == true)
            #expect(
                try await queue.loadTests.shards.report(Self.report(worker, .ready), of: test.id)
                    .kind
                    == .leave)
            // Its plan is deleted.
            #expect(try await fixture.count("load_test WHERE scenario <> ''") == 0)
        }
    }

    @Test func whatCannotBePreparedEndsItBeforeAnyLoad() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 2)
            _ = try await queue.loadTests.create(test)
            let (one, two) = (WorkerID.random(), WorkerID.random())
            for worker in [one, two] { _ = try await Self.join(queue, test.id, worker) }
            _ = try await queue.loadTests.shards.report(Self.report(one, .ready), of: test.id)
            _ = try await queue.loadTests.shards.report(Self.report(two, .failed), of: test.id)
            let status = try await queue.loadTests.status(of: test.id)
            #expect(status.state == .ended && status.started == nil)
            #expect(status.failure?.code == "origin.connect")
            #expect(status.failure?.message == "name-\(two.description.prefix(4)): refused")
            #expect(
                try await queue.loadTests.shards.report(Self.report(one, .ready), of: test.id).kind
                    == .leave
            )
        }
    }

    @Test func aWorkerThatLeavesBeforeTheStartFreesItsShard() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 1)
            _ = try await queue.loadTests.create(test)
            let (leaver, silent, other) = (
                WorkerID.random(), WorkerID.random(), WorkerID.random()
            )
            _ = try await Self.join(queue, test.id, leaver)
            var report = Self.report(leaver, .failed)
            report.failure = Failure("worker.cancelled", "Its worker was stopped.")
            #expect(try await queue.loadTests.shards.report(report, of: test.id).kind == .leave)
            #expect(try await Self.join(queue, test.id, silent) == Self.scenario)
            try await fixture.pool.query(
                "UPDATE load_shard SET reported_at = now() - interval '11 s'")
            _ = try await queue.loadTests.supervision.reconcile()
            #expect(try await Self.join(queue, test.id, other) == Self.scenario)
            #expect(
                try await queue.loadTests.shards.report(Self.report(other, .ready), of: test.id)
                    .kind == .run
            )
        }
    }

    @Test func eachSecondOfAShardCountsOnce() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue)
            for seconds in [[0, 1], [0, 1], [1, 2], [0]] {
                _ = try await queue.loadTests.shards.report(
                    Self.report(workers[0], .ready, seconds: seconds), of: id)
            }
            _ = try await queue.loadTests.shards.report(
                Self.report(workers[1], .ready, seconds: [0]), of: id)
            let update = try await queue.loadTests.follow(id, after: [])
            #expect(!update.hasMore)
            #expect(update.intervals.map(\.shard) == [0, 1, 0, 0])
            #expect(update.intervals.map(\.second) == [0, 0, 1, 2])
            #expect(update.test.shards.map(\.nextSecond) == [3, 1])
            // Asked again, the answer is the same; what was taken is forgotten and does not come back.
            #expect(try await queue.loadTests.follow(id, after: []).intervals.count == 4)
            #expect(
                try await queue.loadTests.follow(id, after: [2, 1]).intervals.map(\.second) == [2])
            _ = try await queue.loadTests.shards.report(
                Self.report(workers[0], .ready, seconds: [0, 1]), of: id)
            #expect(try await queue.loadTests.follow(id, after: []).intervals.map(\.second) == [2])
            #expect(try await fixture.count("load_interval") == 1)
        }
    }

    @Test func aLostShardIsNamedAndStaysLost() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue)
            for worker in workers {
                _ = try await queue.loadTests.shards.report(
                    Self.report(worker, .ready, seconds: [0, 1, 2]), of: id)
            }
            try await fixture.pool.query(
                "UPDATE load_shard SET reported_at = now() - interval '11 s' WHERE number = 1")
            _ = try await queue.loadTests.supervision.reconcile()
            // The test continues with the other one.
            let status = try await queue.loadTests.status(of: id)
            #expect(status.state == .running)
            #expect(status.shards.map(\.state) == [.running, .lost])
            #expect(status.shards[1].nextSecond == 3)
            #expect(status.shards[1].failure?.code == "worker.lost")
            // One that comes back changes nothing.
            for progress in [LoadTestReport.Progress.ready, .finished, .failed] {
                let late = Self.report(workers[1], progress, seconds: [3, 4])
                #expect(try await queue.loadTests.shards.report(late, of: id).kind == .leave)
            }
            #expect(try await queue.loadTests.status(of: id).shards.map(\.nextSecond) == [3, 3])
            #expect(try await queue.loadTests.breakdown(of: id, shard: 1).data == nil)
            let end = Self.report(workers[0], .finished, seconds: [3])
            #expect(try await queue.loadTests.shards.report(end, of: id).kind == .leave)
            let ended = try await queue.loadTests.follow(id, after: [])
            #expect(ended.test.state == .ended && ended.test.failure == nil)
            #expect(ended.intervals.count == 7)
            #expect(
                try await queue.loadTests.breakdown(of: id, shard: 0).data
                    == "all of \(workers[0].description.prefix(4))")
        }
    }

    @Test func aTestWithoutAFollowerIsStopped() async throws {
        try await QueueFixture.with { fixture in
            // So long that a machine that stands still for a while changes nothing.
            var settings = JobQueue.Settings()
            settings.loadTests.silentSeconds = 3_600
            settings.loadTests.followedSeconds = 3_600
            let queue = JobQueue(pool: fixture.pool, settings: settings)
            let (id, workers) = try await Self.running(queue)
            let stale = "UPDATE load_test SET followed_at = now() - interval '3601 s'"
            try await fixture.pool.query(stale)
            _ = try await queue.loadTests.follow(id, after: [])
            _ = try await queue.loadTests.supervision.reconcile()
            #expect(try await queue.loadTests.status(of: id).state == .running)
            try await fixture.pool.query(stale)
            _ = try await queue.loadTests.supervision.reconcile()
            let status = try await queue.loadTests.status(of: id)
            #expect(status.state == .stopping && status.failure?.code == "cluster.abandoned")
            for worker in workers {
                #expect(
                    try await queue.loadTests.shards.report(Self.report(worker, .ready), of: id)
                        .kind
                        == .stop)
            }
            _ = try await queue.loadTests.shards.report(Self.report(workers[0], .finished), of: id)
            // One that does not stop is not waited for.
            try await fixture.pool.query(
                "UPDATE load_test SET stopped_at = now() - interval '31 s'")
            _ = try await queue.loadTests.supervision.reconcile()
            _ = try await queue.loadTests.supervision.reconcile()
            let ended = try await queue.loadTests.status(of: id)
            #expect(ended.state == .ended)
            #expect(ended.shards.map(\.state) == [.finished, .lost])
        }
    }

    @Test func stoppingItNotifiesAllAndAWaitingTestEnds() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue)
            #expect(try await queue.workers.clusterStatus().loadTests?.map(\.id) == [id])
            for _ in 0..<2 {
                #expect(try await queue.loadTests.stop(id).state == .stopping)
            }
            for worker in workers {
                #expect(
                    try await queue.loadTests.shards.report(Self.report(worker, .ready), of: id)
                        .kind
                        == .stop)
                _ = try await queue.loadTests.shards.report(
                    Self.report(worker, .finished, seconds: [0]), of: id)
            }
            let status = try await queue.loadTests.status(of: id)
            #expect(status.state == .ended && status.failure == nil)
            #expect(status.shards.map(\.state) == [.finished, .finished])
            #expect(try await queue.workers.clusterStatus().loadTests == nil)

            let waiting = Self.test()
            _ = try await queue.loadTests.create(waiting)
            #expect(try await queue.loadTests.stop(waiting.id).state == .ended)
            await #expect(throws: Failure.self) {
                try await queue.loadTests.stop(.random())
            }
        }
    }

    @Test func oneTestOfAQueueAtATime() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let handle = try await queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: QueueFixture.site))
            let name = try #require(try await queue.sites.queues().first?.name)
            _ = handle
            let test = Self.test(queue: name)
            #expect(try await queue.loadTests.create(test).queue == name)
            // Asked twice it is one test.
            #expect(try await queue.loadTests.create(test).id == test.id)
            await #expect {
                try await queue.loadTests.create(Self.test(queue: name))
            } throws: { ($0 as? Failure)?.code == "input.loadTestRunning" }
            await #expect {
                try await queue.loadTests.create(Self.test(queue: "nowhere"))
            } throws: { ($0 as? Failure)?.code == "input.notFound" }
            // One of the whole cluster is another matter.
            #expect(try await queue.loadTests.create(Self.test()).queue == nil)
            _ = try await queue.loadTests.stop(test.id)
            #expect(try await queue.loadTests.create(Self.test(queue: name)).state == .waiting)
            #expect(try await queue.loadTests.list().tests.count == 3)
        }
    }

    @Test func whatEndedADayAgoIsForgotten() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let (id, workers) = try await Self.running(queue)
            for worker in workers {
                _ = try await queue.loadTests.shards.report(
                    Self.report(worker, .finished, seconds: [0]), of: id)
            }
            try await queue.housekeeping.tables.delete()
            #expect(try await fixture.count("load_interval") == 2)
            try await fixture.pool.query(
                "UPDATE load_test SET ended_at = now() - interval '25 hours'")
            try await queue.housekeeping.tables.delete()
            for table in ["load_test", "load_shard", "load_interval"] {
                #expect(try await fixture.count(table) == 0, "\(table)")
            }
        }
    }
}
