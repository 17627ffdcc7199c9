import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// Interrupted bodies of assets of which nothing is fetched any more.
@Suite struct InterruptedBodyTests {
    private typealias C = Cluster
    private static let path = ResumeTests.path

    /// A paused catalog of a file whose transfer a worker has interrupted; its worker has stopped.
    private func interrupted(_ cluster: C) async throws -> CatalogID {
        let gate = Gate()
        cluster.origin.route(Self.path) { request in
            request.serve(ResumeTests.body, etag: "\"v1\"").held(after: ResumeTests.cut, at: gate)
        }
        let first = try cluster.startWorker(drainSeconds: 0)
        let catalog = try await cluster.submit([try cluster.file(Self.path)])
        try await gate.waitUntilReached()
        try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
            first.service.core.held.progress().byAsset.values.contains {
                $0.receivedBytes >= ResumeTests.cut
            }
        }
        try await first.drain()
        gate.open()
        _ = try await cluster.client.apply(
            SelectionAction(.pause, catalog: CatalogReference(catalog)))
        #expect(try bodies(cluster).count == 2)
        return catalog
    }

    private func bodies(_ cluster: C) throws -> [String] {
        try cluster.temporaryFiles().filter {
            $0.hasPrefix(".dray/tmp/") || $0.hasPrefix(".dray/partial/")
        }
    }

    @Test func goWithTheirAssetAndCountAsFreed() async throws {
        try await C.with(workers: 0) { cluster in
            let catalog = try await interrupted(cluster)
            let body = try #require(try bodies(cluster).first { $0.hasPrefix(".dray/tmp/") })
            let bytes = try cluster.edge.read(body).count
            _ = try await cluster.client.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .removed)
            #expect(try bodies(cluster).isEmpty)
            let totals = try await cluster.client.status(of: catalog).totals
            #expect(totals.freedFiles == 1 && totals.freedBytes == Int64(bytes))
        }
    }

    private func leftovers(
        _ cluster: C, repair: Bool
    ) async throws -> SiteAuditStatus.Count {
        var status = try await cluster.client.create(
            SiteAuditSubmission(
                site: "file://\(cluster.edge.path)", isDeep: false, repairs: repair))
        try await waitUntil(deadlineSeconds: 60, "the end of an audit") {
            status = try await cluster.client.siteAudit(status.id)
            return status.state.hasEnded
        }
        return status[.leftover]
    }

    @Test func anAuditNamesThoseOfCancelledAssets() async throws {
        try await C.with(workers: 0) { cluster in
            let catalog = try await interrupted(cluster)
            try cluster.startWorker()
            // It may be resumed.
            #expect(try await leftovers(cluster, repair: true).found == 0)
            _ = try await cluster.client.apply(
                SelectionAction(.cancel, catalog: CatalogReference(catalog)))
            // Housekeeping deletes leases without jobs; until then their files count as in use.
            var named = SiteAuditStatus.Count(kind: .leftover, found: 0, repaired: 0)
            try await waitUntil(deadlineSeconds: 60, "the end of the lease") {
                named = try await leftovers(cluster, repair: false)
                return named.found > 0
            }
            #expect(named.found == 1 && named.repaired == 0)
            #expect((named.bytes ?? 0) >= Int64(ResumeTests.cut))
            #expect(try bodies(cluster).count == 2)
            #expect(try await leftovers(cluster, repair: true).repaired == 1)
            #expect(try bodies(cluster).isEmpty)
        }
    }
}
