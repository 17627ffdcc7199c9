import API
import Coordinator
import CoordinatorClient
import Foundation
import JobQueue
import Model
import TestSupport
import Testing

/// The number of workers that an autoscaler must keep for the work.
@Suite struct WorkersWantedDecisionTests {
    private typealias Backlog = PoolLoad.Backlog

    private func load(
        _ backlogs: [PoolLoad.Backlog], leased: Int = 0, busy: Int = 0, workers: Int = 0,
        hasWork: Bool = false
    ) -> PoolLoad {
        PoolLoad(
            backlogs: backlogs, leased: leased, busy: busy, workers: workers, hasWork: hasWork)
    }

    private func policy(_ rate: Double) -> PoolPolicy {
        var policy = PoolPolicy(workerSegmentsPerSecond: rate)
        policy.bootSeconds = 0
        return policy
    }

    /// So many jobs in so many seconds, by workers of which each does so many.
    @Test func aDeadlineIsKept() {
        var ten = policy(10)
        let backlog = Backlog(jobs: 1_500, deadlineSeconds: 100)
        var wanted = WorkersWanted.decide(load([backlog]), ten)
        #expect(wanted.workers == 2 && wanted.reason == .deadline)
        #expect(wanted.segmentsPerSecond == 15 && wanted.waiting == 1_500)
        // The time until new workers work is taken off.
        ten.bootSeconds = 25
        wanted = WorkersWanted.decide(load([backlog]), ten)
        #expect(wanted.workers == 2 && wanted.segmentsPerSecond == 20)
    }

    /// An early deadline counts with all that is due before it, a late one with everything.
    @Test func theTightestDeadlineDecides() {
        let early = Backlog(jobs: 1_000, deadlineSeconds: 100)
        let late = Backlog(jobs: 9_000, deadlineSeconds: 10_000)
        #expect(WorkersWanted.decide(load([late, early]), policy(1)).segmentsPerSecond == 10)
        let heavy = Backlog(jobs: 999_000, deadlineSeconds: 10_000)
        #expect(WorkersWanted.decide(load([heavy, early]), policy(10)).segmentsPerSecond == 100)
    }

    /// Without a deadline, so long from the start: what is left does not stretch for ever.
    @Test func aCatalogWithoutADeadlineHasOneFromItsStart() {
        func rate(_ jobs: Int, running: Double) -> Double {
            WorkersWanted.decide(
                load([Backlog(jobs: jobs, runningSeconds: running)]), policy(1)
            ).segmentsPerSecond
        }
        #expect(rate(3_600, running: 0) == 1)
        #expect(rate(1_800, running: 1_800) == 1)
        #expect(rate(1_800, running: 2_700) == 2)
        let late = WorkersWanted.decide(
            load([Backlog(jobs: 1_800, runningSeconds: 9_999)]), policy(1))
        #expect(late.workers == 30 && late.reason == .overdue)
    }

    @Test func neverNoneWhileThereIsWork() {
        let cases = [
            load([], leased: 1, busy: 1), load([], hasWork: true), load([Backlog(jobs: 1)]),
            load([Backlog(jobs: 5, isOpen: false)], leased: 1, busy: 1),
            load([Backlog(jobs: 5_000_000, isFaulty: true)]),
        ]
        for load in cases { #expect(WorkersWanted.decide(load, policy(1e6)).workers == 1) }
        let idle = [
            load([]), load([Backlog(jobs: 0)]), load([Backlog(jobs: 9, isOpen: false)]),
            load([Backlog(jobs: 9, beginsSeconds: 100)]), load([], workers: 7),
        ]
        for load in idle {
            let wanted = WorkersWanted.decide(load, policy(1))
            #expect(wanted.workers == 0 && wanted.reason == .idle)
        }
    }

    @Test func workersAreThereWhenWorkMayBegin() {
        var some = policy(1)
        some.bootSeconds = 120
        let soon = Backlog(jobs: 7_200, beginsSeconds: 100, runningSeconds: -100)
        #expect(WorkersWanted.decide(load([soon]), some).workers > 1)
    }

    /// With or without waiting jobs, eight busy workers are never reduced to one.
    @Test(arguments: [40, 41, 400])
    func whoHoldsJobsFinishesThem(jobs: Int) {
        let last = Backlog(jobs: jobs, deadlineSeconds: 5_000)
        let wanted = WorkersWanted.decide(load([last], leased: 40, busy: 8, workers: 20), policy(1))
        #expect(wanted.workers == 8 && wanted.reason == .finishing)
        #expect(wanted.waiting == jobs - 40)
        // What belongs to no catalog that is listed is held all the same.
        let other = WorkersWanted.decide(load([], leased: 40, busy: 8, workers: 20), policy(1))
        #expect(other.workers == 8)
        var bounded = policy(1)
        bounded.maximum = 5
        #expect(
            WorkersWanted.decide(load([last], leased: 40, busy: 8, workers: 20), bounded).workers
                == 5)
    }

