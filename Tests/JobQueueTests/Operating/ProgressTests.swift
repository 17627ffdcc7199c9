import API
import JobQueue
import Model
import TestSupport
import Testing

@Suite struct ProgressTests {
    typealias F = QueueFixture

    @Test func runningTransfersShowBeforeTheirResults() async throws {
        try await F.with("progress") { fixture in
            let catalog = try await fixture.submit((1...4).map { F.file("f\($0)") })
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant, bytes: 100)])
            let second = grant.jobs[1].asset
            _ = try await fixture.queue.leases.heartbeat(
                Heartbeat(
                    worker: fixture.worker, leases: [grant.lease ?? ""],
                    progress: [
                        second.description: TransferProgress(
                            receivedBytes: 30, expectedBytes: 300, transfers: 1)
                    ], name: "w", activeTransfers: 1))
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.totals.bytes == 100 && status.totals.receivingBytes == 30)
            // Two are known, of 100 and 300 bytes; two are taken to be of 200.
            #expect(status.totals.expectedBytes == 800)
            #expect(status.active.map(\.id) == [second])
            #expect(status.active.map(\.bytes) == [30])
            #expect(status.active.map(\.expectedBytes) == [300])
            var brief = try await fixture.queue.catalogs.status(of: catalog, withActive: false)
            // Asked a moment later.
            brief.totals.seconds = status.totals.seconds
            #expect(brief.active.isEmpty && brief.totals == status.totals)

            // Its worker is gone: another resumes the body, and its bytes are not counted twice.
            try await fixture.expireLeases()
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.receivingBytes == 0)
            try await fixture.skipDelays()
            let other = WorkerID.random()
            let again = try await fixture.lease(4, as: other)
            _ = try await fixture.queue.leases.heartbeat(
                Heartbeat(
                    worker: other, leases: [again.lease ?? ""],
                    progress: [
                        second.description: TransferProgress(
                            receivedBytes: 40, expectedBytes: 300, transfers: 1)
                    ], name: "o", activeTransfers: 1))
            let after = try await fixture.queue.catalogs.status(of: catalog)
            #expect(after.totals.receivingBytes == 40 && after.totals.expectedBytes == 800)
            #expect(after.active.first { $0.id == second }?.bytes == 40)
        }
    }
}
