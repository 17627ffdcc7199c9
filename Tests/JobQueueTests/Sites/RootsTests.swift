import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Workers that may write to some sites only.
@Suite(.timeLimit(.minutes(2))) struct RootsTests {
    private static func lease(
        _ fixture: QueueFixture, roots: [String]?, refused: [SiteID]? = nil,
        queues: [String] = []
    ) async throws -> LeaseGrant {
        var request = LeaseRequest(
            worker: .random(), queues: queues, maxJobs: 10, waitMilliseconds: 0)
        request.roots = roots
        request.refusedSites = refused
        return try await fixture.queue.jobs.claims.lease(request, as: .random())
    }

    private static func beat(
        _ fixture: QueueFixture, _ worker: WorkerID = .random(), roots: [String]?,
        refused: [SiteID]? = nil
    ) async throws {
        var heartbeat = Heartbeat(
            worker: worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
        heartbeat.roots = roots
        heartbeat.refusedSites = refused
        _ = try await fixture.queue.jobs.leases.heartbeat(heartbeat)
    }

    /// Of few queues, which are kept in mind, and of many, which are looked up.
    @Test(arguments: [2, 12])
    func aWorkerGetsJobsOfSitesWithinItsRootsOnly(sites: Int) async throws {
        try await QueueFixture.with { fixture in
            for number in 0..<sites {
                try await fixture.submit(
                    [QueueFixture.file("a\(number)")], catalog: "c\(number)",
                    site: "file:///srv/site\(number)")
            }
            for roots in [["file:///srv/site"], ["file:///srv/site0/a"], ["file:///sr"], []] {
                #expect(try await Self.lease(fixture, roots: roots).jobs.isEmpty, "\(roots)")
            }
            let one = try await Self.lease(fixture, roots: ["file:///x", "file:///srv/site1"])
            #expect(one.site?.storageURL == "file:///srv/site1" && one.jobs.count == 1)
            #expect(try await Self.lease(fixture, roots: ["file:///srv/site1"]).jobs.isEmpty)
            var others: Set<String> = []
            for _ in 1..<sites {
                let grant = try await Self.lease(fixture, roots: ["file:///srv"])
                others.insert(try #require(grant.site).storageURL)
            }
            #expect(others.count == sites - 1 && !others.contains("file:///srv/site1"))
        }
    }

    @Test func aRefusedSiteIsLeftToOtherWorkers() async throws {
        try await QueueFixture.with { fixture in
            try await fixture.submit([QueueFixture.file("a")])
            let first = try await Self.lease(fixture, roots: nil)
            let job = try #require(first.jobs.first)
            _ = try await fixture.queue.jobs.reports.record(
                ReportRequest(
                    worker: fixture.worker,
                    results: [
                        JobReport(job: job.id, lease: first.lease ?? "", outcome: .returned())
                    ]))
            let site = [try #require(first.site).id]
            #expect(
                try await Self.lease(fixture, roots: ["file:///srv"], refused: site).jobs.isEmpty)
        }
    }

    @Test func aSubmissionThatNoWorkerMayWriteIsRefused() async throws {
        try await QueueFixture.with { fixture in
            // There is no worker yet: it waits.
            let early = try await fixture.submit(
                [QueueFixture.file("a")], site: "file:///srv/early")
            #expect(try await fixture.queue.catalogs.status(of: early).issue == nil)

            let worker = WorkerID.random()
            try await Self.beat(fixture, worker, roots: ["file:///srv/edge", "file:///mnt"])
            let failure = await #expect(throws: Failure.self) {
                try await fixture.submit([QueueFixture.file("a")], site: "file:///etc")
            }
            #expect(failure?.code == "storage.outsideRoots")
            #expect(failure?.message.contains("file:///etc was given") == true)
            #expect(failure?.message.contains("file:///srv/edge, file:///mnt") == true)
            #expect(try await fixture.count("site WHERE storage_url = 'file:///etc'") == 0)
            try await fixture.submit([QueueFixture.file("a")], site: "file:///srv/edge/a")

            // A waiting catalog reports why, until a worker connects that may write there.
            let issue = try await fixture.queue.catalogs.status(of: early).issue
            #expect(issue?.code == "storage.outsideRoots")
            #expect(issue?.message.contains("file:///srv/early lies outside") == true)
            // More of the same workers would not help.
            let load = try await fixture.queue.workers.load(ofQueue: nil)
            #expect(load.backlogs.map(\.isFaulty).sorted { $0 && !$1 } == [true, false])
            let other = WorkerID.random()
            try await Self.beat(fixture, other, roots: ["file:///srv/early"])
            #expect(try await fixture.queue.catalogs.status(of: early).issue == nil)
            // Nor may one write what a symlink leads out of.
            let row = try await fixture.pool.query(
                "SELECT id FROM site WHERE storage_url = 'file:///srv/early'"
            ).firstRow
            let site = SiteID(try #require(try row?.int64(0)))
            try await Self.beat(fixture, other, roots: ["file:///srv/early"], refused: [site])
            let refused = try await fixture.queue.catalogs.status(of: early).issue
            #expect(refused?.message.contains("a symlink on the way") == true)

            // Workers of a private cluster's previous run have gone.
            try await fixture.queue.workers.forgetWorkers()
            #expect(try await fixture.queue.catalogs.status(of: early).issue == nil)
            try await fixture.submit([QueueFixture.file("a")], site: "file:///etc")
        }
    }
}
