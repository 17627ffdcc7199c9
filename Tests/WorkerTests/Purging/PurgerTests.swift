import API
import CoordinatorClient
import FoundationEssentials
import HTTPServer
import Model
import Services
import Storage
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Worker

/// Deletions of a worker that stops.
@Suite struct PurgerTests {
    /// It reports what it has deleted before it gives the job back, and asks for no more.
    @Test func whatIsDeletedIsReportedBeforeTheJobIsGivenBack() async throws {
        let edge = try TemporaryDirectory("edge")
        try edge.write([1], to: "h/a")
        let requests = Mutex<[PurgeRequest]>([])
        let draining = Mutex<(@Sendable () -> Void)?>(nil)
        let server = try HTTPServer.start(.init(port: 0)) { request in
            guard
                let purge = try? JSONDecoder().decode(
                    PurgeRequest.self, from: Data(request.body))
            else { return .text(404, "not played") }
            requests.withLock { $0.append(purge) }
            draining.withLock { $0 }?()
            let page = PurgePage(files: [PurgePage.File(file: 7, key: "h/a")], waitSeconds: 0)
            return (try? .json(200, page)) ?? .text(500, "not JSON")
        }
        let worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:\(server.port)"], token: .test,
                roots: SiteRoots(existing: [edge.path]), name: "w", durability: .none))
        draining.withLock { $0 = { worker.core.draining.trigger() } }
        let lease = LeaseID.random()
        let job = Job(id: JobID(1), asset: AssetID(0), task: .purge)
        worker.core.held.add(lease, [job], at: SiteID(1), seconds: 30, askedAt: .now)
        let site = LeasedSite(id: SiteID(1), storageURL: "file://\(edge.path)")
        await worker.fetching.purger.purge(LeasedJob(job: job, lease: lease, site: site))
        let sent = requests.withLock { $0 }
        #expect(sent.map(\.results) == [[], [PurgeRequest.Result(file: 7, deleted: true)]])
        #expect(sent.map(\.isLast) == [nil, true])
        let reports = await worker.reporting.results.next(10)
        #expect(reports.map(\.outcome.kind) == [.returned])
        worker.core.engine.shutdown()
        worker.core.client.shutdown()
        await server.shutdown(graceSeconds: 0)
        edge.remove()
    }
}
