import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Sites with a failure that no job tries any more: a worker is asked to probe them.
@Suite(.timeLimit(.minutes(2))) struct SiteProbeTests {
    typealias F = QueueFixture

    private static func site(_ fixture: F) async throws -> SiteStatus {
        try #require(try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site })
    }

    /// Pauses the site by a job's failure, and cancels its catalog: no job is left.
    private static func fail(
        _ fixture: F, _ code: FailureCode = "storage.full"
    ) async throws -> SiteID {
        let catalog = try await fixture.submit([F.file("a")])
        let grant = try await fixture.lease()
        _ = try await fixture.report(grant.jobs.map { F.failed($0, grant, code) })
        try await fixture.queue.catalogs.submissions.interrupt(catalog)
        return try await site(fixture).id
    }

    /// Lets time pass for the sites, and what coordinators do each second.
    private static func pass(_ seconds: Int, _ fixture: F) async throws {
        try await fixture.pool.query(
            """
            UPDATE site SET fault_retry_at = fault_retry_at - interval '\(seconds) seconds',
                fault_probe_at = fault_probe_at - interval '\(seconds) seconds'
            """)
        try await fixture.queue.sites.closed.watch()
    }

    /// The site that a coordinator would ask a worker to probe.
    private static func unprobed(_ fixture: F) async throws -> SiteToProbe? {
        let sites = try await fixture.queue.sites.closed.unprobed()
        #expect(sites.count < 2)
        return sites.first
    }

    private static func report(
        _ site: SiteID, isSound: Bool, availableBytes: Int64? = 5_000, _ fixture: F
    ) async throws {
        var heartbeat = Heartbeat(
            worker: fixture.worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
        heartbeat.sites = [
            SiteReport(site: site, availableBytes: availableBytes, isSound: isSound)
        ]
        _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
    }

    private static func request(_ worker: WorkerID) -> LeaseRequest {
        LeaseRequest(worker: worker, queues: [], maxJobs: 1, waitMilliseconds: 0)
    }

    @Test func aFailureWithoutJobsEndsByAProbe() async throws {
        try await F.with { fixture in
            let id = try await Self.fail(fixture)
            #expect(try await Self.unprobed(fixture) == nil)
            try await Self.pass(6, fixture)
            // Jobs come first.
            #expect(try await Self.unprobed(fixture) == nil)
            try await Self.pass(6, fixture)
            let wanted = try #require(try await Self.unprobed(fixture))
            #expect(wanted.id == id && wanted.storageURL == F.site && wanted.asked.isEmpty)
            let closed = fixture.queue.sites.closed
            let asked = try #require(try await closed.probe(id, by: fixture.worker))
            #expect(asked.storageURL == F.site && asked.space?.isTried == true)
            // Another coordinator has read the list too.
            #expect(try await closed.probe(id, by: .random()) == nil)
            #expect(try await Self.unprobed(fixture) == nil)
            #expect(try await Self.site(fixture).fault?.code == "storage.full")
            try await Self.report(id, isSound: true, fixture)
            #expect(try await Self.site(fixture).fault == nil)
            try await Self.pass(60, fixture)
            #expect(try await Self.unprobed(fixture) == nil)
            #expect(try await closed.probe(id, by: .random()) == nil)
        }
    }

    /// A report without free bytes, as of a worker that could not read them, says nothing of them.
    @Test func aProbeKeepsTheFreeBytesThatAreKnown() async throws {
        try await F.with { fixture in
            let id = try await Self.fail(fixture)
            try await Self.report(id, isSound: false, fixture)
            #expect(try await Self.site(fixture).availableBytes == 5_000)
            try await fixture.pool.query(
                "UPDATE site SET fault_retry_at = NULL, seen_at = now() - interval '1 minute'")
            try await Self.report(id, isSound: true, availableBytes: nil, fixture)
            let site = try await Self.site(fixture)
            #expect(site.fault == nil && site.availableBytes == 5_000)
        }
    }

    /// Another worker fails after the one that tried the site and before the report of that.
    @Test func aLostReportIsMadeUpFor() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<2).map { F.file("f\($0)") })
            let other = WorkerID.random()
            let grant = try await fixture.lease(as: other)
            func fail(_ job: Job) async throws {
                _ = try await fixture.report([F.failed(job, grant, "storage.full")], as: other)
            }
            try await fail(grant.jobs[0])
            let id = try await Self.site(fixture).id
            try await Self.pass(6, fixture)
            try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
            let tried = try await fixture.lease()
            #expect(tried.jobs.count == 1 && tried.site?.space?.isTried == true)
            try await fail(grant.jobs[1])
            try await Self.report(id, isSound: true, fixture)
            #expect(try await Self.site(fixture).fault != nil)
            _ = try await fixture.report(tried.jobs.map { F.done($0, tried) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)

            try await Self.pass(60, fixture)
            try await Self.pass(6, fixture)
            let asked = try await fixture.queue.sites.closed.probe(id, by: fixture.worker)
            #expect(asked?.id == id)
            try await Self.report(id, isSound: true, fixture)
            #expect(try await Self.site(fixture).fault == nil)
        }
    }

    @Test func probesBackOffWhileTheyFail() async throws {
        try await F.with { fixture in
            let id = try await Self.fail(fixture, "storage.io")
            let message = try await Self.site(fixture).fault
            try await Self.pass(6, fixture)
            try await Self.pass(6, fixture)
            var seconds: [Int64] = []
            for _ in 1...5 {
                let asked = try await fixture.queue.sites.closed.probe(id, by: .random())
                #expect(asked != nil)
                seconds.append(
                    try await fixture.pool.query(
                        """
                        SELECT round(extract(epoch FROM fault_probe_at - now()))::bigint FROM site
                        """
                    ).only().int64(0))
                try await Self.report(id, isSound: false, fixture)
                #expect(try await Self.site(fixture).fault == message)
                try await Self.pass(61, fixture)
            }
            // By the clock of the database, which has advanced a little.
            for (wait, whole) in zip(seconds, [10, 20, 40, 60, 60] as [Int64]) {
                #expect((max(whole - 4, 1)...whole).contains(wait), "\(seconds)")
            }
        }
    }

    /// Workers that fail keep no other from its turn, and one that is alone is asked again.
    @Test func eachWorkerHasItsTurn() async throws {
        try await F.with { fixture in
            let id = try await Self.fail(fixture)
            try await Self.pass(6, fixture)
            try await Self.pass(6, fixture)
            let closed = fixture.queue.sites.closed
            let workers = [WorkerID.random(), .random()]
            for (index, worker) in workers.enumerated() {
                let wanted = try #require(try await Self.unprobed(fixture))
                #expect(wanted.asked == Array(workers.prefix(index)))
                for (other, worker) in workers.enumerated() {
                    #expect(wanted.mayBeProbed(by: Self.request(worker)) == (other >= index))
                }
                for asked in wanted.asked { #expect(try await closed.probe(id, by: asked) == nil) }
                #expect(try await closed.probe(id, by: worker) != nil)
                try await Self.pass((10 << index) + 1, fixture)
            }
            try await Self.pass(10, fixture)
            #expect(try #require(try await Self.unprobed(fixture)).asked.isEmpty)
            #expect(try await closed.probe(id, by: workers[0]) != nil)
            try await Self.pass(40, fixture)
            #expect(try #require(try await Self.unprobed(fixture)).asked == [workers[0]])
        }
    }

    @Test func onlyWorkersThatMayWriteThereAreAsked() {
        let site = SiteToProbe(id: SiteID(1), queue: "edge", storageURL: F.site, asked: [])
        var request = Self.request(.random())
        #expect(site.mayBeProbed(by: request))
        request.roots = ["file:///srv"]
        #expect(site.mayBeProbed(by: request))
        request.roots = ["file:///srv/other"]
        #expect(!site.mayBeProbed(by: request))
        request.roots = nil
        request.refusedSites = [SiteID(1)]
        #expect(!site.mayBeProbed(by: request))
        #expect(site.isFor([]) && site.isFor(["edge"]) && !site.isFor(["other"]))
    }

    /// An operator who pauses a queue may want to unmount its site; a schedule is about origins.
    @Test func aPausedQueueIsNotProbedAndAClosedSiteIs() async throws {
        try await F.with { fixture in
            let id = try await Self.fail(fixture)
            try await Self.pass(6, fixture)
            try await Self.pass(6, fixture)
            let queue = try #require(try await Self.unprobed(fixture)).queue
            _ = try await fixture.queue.sites.set(.paused, ofQueue: queue)
            #expect(try await Self.unprobed(fixture) == nil)
            #expect(try await fixture.queue.sites.closed.probe(id, by: .random()) == nil)
            _ = try await fixture.queue.sites.set(.active, ofQueue: queue)
            try await fixture.pool.query("UPDATE site SET schedule_closed = true")
            #expect(try await Self.unprobed(fixture)?.id == id)
            var settings = SiteSettings(site: F.site)
            settings.resumes = true
            #expect(try await fixture.queue.sites.configure(settings).fault == nil)
            #expect(try await Self.unprobed(fixture) == nil)
        }
    }

    /// Its end is seen in the database.
    @Test func aQuotaThatIsUsedUpIsNotProbed() async throws {
        try await F.with { fixture in
            _ = try await Self.fail(fixture)
            try await fixture.pool.query(
                """
                UPDATE site SET fault_code = 'storage.quota', fault_retry_at = 'infinity',
                    quota_bytes = 1
                """)
            try await fixture.pool.query("UPDATE catalog SET stored_bytes = 2")
            try await Self.pass(600, fixture)
            try await Self.pass(600, fixture)
            #expect(try await Self.site(fixture).fault?.code == "storage.quota")
            #expect(try await Self.unprobed(fixture) == nil)
        }
    }
}
