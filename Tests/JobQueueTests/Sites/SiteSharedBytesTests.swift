import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// A stored file counts once, however many assets have recorded it.
@Suite struct SiteSharedBytesTests: SelectionSuite {
    private func used(_ fixture: F) async throws -> Int64? {
        try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site }?.usedBytes
    }

    /// Counts what is shared, and compares with the longest record of each file.
    private func counted(_ fixture: F) async throws -> Int64? {
        try await fixture.pool.query("UPDATE site SET shared_due_at = now()")
        try await fixture.queue.sites.shared.count()
        let used = try await used(fixture)
        let stored = try await fixture.pool.query(
            """
            SELECT coalesce(sum(bytes), 0)::bigint FROM (
                SELECT key, max(bytes) AS bytes FROM (
                    SELECT s.key, r.bytes FROM segment s JOIN result r ON r.segment_id = s.id
                    WHERE r.done AND s.part = 0
                    UNION ALL
                    SELECT key, bytes FROM unneeded_file
                    UNION ALL
                    SELECT key, bytes FROM previous_file
                ) AS r GROUP BY key
            ) AS f
            """
        ).firstRow?.int64(0)
        #expect(used == stored)
        return used
    }

    private func store(
        _ fixture: F, _ range: ClosedRange<Int>, in catalog: String
    ) async throws -> CatalogID {
        let id = try await fixture.submit(files(range), catalog: catalog)
        try await fixture.drain()
        return id
    }

    private func set(
        _ fixture: F, quota: Int64, evict: EvictionOrder? = nil
    ) async throws {
        var settings = SiteSettings(site: F.site)
        settings.quotaBytes = quota
        settings.evict = evict
        _ = try await fixture.queue.sites.configure(settings)
    }

    @Test func aFileOfTwoCatalogsCountsUntilTheSecondIsRemoved() async throws {
        try await F.with { fixture in
            let first = try await store(fixture, 1...3, in: "first")
            #expect(try await counted(fixture) == 30)
            let second = try await store(fixture, 2...4, in: "second")
            #expect(try await counted(fixture) == 40)
            // The catalogs have the same sums as when they were counted.
            try await fixture.pool.query("UPDATE site SET shared_due_at = now(), shared_bytes = 7")
            try await fixture.queue.sites.shared.count()
            #expect(try await used(fixture) == 53)
            try await fixture.pool.query("UPDATE site SET shared_bytes = 20")

            _ = try await apply(fixture, .remove, first)
            #expect(try await used(fixture) == 40)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
            // Without another count, and with one.
            #expect(try await used(fixture) == 30)
            #expect(try await counted(fixture) == 30)

            _ = try await apply(fixture, .remove, second)
            #expect(try await used(fixture) == 30)
            #expect(try await RemovalTests.purge(fixture).count == 3)
            #expect(try await used(fixture) == 0)
            #expect(try await counted(fixture) == 0)
        }
    }

    @Test func filesOfTwoCatalogsThatGoTogetherAreGivenBack() async throws {
        try await F.with { fixture in
            let first = try await store(fixture, 1...3, in: "first")
            let second = try await store(fixture, 1...3, in: "second")
            let third = try await store(fixture, 4...5, in: "third")
            #expect(try await counted(fixture) == 50)
            _ = try await apply(fixture, .remove, first)
            _ = try await apply(fixture, .remove, second)
            #expect(try await counted(fixture) == 50)
            _ = try await RemovalTests.purge(fixture)
            #expect(try await counted(fixture) == 20)
            _ = try await apply(fixture, .remove, third)
            _ = try await RemovalTests.purge(fixture)
            #expect(try await counted(fixture) == 0)
        }
    }

    /// Of one catalog.
    @Test func aSegmentOfTwoTitlesCountsOnce() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.title("t"), F.title("u")])
            let grant = try await fixture.lease()
            for job in grant.jobs {
                let keys = ["origin.test/both.ts", job.key]
                let segments = keys.enumerated().map { ordinal, key in
                    ResolvedSegment(
                        ordinal: ordinal, url: "http://\(key)", key: key,
                        role: ordinal == 0 ? .media : .playlist)
                }
                let verdict = try await fixture.queue.jobs.segments.add(
                    SegmentBatch(
                        worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                        segments: segments))
                #expect(verdict == .accepted)
                var report = F.done(job, grant)
                report.segments = segments.count
                _ = try await fixture.report([report])
            }
            try await fixture.drain()
            #expect(try await counted(fixture) == 30)
        }
    }

    /// Before a site is paused, its files are counted.
    @Test func aQuotaIsNotUsedUpByFilesThatAreShared() async throws {
        try await F.with { fixture in
            _ = try await store(fixture, 1...3, in: "first")
            try await set(fixture, quota: 35)
            _ = try await store(fixture, 1...3, in: "second")
            #expect(try await used(fixture) == 60)
            try await fixture.queue.sites.closed.watch()
            let site = try #require(try await fixture.queue.sites.list().sites.first)
            #expect(site.fault == nil && site.usedBytes == 30)
            try await fixture.submit(files(4...4), catalog: "third")
            #expect(try await fixture.lease().site?.space?.quotaLeftBytes == 5)
            try await set(fixture, quota: 29)
            try await fixture.queue.sites.closed.watch()
            let full = try #require(try await fixture.queue.sites.list().sites.first)
            #expect(full.fault?.code == .storageQuota && full.usedBytes == 30)
        }
    }

    /// Before assets are evicted, files are counted.
    @Test func filesThatAreSharedEvictNothing() async throws {
        try await F.with { fixture in
            _ = try await store(fixture, 1...30, in: "first")
            _ = try await store(fixture, 1...30, in: "second")
            try await set(fixture, quota: 620, evict: .leastRecentlyWanted)
            #expect(try await used(fixture) == 600)
            #expect(try await fixture.queue.files.evictions.run() == 0)
            #expect(try await used(fixture) == 300)
            // From 600 bytes of 620 down to 540.
            _ = try await store(fixture, 31...60, in: "third")
            #expect(try await fixture.queue.files.evictions.run() == 6)
        }
    }
}
