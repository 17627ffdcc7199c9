import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Reasons why no job of a running catalog runs, and their ends.
@Suite(.timeLimit(.minutes(2))) struct WaitTests {
    typealias F = QueueFixture

    /// Sends a heartbeat that stays young, however long the test takes.
    func beat(
        _ fixture: F, _ worker: WorkerID? = nil, leases: [LeaseID] = [], active: Int = 0,
        queues: [String]? = nil
    ) async throws {
        var heartbeat = Heartbeat(
            worker: worker ?? fixture.worker, leases: leases, progress: [:], name: "w-1",
            activeTransfers: active)
        heartbeat.queues = queues
        _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
        try await fixture.pool.query(
            "UPDATE worker SET last_seen = now() + interval '1 day' WHERE id = $1",
            [.uuid(worker ?? fixture.worker)])
    }

    func waits(_ fixture: F, _ catalog: CatalogID) async throws -> [CatalogWait] {
        let status = try await fixture.queue.catalogs.status(of: catalog, withActive: false)
        let listed = try await fixture.queue.workers.clusterStatus().catalogs.first {
            $0.id == catalog
        }
        #expect(listed?.waits?.map(\.reason) == status.waits?.map(\.reason))
        return status.waits ?? []
    }

    func reasons(_ fixture: F, _ catalog: CatalogID) async throws -> [CatalogWait.Reason] {
        try await waits(fixture, catalog).map(\.reason)
    }

    func queueName(_ fixture: F) async throws -> String {
        try #require(try await fixture.queue.sites.queues().first).name
    }

    func now(_ fixture: F) async throws -> Double {
        try #require(
            try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
        ).double(0)
    }

    /// Moves the grants of all leases, and the last heartbeats, to so many seconds ago.
    private func age(_ fixture: F, seconds: Double, workers: Bool = true) async throws {
        let by: [PostgresValue] = [.double(seconds)]
        try await fixture.pool.query(
            "UPDATE lease SET granted_at = now() - make_interval(secs => $1)", by)
        guard workers else { return }
        try await fixture.pool.query(
            "UPDATE worker SET last_seen = now() - make_interval(secs => $1)", by)
    }

    /// Lets all leases be granted just now, and hold, however long the test takes.
    private func keepYoung(_ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE lease SET granted_at = now() + interval '1 day', expires_at = now() + interval '1 day'"
        )
    }

    @Test func aRunningCatalogWaitsForNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            try await beat(fixture)
            // Any worker may take them now.
            #expect(try await reasons(fixture, catalog) == [])
            let grant = try await fixture.lease(1)
            _ = try await fixture.queue.sites.set(.paused, ofQueue: try await queueName(fixture))
            // What is leased is finished.
            #expect(try await reasons(fixture, catalog) == [])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            #expect(
                try await reasons(fixture, catalog)
                    == [.queuePaused(queue: try await queueName(fixture))])
            _ = try await fixture.queue.sites.set(.active, ofQueue: try await queueName(fixture))
            try await fixture.drain()
            let ended = try await fixture.queue.catalogs.status(of: catalog)
            #expect(ended.state == .completed && ended.waits == nil)
        }
    }

    @Test func aHeldCatalogReportsItsStart() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let catalog = try await fixture.submit([F.file("a")], notBefore: now + 3_600)
            try await beat(fixture)
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.notBefore])
            #expect(abs((waits.first?.until ?? 0) - now - 3_600) < 0.01)
            #expect((3_400...3_600).contains(waits.first?.seconds ?? 0))
        }
    }

    @Test func aClosedScheduleReportsItsOpening() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await beat(fixture)
            _ = try await fixture.queue.sites.configure(SiteSettings(site: F.site, schedule: "off"))
            #expect(
                try await waits(fixture, catalog) == [CatalogWait(.schedule)],
                "it opens at no time")
            try await fixture.pool.query(
                "UPDATE site SET next_change = now() + interval '3 hours'")
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.schedule])
            #expect((10_600...10_800).contains(waits.first?.seconds ?? 0))
        }
    }

    @Test func theReasonThatEndsLastComesFirst() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let catalog = try await fixture.submit([F.file("a")], notBefore: now + 60)
            try await beat(fixture)
            _ = try await fixture.queue.sites.configure(SiteSettings(site: F.site, schedule: "off"))
            try await fixture.pool.query(
                "UPDATE site SET next_change = now() + interval '3 hours'")
            #expect(try await reasons(fixture, catalog) == [.schedule, .notBefore])
            let queue = try await queueName(fixture)
            _ = try await fixture.queue.sites.set(.paused, ofQueue: queue)
            #expect(
                try await reasons(fixture, catalog)
                    == [.queuePaused(queue: queue), .schedule, .notBefore])
        }
    }

    @Test func aRetryReportsItsReasonAndTime() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            try await beat(fixture)
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.failed(grant.jobs[0], grant, "origin.http.503"),
                F.failed(grant.jobs[1], grant, "origin.timeout"),
            ])
            try await fixture.pool.query(
                """
                UPDATE delayed_job SET available_at = now()
                    + CASE retry_code WHEN 'origin.timeout' THEN interval '1 h' ELSE interval '2 h' END
                """)
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.retry("origin.timeout")])
            #expect((3_400...3_600).contains(waits.first?.seconds ?? 0))
            // While another job runs, the catalog waits for nothing.
            try await fixture.pool.query(
                "UPDATE delayed_job SET available_at = now() WHERE retry_code = 'origin.timeout'")
            _ = try await fixture.lease()
            #expect(try await reasons(fixture, catalog) == [])
        }
    }

    @Test func theLeaseOfASilentWorkerReportsItsEnd() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            try await beat(fixture, leases: [grant.lease ?? ""], active: 1)
            #expect(try await reasons(fixture, catalog) == [])
            try await age(fixture, seconds: 8)
            try await fixture.pool.query("UPDATE lease SET expires_at = now() + interval '1 h'")
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.workerSilent(worker: "w-1", leases: 1)])
            #expect((3_400...3_600).contains(waits.first?.seconds ?? 0))
            // It is over, and not swept yet.
            try await fixture.pool.query("UPDATE lease SET expires_at = now() - interval '1 s'")
            #expect(
                try await reasons(fixture, catalog) == [.workerSilent(worker: "w-1", leases: 1)])
        }
    }

    /// An idle worker sends a heartbeat only twice a minute: its new lease is not lost.
    @Test func aYoungLeaseIsNotLost() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await beat(fixture)
            try await age(fixture, seconds: 29)
            _ = try await fixture.lease()
            try await keepYoung(fixture)
            #expect(try await reasons(fixture, catalog) == [])
        }
    }

    @Test func aCooldownReportsItsEnd() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            try await beat(fixture)
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([
                F.failed(grant.jobs[0], grant, "origin.http.429", retryAfter: 3_600)
            ])
            let waits = try await waits(fixture, catalog)
            let cooldown = CatalogWait.Reason.originCooldown(
                origin: "http://origin.test", code: "origin.http.429", origins: 1)
            #expect(Set(waits.map(\.reason)) == [cooldown, .retry("origin.http.429")])
            #expect(waits.allSatisfy { (3_400...3_600).contains($0.seconds ?? 0) })
        }
    }

    @Test func limitsThatAreUsedUpAreNamed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<3).map { F.file("f\($0)") })
            try await fixture.queue.origins.setLimits(
                OriginLimitsChange(
                    origin: "http://origin.test", limits: OriginLimits(connections: 1)))
            let limit = CatalogWait.Reason.originLimit(origin: "http://origin.test", origins: 1)
            // A worker holds jobs and begins none.
            let grant = try await fixture.lease(1)
            try await beat(fixture, leases: [grant.lease ?? ""])
            try await keepYoung(fixture)
            #expect(try await reasons(fixture, catalog) == [])
            try await age(fixture, seconds: 5, workers: false)
            #expect(try await reasons(fixture, catalog) == [limit])
            try await beat(fixture, leases: [grant.lease ?? ""], active: 1)
            #expect(try await reasons(fixture, catalog) == [])
            // Another catalog has all of it.
            let other = try await fixture.submit([F.file("x")], catalog: "other")
            #expect(try await reasons(fixture, other).contains(limit))
        }
    }

    @Test func aSitesBandwidthIsNamed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease(1)
            try await beat(fixture, leases: [grant.lease ?? ""])
            try await age(fixture, seconds: 5, workers: false)
            // It may be at work on its own disk.
            #expect(try await reasons(fixture, catalog) == [])
            try await fixture.pool.query("UPDATE site SET bytes_per_second = 1000")
            #expect(try await reasons(fixture, catalog) == [.siteLimit])
        }
    }

    @Test func aQueueWithoutWorkersIsNamed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let queue = try await queueName(fixture)
            #expect(try await reasons(fixture, catalog) == [.noWorker(queue: queue, workers: 0)])
            try await beat(fixture, .random(), queues: ["another"])
            #expect(try await reasons(fixture, catalog) == [.noWorker(queue: queue, workers: 1)])
            let worker = WorkerID.random()
            try await beat(fixture, worker, queues: ["another", queue])
            #expect(try await reasons(fixture, catalog) == [])
            try await beat(fixture, worker, queues: [])
            #expect(try await reasons(fixture, catalog) == [.noWorker(queue: queue, workers: 2)])
            try await beat(fixture, worker)
            #expect(try await reasons(fixture, catalog) == [])
        }
    }

    @Test func aCatalogBehindOthersReportsThem() async throws {
        try await F.with { fixture in
            try await fixture.submit(
                (0..<5).map { F.file("f\($0)") }, catalog: "first", priority: 9)
            let behind = try await fixture.submit([F.file("x")], catalog: "second", priority: 1)
            let grant = try await fixture.lease(3)
            try await beat(fixture, leases: [grant.lease ?? ""], active: 3)
            #expect(grant.jobs.count == 3)
            #expect(try await reasons(fixture, behind) == [.otherCatalogs(1)])
            let queue = try await queueName(fixture)
            _ = try await fixture.queue.sites.set(.paused, ofQueue: queue)
            #expect(try await reasons(fixture, behind) == [.queuePaused(queue: queue)])
        }
    }

    @Test func aTransferThatWaitsForItsFirstByteIsRunning() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...4).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: 100)])
            var progress = TransferProgress()
            progress.waiting = 1
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: fixture.worker, leases: [grant.lease ?? ""],
                    progress: [grant.jobs[1].asset.description: progress], name: "w",
                    activeTransfers: 1))
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.active.map(\.id) == [grant.jobs[1].asset])
            #expect(status.active.map(\.bytes) == [0])
            #expect(status.active.map(\.expectedBytes) == [nil])
            // Nothing is known of its length: it is taken to be like the others.
            #expect(status.totals.receivingBytes == 0 && status.totals.expectedBytes == 400)
            #expect(
                try await fixture.queue.workers.clusterStatus().workers.map(\.activeTransfers) == [
                    1
                ])
        }
    }
}
