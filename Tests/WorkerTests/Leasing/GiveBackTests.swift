import API
import CoordinatorClient
import Model
import Storage
import TestSupport
import Testing
import Transfer

@testable import Worker

@Suite struct GiveBackTests {
    /// Near its end a lease is too short to begin anything; a heartbeat may save it all the same,
    /// and then its jobs must not be held for ever.
    @Test(arguments: [nil, StoredObject(bytes: 1, sha256: String(repeating: "a", count: 64))])
    func whatIsNotStartedIsGivenBack(known: StoredObject?) async throws {
        let edge = try TemporaryDirectory("edge")
        let worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:9"], token: .test,
                roots: SiteRoots(existing: [edge.path]),
                name: "w"))
        defer {
            worker.core.engine.shutdown()
            worker.core.client.shutdown()
            edge.remove()
        }
        let job = Job.fetch(1, "http://127.0.0.1:9/a", key: "h/a") {
            $0.previous = known.map { PreviousObject($0) }
        }
        worker.core.held.add("l", [job], at: SiteID(1), seconds: 30, askedAt: .now - .seconds(29))
        let site = LeasedSite(id: SiteID(1), storageURL: "file://\(edge.path)")
        let fetch = LeasedJob(job: job, lease: "l", site: site)
        await worker.fetching.fetcher.fetch([fetch], at: site, ended: [:])
        let reports = await worker.reporting.results.next(10)
        #expect(reports.map(\.outcome.kind) == [.returned] && reports.map(\.job) == [job.id])
        #expect(worker.core.held.pendingCount == 0)
    }
}
