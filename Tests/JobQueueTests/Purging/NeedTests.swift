import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// What keeps a file from being deleted, what does not, and keys that workers let go of.
@Suite struct NeedTests: SelectionSuite {
    private let file = "origin.test/files/f1"

    private func remove(_ fixture: F, _ catalog: CatalogID) async throws -> [String] {
        _ = try await apply(fixture, .remove, catalog)
        return try await RemovalTests.purge(fixture)
    }

    private func state(_ fixture: F, _ catalog: CatalogID) async throws -> AssetState? {
        try await fixture.assets(of: catalog).first?.state
    }

    @Test func theLastAssetThatWantedAFileTakesItAlong() async throws {
        try await F.with { fixture in
            let stored = try await fixture.submit(files(1...1), catalog: "stored")
            try await fixture.drain()
            let failed = try await fixture.submit(files(1...1), catalog: "failed")
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            #expect(try await remove(fixture, stored) == [])
            #expect(try await state(fixture, stored) == .removed)
            // Nothing is to be done for it until then.
            #expect(try await fixture.queue.files.purges.reconcile() == 0)
            #expect(try await remove(fixture, failed) == [file])
            #expect(try await state(fixture, failed) == .removed)
        }
    }

    @Test func aFileThatIsStoredAgainForAnotherAssetStays() async throws {
        try await F.with { fixture in
            let stored = try await fixture.submit(files(1...1), catalog: "stored")
            try await fixture.drain()
            let later = try await fixture.submit(files(1...1), catalog: "later")
            let grant = try await fixture.lease()
            _ = try await apply(fixture, .remove, stored)
            #expect(try await RemovalTests.purge(fixture) == [])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            #expect(try await fixture.queue.files.purges.reconcile() == 0)
            #expect(try await RemovalTests.purge(fixture) == [])
            #expect(try await fixture.count("unneeded_file") == 0)
            #expect(try await remove(fixture, later) == [file])
        }
    }

    /// Whoever takes a file over has it once, also in its catalog's first run.
    @Test func aFileThatIsTakenOverCountsOnce() async throws {
        try await F.with { fixture in
            func used() async throws -> Int64? {
                #expect(try await HistoryDatabase(pool: fixture.pool).storedMiscounts() == [])
                return try await fixture.queue.sites.list().sites.first?.usedBytes
            }
            var stored: [CatalogID] = []
            for name in ["one", "two"] {
                stored.append(try await fixture.submit(files(1...1), catalog: name))
                try await fixture.drain()
            }
            try await fixture.submit(files(1...1), catalog: "later")
            let grant = try await fixture.lease()
            #expect(try await used() == 20)
            for catalog in stored { _ = try await apply(fixture, .remove, catalog) }
            #expect(try await RemovalTests.purge(fixture) == [])
            #expect(try await used() == 10)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            #expect(try await used() == 10)
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    /// Its rights contradict each other, but they have not expired: what it has stored before stays.
    @Test func aRejectedAssetKeepsWhatItHasStored() async throws {
        try await F.with { fixture in
            let now = try #require(
                try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
            ).double(0)
            let other = try await fixture.submit(files(1...1), catalog: "other")
            try await fixture.drain()
            var assets = files(1...1)
            assets[0].expiresAt = now + 1_000
            let catalog = try await fixture.submit(assets)
            try await fixture.drain()
            try await fixture.submit(assets)
            _ = try await apply(fixture, .cancel, catalog)
            try await fixture.submit(assets, notBefore: now + 2_000)
            #expect(try await state(fixture, catalog) == .failed)
            #expect(try await remove(fixture, other) == [])
            #expect(try await state(fixture, other) == .removed)
            #expect(try await HistoryDatabase(pool: fixture.pool).storedMiscounts() == [])
            #expect(try await remove(fixture, catalog) == [file])
        }
    }

    @Test func aRefreshThatIsOverNeedsNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            let other = try await fixture.submit(files(2...2), catalog: "other")
            try await fixture.drain()
            // Handed in by a refresh that was cancelled since.
            try await fixture.pool.query(
                """
                INSERT INTO refreshed_file (asset_id, ordinal, origin, url, key, role, bytes,
                                            sha256, verified, staged)
                SELECT a.id, 0, 'http://origin.test', a.url, k.key, 'file', 1, repeat('0', 64),
                       false, 1
                FROM asset a JOIN catalog c ON c.id = a.catalog_id AND c.name = 'other',
                    (SELECT key FROM asset WHERE name = 'f1') AS k
                """)
            // Its files are to be checked.
            try await fixture.submit(files(2...2), catalog: "other")
            _ = try await apply(fixture, .pause, other)
            #expect(try await remove(fixture, catalog) == [file])
            _ = try await apply(fixture, .remove, other)
            #expect(try await fixture.count("refreshed_file") == 0)
        }
    }

    @Test func aSubmissionThatIsNotStartedTakesNothingAway() async throws {
        try await F.with { fixture in
            let first = try await fixture.submit(files(1...1), catalog: "first")
            try await fixture.submit(files(1...1), catalog: "second")
            try await fixture.drain()
            var moved = files(1...1)
            moved[0].key = "origin.test/files/moved"
            let opened = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "second", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                moved, to: opened.id, generation: opened.generation)
            #expect(try await remove(fixture, first) == [])
            // With its start the earlier file goes, once the new one is there.
            try await fixture.queue.catalogs.submissions.start(
                opened.id, generation: opened.generation)
            try await fixture.drain()
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == [file])
        }
    }

    @Test func whatATitleListedBeforeStaysWhileItIsReadAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            let title = try await fixture.submit([F.title("t")], catalog: "titles")
            try await fixture.pool.query(
                """
                INSERT INTO previous_file (asset_id, key, url, bytes, sha256)
                SELECT id, $1, url, 10, repeat('0', 64) FROM asset WHERE name = 't'
                """, [.text(file)])
            _ = try await apply(fixture, .pause, title)
            #expect(try await remove(fixture, catalog) == [])
            // It was cancelled: a worker may still be storing something of it.
            #expect(try await remove(fixture, title) == [])
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == [file])
        }
    }

    @Test func aWorkerThatGivesItsJobBackLetsGoOfTheKeys() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            let request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            #expect(try await fixture.queue.files.purges.next(request).files.count == 1)
            _ = try await fixture.report([
                JobReport(
                    job: job.id, lease: grant.lease ?? "", outcome: .returned(afterSeconds: nil))
            ])
            try await fixture.submit(files(1...1), catalog: "other")
            #expect(try await RemovalTests.purge(fixture) == [])
        }
    }

    @Test func keysOfALostWorkerAreFreeAfterATime() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            let request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            #expect(try await fixture.queue.files.purges.next(request).files.count == 1)
            try await fixture.expireLeases()
            try await fixture.pool.query("UPDATE queue SET state = 'paused'")
            for _ in 1...2 {
                _ = try await fixture.queue.files.purges.reconcile()
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.submit(files(1...1), catalog: "other")
                }
                #expect(failure?.code == .clusterBusy)
            }
            try await fixture.pool.query(
                "UPDATE unneeded_file SET lost_at = lost_at - interval '1 minute'")
            _ = try await fixture.queue.files.purges.reconcile()
            try await fixture.submit(files(1...1), catalog: "other")
        }
    }
}