    /// What the documentation of Amazon's EC2 Auto Scaling reckons by the backlog per instance: 1,500
    /// messages of 0.1 s each, 10 s allowed: 100 an instance, so 15 of them, 5 more than there are.
    @Test func theBacklogPerInstanceOfAmazonsExample() {
        var amazon = policy(1 / 0.1)
        amazon.withinSeconds = 10
        let backlog = Backlog(jobs: 1_500)
        let wanted = WorkersWanted.decide(load([backlog], workers: 10), amazon)
        #expect(wanted.workers - wanted.current == 5 && wanted.reason == .deadline)
        #expect(backlog.jobs / wanted.workers == 100)
    }

    /// A backlog that shrinks at the planned pace never makes the pool oscillate.
    @Test func aFewTooManyAreKept() {
        func wanted(_ jobs: Int, workers: Int) -> WorkersWanted {
            WorkersWanted.decide(
                load([Backlog(jobs: jobs, deadlineSeconds: 1_000)], workers: workers), policy(1))
        }
        #expect(wanted(9_000, workers: 10).workers == 10)
        #expect(wanted(9_000, workers: 10).reason == .steady)
        #expect(wanted(8_000, workers: 10).workers == 8)
        #expect(wanted(11_000, workers: 10).workers == 11)
        #expect(wanted(1_500, workers: 2).workers == 2)
        // Noise of a tenth around one level changes nothing.
        var workers = 0
        for round in 0..<50 {
            let decided = wanted(9_500 + (round % 2) * 1_000, workers: workers).workers
            #expect(round < 2 || decided == workers)
            workers = decided
        }
    }

    @Test func boundsHold() {
        var bounded = policy(1)
        (bounded.minimum, bounded.maximum) = (2, 5)
        let many = WorkersWanted.decide(load([Backlog(jobs: 1_000_000_000)]), bounded)
        #expect(many.workers == 5 && many.reason == .maximum)
        let none = WorkersWanted.decide(load([]), bounded)
        #expect(none.workers == 2 && none.reason == .minimum)
    }
}

