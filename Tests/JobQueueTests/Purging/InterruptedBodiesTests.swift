import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Interrupted bodies of removed assets: a worker looks for them once for each removal.
@Suite struct InterruptedBodiesTests: SelectionSuite {
    private static let entries = "unneeded_file WHERE key = '.dray/partial'"

    /// Removes an interrupted catalog, whose worker stores nothing more.
    private func remove(_ fixture: F, _ catalog: CatalogID) async throws {
        try await fixture.queue.catalogs.submissions.interrupt(catalog)
        try await fixture.pool.query("UPDATE asset SET changed_at = now() - interval '1 hour'")
        _ = try await apply(fixture, .remove, catalog)
    }

    private func freed(_ fixture: F, _ catalog: CatalogID) async throws -> [Int64] {
        let totals = try await fixture.queue.catalogs.status(of: catalog).totals
        return [Int64(totals.freedFiles ?? 0), totals.freedBytes ?? 0]
    }

    @Test func areFreedWithTheirCatalog() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await remove(fixture, catalog)
            #expect(try await fixture.count(Self.entries) == 1)
            let assets = try await fixture.assets(of: catalog)
            let waiting = try #require(assets.first { $0.name == "f2" })
            let bodies = [
                PurgeRequest.FreedBodies(asset: waiting.id, files: 2, bytes: 5_000),
                // Of other catalogs, or of too many assets.
                PurgeRequest.FreedBodies(asset: AssetID(0), files: 1, bytes: 7),
            ]
            #expect(
                try await RemovalTests.purge(fixture, bodies: bodies) == ["origin.test/files/f1"])
            #expect(try await freed(fixture, catalog) == [4, 5_017])
            let removed = try await fixture.assets(of: catalog).first { $0.name == "f2" }
            #expect(removed?.state == .removed)
            #expect(removed?.freedFiles == 2 && removed?.freedBytes == 5_000)
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    /// Nothing was stored: the removal waits for a worker nevertheless.
    @Test func areLookedForWhereNothingIsStored() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await remove(fixture, catalog)
            #expect(try await fixture.count("asset WHERE is_purging") == 1)
            let asset = try #require(try await fixture.assets(of: catalog).first?.id)
            let bodies = [PurgeRequest.FreedBodies(asset: asset, files: 1, bytes: 9)]
            #expect(try await RemovalTests.purge(fixture, bodies: bodies) == [])
            #expect(try await freed(fixture, catalog) == [1, 9])
            #expect(try await fixture.count("asset WHERE state = 'removed'") == 2)
        }
    }

    /// A worker that was receiving one may still be keeping it.
    @Test func areLookedForOnceWorkersHaveStopped() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            _ = try await apply(fixture, .remove, catalog)
            let soon = "due_at <= now() + interval '1 second'"
            #expect(try await fixture.count("unneeded_file WHERE \(soon)") == 1)
            #expect(try await fixture.count("\(Self.entries) AND NOT \(soon)") == 1)
        }
    }

    @Test func areNotLookedForWhereThereAreNone() async throws {
        try await F.with { fixture in
            // Complete ones, and short ones, of which nothing is kept.
            let complete = try await fixture.submit(files(1...2), catalog: "complete")
            try await fixture.drain()
            var short = F.file("short")
            short.bytes = 1_000
            let second = try await fixture.submit([short], catalog: "short")
            _ = try await apply(fixture, .remove, complete)
            try await remove(fixture, second)
            #expect(try await fixture.count(Self.entries) == 0)
        }
    }

    /// A repeated report counts once, and one that failed is tried again.
    @Test func countOnce() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await remove(fixture, catalog)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            let page = try await fixture.queue.files.purges.next(request)
            let entry = try #require(page.bodies?.first)
            #expect(page.files.isEmpty && page.bodies?.count == 1)
            request.results = [
                PurgeRequest.Result(
                    file: entry, deleted: false, failure: Failure(.storageIO, "EIO"))
            ]
            let next = try await fixture.queue.files.purges.next(request)
            #expect(next.bodies == nil && (next.waitSeconds ?? 0) > 20)
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            request.results = []
            #expect(try await fixture.queue.files.purges.next(request).bodies == [entry])
            request.results = [PurgeRequest.Result(file: entry, deleted: true)]
            request.freed = [PurgeRequest.FreedBodies(asset: job.asset, files: 1, bytes: 10)]
            for _ in 1...2 { _ = try await fixture.queue.files.purges.next(request) }
            #expect(try await freed(fixture, catalog) == [1, 10])
        }
    }

    /// Only a lease that holds the job gets to know which assets are gone.
    @Test func thoseOfOtherAssetsStay() async throws {
        try await F.with { fixture in
            let kept = try await fixture.submit(files(2...2), catalog: "kept")
            try await fixture.queue.catalogs.submissions.interrupt(kept)
            let catalog = try await fixture.submit(files(1...1))
            try await remove(fixture, catalog)
            let gone = try #require(try await fixture.assets(of: catalog).first?.id)
            let other = try #require(try await fixture.assets(of: kept).first?.id)
            let grant = try await fixture.lease()
            let job = try #require(grant.jobs.first)
            var request = PurgeRequest(
                worker: fixture.worker, job: job.id, lease: grant.lease ?? "")
            let forgotten = AssetID(99_999)
            request.assets = [other, gone, forgotten]
            let answer = try await fixture.queue.files.purges.next(request)
            #expect(answer.gone == [gone, forgotten] && answer.files.isEmpty)
            request.lease = .random()
            let failure = await #expect(throws: Failure.self) {
                try await fixture.queue.files.purges.next(request)
            }
            #expect(failure?.code == .workerLeaseLost)
        }
    }

    /// A file in parts counts as stored until a worker of the site has removed it.
    @Test func aFileInPartsCountsUntilItIsGone() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            try await fixture.pool.query(
                """
                INSERT INTO multipart_file (id, segment_id, site_id, total_bytes, validator, parts,
                                            attempt)
                SELECT gen_random_uuid(), s.id, 1, 700000, 'v', 2, 0 FROM segment s
                """)
            try await remove(fixture, catalog)
            #expect(try await fixture.queue.sites.list().sites.first?.usedBytes == 700_000)
            #expect(try await RemovalTests.purge(fixture) == [])
            #expect(try await fixture.queue.sites.list().sites.first?.usedBytes == 0)
            #expect(try await freed(fixture, catalog) == [1, 700_000])
        }
    }
}
