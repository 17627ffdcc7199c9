import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Files that workers stored of jobs that were taken away from them: nothing of these is ever reported.
@Suite struct UnreportedFilesTests: SelectionSuite {
    /// Lets workers store nothing more.
    private func settle(_ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
        _ = try await fixture.queue.files.purges.reconcile()
    }

    private func state(
        _ fixture: F, _ name: String, of catalog: CatalogID
    ) async throws -> AssetState? {
        try await fixture.assets(of: catalog).first { $0.name == name }?.state
    }

    @Test(arguments: [true, false])
    func goWithTheirCatalogAfterAnInterruptionOrACancellation(isInterrupted: Bool) async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            let grant = try await fixture.lease(3)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            if isInterrupted {
                try await fixture.queue.catalogs.submissions.interrupt(catalog)
                // Its worker stops, and keeps what it has received.
                let answer = try await heartbeat(fixture, grant)
                #expect(answer.paused == grant.jobs.dropFirst().map(\.id))
            } else {
                _ = try await apply(fixture, .cancel, catalog)
            }
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.stale])

            _ = try await apply(fixture, .remove, catalog)
            // Of what no worker held nothing is stored.
            #expect(try await state(fixture, "f4", of: catalog) == .removed)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
            #expect(try await state(fixture, "f2", of: catalog) == .removing)
            try await settle(fixture)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/files/f2", "origin.test/files/f3",
                ])
            #expect(try await state(fixture, "f2", of: catalog) == .removed)
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    /// What is fetched after all stays, and nothing is known of it twice.
    @Test func stayWhenTheirCatalogIsResumed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            _ = try await fixture.lease(2)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await fixture.count("unneeded_file") == 2)
            try await fixture.submit(files(1...2))
            try await fixture.drain()
            try await settle(fixture)
            #expect(try await RemovalTests.purge(fixture).isEmpty)
            #expect(try await fixture.count("unneeded_file") == 0)
            #expect(try await state(fixture, "f1", of: catalog) == .completed)
        }
    }

    @Test func goWhenTheirAssetGetsAnotherKey() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let grant = try await fixture.lease(1)
            try await fixture.submit(files(1...1, in: "others"))
            #expect(try await heartbeat(fixture, grant).paused == grant.jobs.map(\.id))
            try await fixture.drain()
            #expect(try await state(fixture, "f1", of: catalog) == .completed)
            try await settle(fixture)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
        }
    }

    @Test func ofALostWorkerGoWithTheirCatalog() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            _ = try await fixture.lease(1)
            try await fixture.expireLeases()
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            _ = try await apply(fixture, .remove, catalog)
            try await settle(fixture)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
        }
    }

    /// A worker that sends a large file to a bucket meanwhile does not publish it.
    @Test func areNotStoredAfterTheRemoval() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let grant = try await fixture.lease(1)
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.pool.query(
                "UPDATE asset SET changed_at = now() - interval '1 hour'")
            _ = try await apply(fixture, .remove, catalog)
            #expect(try await heartbeat(fixture, grant).cancelled == grant.jobs.map(\.id))
            #expect(try await RemovalTests.purge(fixture).isEmpty)
            try await settle(fixture)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
        }
    }
}