/// `GET /v1/workers/wanted` over PostgreSQL.
@Suite(.timeLimit(.minutes(3))) struct WorkersWantedTests {
    private func wanted(_ fixture: Fixture, _ query: String) async throws -> WorkersWanted {
        let answer = try await fixture.send("GET", "/v1/workers/wanted?\(query)")
        #expect(answer.status == 200, "\(answer)")
        return try JSONDecoder().decode(WorkersWanted.self, from: Data(answer.body.utf8))
    }

    @Test func fromTheFirstJobToTheLast() async throws {
        try await Fixture.with { fixture in
            let query = "workerSegmentsPerSecond=0.01&bootSeconds=0"
            #expect(try await wanted(fixture, query).workers == 0)
            try await fixture.submit((0..<100).map { "a\($0)" })
            var answer = try await wanted(fixture, query)
            // 100 in an hour, 36 an hour each.
            #expect(answer.workers == 3 && answer.reason == .deadline && answer.waiting == 100)
            #expect(try await wanted(fixture, query + "&queue=srv-edge").workers == 3)
            let grant = try await fixture.lease(100)
            #expect(grant.jobs.count == 100)
            answer = try await wanted(fixture, "workerSegmentsPerSecond=100")
            #expect(answer.workers == 1 && answer.waiting == 0 && answer.leased == 100)
            #expect(answer.busy == 1 && answer.current == 1)
            let reports = grant.jobs.map { job in
                var report = JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
                report.stored = StoredObject(bytes: 1, sha256: String(repeating: "0", count: 64))
                return report
            }
            _ = try await fixture.client.report(
                ReportRequest(worker: Fixture.worker, results: reports))
            // Checksums of the directory are still to be written.
            try await finish(fixture)
            answer = try await wanted(fixture, query)
            #expect(answer.workers == 0 && answer.reason == .idle && answer.leased == 0)
        }
    }

    /// Takes what is left until nothing is.
    private func finish(_ fixture: Fixture) async throws {
        try await waitUntil(deadlineSeconds: 60, "the catalog's end") {
            let grant = try await fixture.lease(100)
            let reports = grant.jobs.map { job in
                JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
            }
            if !reports.isEmpty {
                _ = try await fixture.client.report(
                    ReportRequest(worker: Fixture.worker, results: reports))
            }
            return try await fixture.execute(
                "SELECT count(*) FROM catalog WHERE state = 'running'"
            ).hasPrefix("0")
        }
    }

    @Test func aDeadlineInTheDatabaseDecides() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit((0..<100).map { "a\($0)" })
            let query = "workerSegmentsPerSecond=0.05&bootSeconds=0"
            #expect(try await wanted(fixture, query).workers == 1)
            _ = try await fixture.execute(
                "UPDATE catalog SET deadline = now() + interval '510 seconds'")
            // Between 100/510 and 100/410 a second.
            #expect((4...5).contains(try await wanted(fixture, query).workers))
            _ = try await fixture.execute(
                "UPDATE catalog SET deadline = now() - interval '1 second'")
            let late = try await wanted(fixture, query)
            #expect(late.workers == 34 && late.reason == .overdue)
            #expect(try await wanted(fixture, query + "&maximum=10").workers == 10)
            _ = try await fixture.execute(
                "UPDATE catalog SET deadline = NULL, not_before = now() + interval '1 day'")
            #expect(try await wanted(fixture, "\(query)&withinSeconds=60").reason != .deadline)
        }
    }

    @Test func whatIsHeldBackWantsNoWorkers() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let query = "workerSegmentsPerSecond=1"
            #expect(try await wanted(fixture, query).workers == 1)
            let pause = try await fixture.send(
                "POST", "/v1/queues/srv-edge/control", #"{"action":"pause"}"#,
                headers: ["Content-Type": "application/json"])
            #expect(pause.status == 200)
            #expect(try await wanted(fixture, query).workers == 0)
            _ = try await fixture.send(
                "POST", "/v1/queues/srv-edge/control", #"{"action":"resume"}"#,
                headers: ["Content-Type": "application/json"])
            let grant = try await fixture.lease(1)
            #expect(grant.jobs.count == 1)
            _ = try await fixture.send(
                "POST", "/v1/queues/srv-edge/control", #"{"action":"pause"}"#,
                headers: ["Content-Type": "application/json"])
            // What a worker holds is finished.
            #expect(try await wanted(fixture, query).workers == 1)
        }
    }

    @Test func assetsThatMayNotBeginYetWantNoWorkers() async throws {
        try await Fixture.with { fixture in
            let handle = try await fixture.client.openCatalog(
                CatalogSubmission(name: "later", storageURL: Fixture.storageURL))
            var asset = Fixture.file("a")
            asset.notBefore = Date().timeIntervalSince1970 + 86_400
            try await fixture.client.submit(
                AssetBatch(generation: handle.generation, assets: [asset]), to: handle.id)
            try await fixture.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            let query = "workerSegmentsPerSecond=1"
            #expect(try await wanted(fixture, query).workers == 0)
            _ = try await fixture.execute("UPDATE dray.asset SET not_before = now()")
            #expect(try await wanted(fixture, query).workers == 1)
        }
    }

    /// A title counts before anyone knows its segments.
    @Test func aTitleThatIsNotResolvedIsWork() async throws {
        try await Fixture.with { fixture in
            let handle = try await fixture.client.openCatalog(
                CatalogSubmission(name: "titles", storageURL: Fixture.storageURL))
            let title = AssetSubmission(
                name: "t", url: "http://origin.test/t/main.m3u8", kind: .hls,
                key: "origin.test/t/main.m3u8")
            try await fixture.client.submit(
                AssetBatch(generation: handle.generation, assets: [title]), to: handle.id)
            try await fixture.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            let answer = try await wanted(fixture, "workerSegmentsPerSecond=1")
            #expect(answer.workers == 1 && answer.waiting == 1)
        }
    }

    @Test(arguments: [
        ("", 400, "workerSegmentsPerSecond"), ("workerSegmentsPerSecond=0", 400, "1e-06"),
        ("workerSegmentsPerSecond=nan", 400, "workerSegmentsPerSecond"),
        ("workerSegmentsPerSecond=1&withinSeconds=0.5", 400, "withinSeconds"),
        ("workerSegmentsPerSecond=1&minimum=5&maximum=4", 400, "minimum"),
        ("workerSegmentsPerSecond=1&tolerance=1", 400, "tolerance"),
        ("workerSegmentsPerSecond=1&replicas=4", 400, "replicas"),
        ("workerSegmentsPerSecond=1&queue=", 400, "queue"),
        ("workerSegmentsPerSecond=1&queue=nowhere", 404, "nowhere"),
    ])
    func badParametersAreNamed(query: String, status: Int, says: String) async throws {
        try await Fixture.with { fixture in
            let answer = try await fixture.send("GET", "/v1/workers/wanted?\(query)")
            #expect(answer.status == status, "\(answer)")
            #expect(answer.body.contains(says), "\(answer)")
        }
    }
}

