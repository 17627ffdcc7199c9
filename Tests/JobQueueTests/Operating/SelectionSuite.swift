import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What tests of selections have in common: files to submit, actions, and the counts afterwards.
protocol SelectionSuite {}

extension SelectionSuite {
    typealias F = QueueFixture

    /// Catalogs that share a directory would wait for each other's lists of digests.
    func files(
        _ range: ClosedRange<Int>, in directory: String = "files"
    ) -> [AssetSubmission] {
        range.map { number in
            AssetSubmission(
                name: "f\(number)", url: "http://origin.test/\(directory)/f\(number)",
                kind: .file, key: "origin.test/\(directory)/f\(number)")
        }
    }

    func apply(
        _ fixture: F, _ action: SelectionAction.Action, _ catalog: CatalogID?, asset: String? = nil,
        code: FailureCode? = nil, priority: Int? = nil
    ) async throws -> SelectionAnswer {
        let answer = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(
                action, catalog: catalog.map { CatalogReference($0) }, asset: asset,
                failureCode: code, priority: priority))
        try await fixture.fold()
        return answer
    }

    func heartbeat(_ fixture: F, _ grant: LeaseGrant) async throws -> HeartbeatAnswer {
        try await fixture.queue.jobs.leases.heartbeat(
            Heartbeat(
                worker: fixture.worker, leases: [grant.lease ?? ""], progress: [:], name: "n",
                activeTransfers: 0))
    }

    /// The counts of a catalog agree with its assets, and the queue holds nothing of what ended.
    func expectEnded(
        _ fixture: F, _ catalog: CatalogID, completed: Int, failed: Int, cancelled: Int = 0,
        as state: CatalogState? = nil
    ) async throws {
        try await fixture.drain()
        let status = try await fixture.queue.catalogs.status(of: catalog)
        let expected = failed > 0 ? CatalogState.failed : cancelled > 0 ? .cancelled : .completed
        #expect(status.state == state ?? expected)
        #expect(status.totals.cancelled == (cancelled > 0 ? cancelled : nil))
        #expect(status.totals.completed == completed && status.totals.failed == failed)
        let assets = try await fixture.assets(of: catalog)
        #expect(assets.count { $0.state == .completed } == completed)
        #expect(assets.count { $0.state == .failed } == failed)
        #expect(assets.count { $0.state == .cancelled } == cancelled)
        #expect(status.totals.segmentsDone == assets.reduce(0) { $0 + $1.segmentsDone })
        #expect(
            status.totals.segments == status.totals.segmentsDone + status.totals.segmentsFailed)
        #expect(try await fixture.count("job") == 0)
        #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        #expect(try await fixture.queue.sites.queues()[0].waiting == 0)
    }
}
