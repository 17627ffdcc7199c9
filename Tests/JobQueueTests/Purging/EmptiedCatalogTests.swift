import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// The state of a catalog after its last asset is gone.
@Suite struct EmptiedCatalogTests: SelectionSuite {
    enum Before: CaseIterable { case completed, failed, cancelled, interrupted, running }

    /// Submits two files and brings their catalog into a state, with one of them stored.
    private func bring(_ fixture: F, to before: Before) async throws -> CatalogID {
        let catalog = try await fixture.submit(files(1...2))
        let grant = try await fixture.lease()
        _ = try await fixture.report([F.done(grant.jobs[0], grant)])
        switch before {
        case .completed: _ = try await fixture.report([F.done(grant.jobs[1], grant)])
        case .failed:
            _ = try await fixture.report([F.failed(grant.jobs[1], grant, "origin.http.404")])
        case .cancelled: _ = try await apply(fixture, .cancel, catalog)
        case .interrupted: try await fixture.queue.catalogs.submissions.interrupt(catalog)
        case .running: return catalog
        }
        try await fixture.drain()
        return catalog
    }

    private func state(_ fixture: F, _ catalog: CatalogID) async throws -> CatalogState {
        let state = try await fixture.queue.catalogs.status(of: catalog).state
        let listed = try await fixture.queue.workers.clusterStatus().catalogs.first {
            $0.id == catalog
        }
        #expect(listed?.state == state)
        return state
    }

    @Test(arguments: Before.allCases)
    func isRemoved(before: Before) async throws {
        try await F.with { fixture in
            let catalog = try await bring(fixture, to: before)
            _ = try await apply(fixture, .remove, catalog)
            // Workers may still be storing what they held.
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog) == .removed)
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.assets == 0 && totals.completed == 0 && totals.failed == 0)
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.count("event WHERE kind = 'catalog.removed'") == 1)
            // What is submitted again is fetched again.
            try await fixture.submit(files(1...1))
            #expect(try await state(fixture, catalog) == .running)
            try await fixture.drain()
            #expect(try await state(fixture, catalog) == .completed)
        }
    }

    /// Its removal was under way when its submitter, or a private cluster, stopped.
    @Test func isRemovedIfItsRemovalWasInterrupted() async throws {
        try await F.with { fixture in
            let catalog = try await bring(fixture, to: .completed)
            _ = try await apply(fixture, .remove, catalog)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await state(fixture, catalog) == .interrupted)
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog) == .removed)
        }
    }

    @Test func isInterruptedWhileAnyAssetIsLeft() async throws {
        try await F.with { fixture in
            let catalog = try await bring(fixture, to: .interrupted)
            _ = try await apply(fixture, .remove, catalog, asset: "f1")
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog) == .interrupted)
        }
    }

    @Test func isRemovedAfterItsLastAssetHasExpired() async throws {
        try await F.with { fixture in
            var file = F.file("a")
            file.expiresAt = 4e9
            let catalog = try await fixture.submit([file])
            try await fixture.drain()
            try await fixture.pool.query("UPDATE asset SET expires_at = now() - interval '1 s'")
            _ = try await fixture.queue.files.purges.applyRights()
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog) == .removed)
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expired])
        }
    }

    /// Checksum files that failed are of no asset any more.
    @Test func isRemovedAlthoughItsChecksumFileHadFailed() async throws {
        try await F.with { fixture in
            let catalog = try await bring(fixture, to: .completed)
            try await fixture.pool.query(
                "UPDATE catalog SET state = 'failed', checksums_failed = 1 WHERE id = $1",
                [.int(catalog.rawValue)])
            _ = try await apply(fixture, .remove, catalog)
            try await RemovalTests.purge(fixture)
            #expect(try await state(fixture, catalog) == .removed)
        }
    }

    @Test func isForgotten() async throws {
        try await F.with { fixture in
            let catalog = try await bring(fixture, to: .completed)
            _ = try await apply(fixture, .remove, catalog)
            try await RemovalTests.purge(fixture)
            _ = try await apply(fixture, .forget, catalog)
            #expect(try await fixture.count("catalog") == 0)
        }
    }
}