/// `GET /v1/workers/history` over PostgreSQL.
@Suite(.timeLimit(.minutes(3))) struct WorkersHistoryTests {
    private static let other: WorkerID = "22222222-2222-4222-8222-222222222222"

    private func history(_ fixture: Fixture, _ query: String = "") async throws -> WorkersHistory {
        let answer = try await fixture.send("GET", "/v1/workers/history\(query)")
        #expect(answer.status == 200, "\(answer)")
        return try JSONDecoder().decode(WorkersHistory.self, from: Data(answer.body.utf8))
    }

    private func beat(
        _ fixture: Fixture, _ worker: WorkerID, fetches: Int, busySeconds: Double,
        cpuSeconds: Double? = 1
    ) async throws {
        var done = WorkDone(connections: 8, cores: 4)
        for _ in 0..<fetches { done.add(seconds: 0.5, bytes: 100) }
        done.busySeconds = busySeconds
        done.cpuSeconds = cpuSeconds
        var heartbeat = Heartbeat(
            worker: worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
        heartbeat.done = done
        _ = try await fixture.client.heartbeat(heartbeat)
    }

    /// Moves all reports so far that many minutes into the past.
    private func age(_ fixture: Fixture, minutes: Int) async throws {
        _ = try await fixture.execute(
            "UPDATE worker_minute SET minute = minute - interval '\(minutes) minutes'")
    }

    @Test func repeatedReportsCountOnce() async throws {
        try await Fixture.with { fixture in
            #expect(try await history(fixture).minutes.isEmpty)
            try await beat(fixture, Fixture.worker, fetches: 10, busySeconds: 2)
            try await beat(fixture, Fixture.worker, fetches: 10, busySeconds: 2)
            // One that was held up on its way.
            try await beat(fixture, Fixture.worker, fetches: 4, busySeconds: 1)
            try await age(fixture, minutes: 3)
            try await beat(fixture, Fixture.worker, fetches: 40, busySeconds: 7)
            try await beat(fixture, Self.other, fetches: 20, busySeconds: 4, cpuSeconds: nil)
            let minutes = try await history(fixture).minutes
            #expect(minutes.map(\.done.fetches) == [10, 50])
            #expect(minutes.map(\.workers) == [1, 2])
            #expect(minutes[1].done.busySeconds == 9 && minutes[1].longestBusySeconds == 5)
            #expect(minutes[1].slotSeconds == 72 && minutes[1].done.connections == 16)
            #expect(minutes[1].done.seconds == 25 && minutes[1].done.seconds2 == 12.5)
            #expect(minutes[0].done.cpuSeconds == 1 && minutes[1].done.cpuSeconds == nil)
        }
    }

    /// The times of a worker's earlier jobs are unknown.
    @Test func whatCameBeforeIsLeftOut() async throws {
        try await Fixture.with { fixture in
            try await beat(fixture, Fixture.worker, fetches: 9, busySeconds: 5_000)
            #expect(try await history(fixture).minutes.isEmpty)
            try await age(fixture, minutes: 2)
            try await beat(fixture, Fixture.worker, fetches: 12, busySeconds: 5_002)
            #expect(try await history(fixture).minutes.map(\.done.fetches) == [3])
            #expect(try await history(fixture, "?seconds=60").minutes.isEmpty)
        }
    }

    @Test(arguments: [("?seconds=5", "seconds"), ("?seconds=nan", "seconds"), ("?days=1", "days")])
    func badParametersAreNamed(query: String, says: String) async throws {
        try await Fixture.with { fixture in
            let answer = try await fixture.send("GET", "/v1/workers/history\(query)")
            #expect(answer.status == 400 && answer.body.contains(says), "\(answer)")
        }
    }

    @Test func figuresThatNoWorkerHasAreRefused() async throws {
        try await Fixture.with { fixture in
            for text in [#""fetches":-1"#, #""seconds":-0.5"#, #""connections":0"#] {
                let name = text.prefix { $0 != ":" }
                let done = [
                    #""fetches":1"#, #""bytes":1"#, #""busySeconds":1"#, #""seconds":1"#,
                    #""seconds2":1"#, #""seconds3":1"#, #""seconds4":1"#, #""connections":1"#,
                    #""cores":1"#,
                ].map { $0.hasPrefix("\(name):") ? text : $0 }.joined(separator: ",")
                let answer = try await fixture.send(
                    "POST", "/v1/heartbeats",
                    """
                    {"worker":"\(Fixture.worker)","leases":[],"progress":{},"name":"w",
                     "activeTransfers":0,"done":{\(done)}}
                    """, headers: ["Content-Type": "application/json"])
                #expect(answer.status == 400 && answer.body.contains("done"), "\(answer)")
            }
        }
    }
}
