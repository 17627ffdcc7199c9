import API
import JobQueue
import Model
import Postgres
import Statistics
import TestSupport
import Testing

/// Jobs that workers die with.
@Suite struct PoisonTests {
    typealias F = QueueFixture

    static let files = 40

    /// Has workers take work until there is none, not even delayed. A worker that gets a job that `kills` dies with all
    /// that it holds. Returns how many died.
    private static func work(
        _ fixture: QueueFixture, most: Int = 100, kills: (Job) -> Bool
    ) async throws -> Int {
        var deaths = 0
        while true {
            let worker = WorkerID.random()
            let name = "edge-\(deaths + 1)"
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: worker, leases: [], progress: [:], name: name, activeTransfers: 0))
            var grant = try await fixture.lease(most, as: worker)
            if grant.lease == nil {
                // A checksum file is written again some seconds after the last change.
                try await fixture.skipDelays()
                grant = try await fixture.lease(most, as: worker)
            }
            guard grant.lease != nil else { return deaths }
            #expect(grant.isAlone != true || grant.jobs.count == 1)
            if grant.jobs.contains(where: kills) {
                deaths += 1
                guard deaths < 6 else { return deaths }
                try await fixture.silence(worker)
            } else {
                _ = try await fixture.report(grant.jobs.map { F.done($0, grant) }, as: worker)
            }
        }
    }

    @Test func oneBadFileCostsTwoWorkersAndTheOthersAreStored() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(
                (0..<Self.files).map { F.file("\($0)") } + [F.file("bad")])
            let isBad = { (job: Job) in job.key.hasSuffix("/bad") }
            #expect(try await Self.work(fixture, most: 25, kills: isBad) == 2)
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.count { $0.state == .completed } == Self.files)
            let bad = try #require(assets.first { $0.name == "bad" })
            #expect(bad.state == .failed && bad.failure?.code == "worker.poison")
            let message = try #require(bad.failure?.message)
            let times =
                /2 workers died with it: edge-1 at \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, edge-2 at .*/
            #expect(message.contains(times), "\(message)")
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)

            // The others are cleared, it is not; on request it is tried alone, and once.
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("job_loss") == 2)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .retry, catalog: CatalogReference(catalog), asset: nil,
                    failureCode: "worker.poison", priority: nil))
            #expect(try await Self.work(fixture, kills: isBad) == 1)
            let again = try await fixture.assets(of: catalog).first { $0.name == "bad" }
            #expect(again?.failure?.message.hasPrefix("3 workers died with it: ") == true)

            // Another submission is held to the same; and once it is harmless it is a file as any.
            try await fixture.submit(
                (0..<Self.files).map { F.file("\($0)") } + [F.file("bad")])
            var aloneJobs: [String] = []
            while true {
                try await fixture.skipDelays()
                let grant = try await fixture.lease(100, as: WorkerID.random())
                guard grant.lease != nil else { break }
                if grant.isAlone == true { aloneJobs += grant.jobs.map(\.key) }
                _ = try await fixture.queue.jobs.reports.record(
                    ReportRequest(
                        worker: try await Self.holder(of: grant, fixture),
                        results: grant.jobs.map { F.done($0, grant) }))
                try await fixture.fold()
            }
            #expect(aloneJobs == [F.file("bad").key])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("job_loss") == 0)
        }
    }

    private static func holder(
        of grant: LeaseGrant, _ fixture: QueueFixture
    ) async throws -> WorkerID {
        try await fixture.pool.query(
            "SELECT worker_id FROM lease WHERE id = $1", [.uuid(grant.lease ?? "")]
        ).firstRow?.uuid("worker_id") ?? ""
    }

    /// Whatever comes together in a lease, and whatever else becomes of it: a bad file costs two workers at most, and
    /// no good one is held.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func everyBadFileCostsTwoWorkersAtMost(seed: UInt64) async throws {
        try await F.with { fixture in
            var random = SeededRandom(seed: seed)
            let (good, bad) = (Int.random(in: 0...30, using: &random), Int(seed % 3) + 1)
            var names = (0..<good).map { "\($0)" } + (0..<bad).map { "bad\($0)" }
            names.shuffle(using: &random)
            let catalog = try await fixture.submit(names.map { F.file($0) })
            var deaths = 0
            while true {
                let worker = WorkerID.random()
                let most = Int.random(in: 1...12, using: &random)
                let grant = try await fixture.lease(most, as: worker)
                guard grant.lease != nil else { break }
                if grant.jobs.contains(where: { $0.key.contains("/bad") }) {
                    deaths += 1
                    try #require(deaths <= 2 * bad)
                    try await fixture.silence(worker)
                    continue
                }
                let results = grant.jobs.map { job in
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0:
                        JobReport(job: job.id, lease: grant.lease ?? "", outcome: .returned())
                    case 1 where job.attempt < 4: F.failed(job, grant, "origin.http.502")
                    default: F.done(job, grant)
                    }
                }
                _ = try await fixture.report(results, as: worker)
                try await fixture.skipDelays()
                try await fixture.pool.query(
                    "UPDATE origin SET cooldown_until = NULL, failures = 0, breaker = 'closed'")
            }
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.count { $0.state == .completed } == good)
            #expect(assets.count { $0.failure?.code == "worker.poison" } == bad)
        }
    }

    @Test func aWorkerThatComesBackHasNotDied() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("slow")])
            let workers = (0..<3).map { _ in WorkerID.random() }
            for worker in workers {
                let grant = try await fixture.lease(as: worker)
                #expect(grant.jobs.count == 1)
                #expect(grant.isAlone == (worker == workers[0] ? nil : true))
                try await fixture.silence(worker)
                // All but the last find their way back.
                if worker != workers[2] {
                    _ = try await fixture.queue.jobs.leases.heartbeat(
                        Heartbeat(
                            worker: worker, leases: [], progress: [:], name: "w",
                            activeTransfers: 0))
                }
            }
            let last = try await fixture.lease()
            #expect(last.isAlone == true && last.jobs.map(\.attempt) == [4])
            _ = try await fixture.report(last.jobs.map { F.done($0, last) })
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func whatIsTriedAloneIsLeftTimeForItsWorkerToComeBack() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let first = WorkerID.random()
            _ = try await fixture.lease(as: first)
            try await fixture.silence(first)
            let second = WorkerID.random()
            #expect(try await fixture.lease(as: second).isAlone == true)
            // Its lease is over, but for less than another lease's time.
            try await fixture.pool.query("UPDATE lease SET expires_at = now() - interval '29 s'")
            #expect(try await fixture.queue.jobs.leases.sweep() == 0)
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: second, leases: [], progress: [:], name: "w", activeTransfers: 0))
            try await fixture.pool.query("UPDATE lease SET expires_at = now() - interval '31 s'")
            try await fixture.serveForHours()
            #expect(try await fixture.queue.jobs.leases.sweep() == 1)
            let third = try await fixture.lease()
            #expect(third.jobs.map(\.attempt) == [3] && third.isAlone == true)
        }
    }

    /// A power cut ends all workers at once, and does not count against their jobs.
    @Test func anOutageOfAllIsNoDeath() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            for _ in 0..<3 {
                let grant = try await fixture.lease(as: WorkerID.random())
                #expect(grant.jobs.count == 1 && grant.isAlone == nil)
                // The coordinators were away for a minute, in which the lease ran out.
                try await fixture.pool.query(
                    "UPDATE cluster SET served_at = now() - interval '1 min', served_since = now() - interval '1 h'"
                )
                try await fixture.pool.query(
                    "UPDATE lease SET expires_at = now() - interval '40 s'")
                #expect(try await fixture.queue.jobs.leases.sweep() == 1)
            }
            #expect(try await fixture.count("job_loss") == 0)
            #expect(try await Self.work(fixture) { _ in false } == 0)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    /// A private cluster of one machine ends with the job that kills its worker; with the machine it ends for another
    /// reason.
    @Test(arguments: [true, false])
    func aCrashOfAPrivateClusterIsADeath(isOfMachine: Bool) async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            var (deaths, boot) = (0, "0")
            for _ in 0..<2 {
                var settings = JobQueue.Settings()
                settings.machine = boot
                let before = JobQueue(pool: fixture.pool, settings: settings)
                _ = try await before.jobs.leases.sweep()
                try await fixture.serveForHours()
                let grant = try await fixture.lease(as: WorkerID.random())
                #expect(grant.jobs.count == 1)
                try await fixture.pool.query(
                    "UPDATE cluster SET served_at = now() - interval '2 min'")
                try await fixture.pool.query(
                    "UPDATE lease SET expires_at = now() - interval '1 min'")
                if isOfMachine { boot += "1" }
                settings.machine = boot
                let after = JobQueue(pool: fixture.pool, settings: settings)
                #expect(try await after.jobs.leases.sweep() == 1)
                try await fixture.fold()
                deaths = Int(try await fixture.count("job_loss"))
            }
            #expect(deaths == (isOfMachine ? 0 : 2))
        }
    }

    @Test func suspectsGoToWorkersThatHoldNothingElse() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<8).map { F.file("\($0)") })
            let dead = WorkerID.random()
            #expect(try await fixture.lease(as: dead).jobs.count == 8)
            try await fixture.submit((0..<4).map { F.file("new\($0)") }, catalog: "new")
            let busy = WorkerID.random()
            let inHand = try await fixture.lease(1, as: busy)
            #expect(inHand.jobs.count == 1)
            try await fixture.silence(dead)

            // A worker with something in hand gets none of them.
            for _ in 0..<8 {
                let more = try await fixture.lease(1, as: busy)
                #expect(more.isAlone == nil && more.jobs.allSatisfy { $0.key.contains("/new") })
                _ = try await fixture.report(more.jobs.map { F.done($0, more) }, as: busy)
            }
            // One that has one of them gets nothing else.
            let tester = WorkerID.random()
            var alone = try await fixture.lease(as: tester)
            for _ in 0..<4 where alone.isAlone != true {
                _ = try await fixture.report(alone.jobs.map { F.done($0, alone) }, as: tester)
                alone = try await fixture.lease(as: tester)
            }
            #expect(alone.jobs.count == 1)
            #expect(try await fixture.lease(as: tester).lease == nil)
            // What it gives back is still to be tried alone.
            let back = JobReport(
                job: alone.jobs[0].id, lease: alone.lease ?? "", outcome: .returned())
            #expect(try await fixture.report([back], as: tester) == [.accepted])
            _ = try await fixture.report(inHand.jobs.map { F.done($0, inHand) }, as: busy)
            #expect(try await Self.work(fixture) { _ in false } == 0)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func manifestsListsAndPartsCanBePoisonAsWell() async throws {
        try await F.with { fixture in
            let title = try await fixture.submit([F.title("film")], catalog: "titles")
            #expect(try await Self.work(fixture) { $0.kind == .resolve } == 2)
            let film = try await fixture.assets(of: title)[0]
            #expect(film.state == .failed && film.failure?.code == "worker.poison")

            let large = try await fixture.submit([F.file("large")], catalog: "large")
            let first = try await fixture.lease(1)
            let request = SplitTests.request(
                fixture, first, total: 2 * SplitTests.part,
                multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            _ = try await fixture.report([F.done(first.jobs[0], first, bytes: SplitTests.part)])
            #expect(try await Self.work(fixture) { $0.offset != nil } == 2)
            #expect(
                try await fixture.assets(of: large).map(\.failure?.code) == ["worker.poison"])

            let listed = try await fixture.submit([F.file("a")], catalog: "listed")
            #expect(try await Self.work(fixture) { $0.kind == .checksums } == 2)
            let status = try await fixture.queue.catalogs.status(of: listed)
            #expect(status.state == .failed)
        }
    }

    @Test func partsOfASuspectAreSuspects() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let dead = WorkerID.random()
            _ = try await fixture.lease(as: dead)
            try await fixture.silence(dead)
            let first = try await fixture.lease()
            #expect(first.isAlone == true)
            let request = SplitTests.request(
                fixture, first, total: 2 * SplitTests.part,
                multipart: .random())
            #expect(try await fixture.queue.jobs.splits.split(request) == .accepted)
            _ = try await fixture.report([F.done(first.jobs[0], first, bytes: SplitTests.part)])
            // The second death with the file is the end of it.
            let second = try await fixture.lease(as: WorkerID.random())
            #expect(second.isAlone == true && second.jobs.map(\.offset) == [SplitTests.part])
            try await fixture.silence(try await Self.holder(of: second, fixture))
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == "worker.poison")
        }
    }
}
