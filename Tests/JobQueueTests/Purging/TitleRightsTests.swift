import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Titles whose rights expire before they may begin.
@Suite struct TitleRightsTests: SelectionSuite {
    private func now(_ fixture: F) async throws -> Double {
        try #require(
            try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
        ).double(0)
    }

    private static func dash(_ name: String) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://origin.test/\(name)/main.mpd", kind: .dash,
            key: "origin.test/\(name)/main.mpd")
    }

    /// Lists the segments of the one title whose manifest a worker holds.
    private func resolve(
        _ fixture: F, _ grant: LeaseGrant, _ count: Int
    ) async throws -> [ReportAnswer.Verdict] {
        let batch = TitleTests.batch(fixture, grant, TitleTests.segments(count))
        #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
        var report = F.done(grant.jobs[0], grant)
        report.segments = count
        return try await fixture.report([report])
    }

    private func expectRejected(
        _ fixture: F, _ catalog: CatalogID, segments: Int = 0
    ) async throws {
        let asset = try await fixture.assets(of: catalog)[0]
        #expect(asset.state == .failed && asset.failure?.code == .inputRights)
        #expect(asset.segments == segments && asset.segmentsDone == 0)
        #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
        #expect(try await fixture.count("job") == 0)
        #expect(try await fixture.count("delayed_job WHERE kind <> 'checksums'") == 0)
    }

    /// Seconds from the end of the rights to the start.
    @Test(arguments: [0.0, 1_000])
    func aNewTitleIsRejected(_ late: Double) async throws {
        try await F.with { fixture in
            let end = try await now(fixture) + 1_000
            var titles = [F.title("own"), Self.dash("catalogs"), F.title("later"), F.title("free")]
            for index in 0...2 { titles[index].expiresAt = end }
            titles[0].notBefore = end + late
            titles[2].expiresAt = end + late + 1
            let catalog = try await fixture.submit(titles, notBefore: end + late)
            let assets = try await fixture.assets(of: catalog)
            #expect(assets.map(\.state) == [.failed, .failed, .resolving, .resolving])
            #expect(assets.prefix(2).allSatisfy { $0.failure?.code == .inputRights })
            #expect(try await fixture.count("job WHERE kind = 'resolve'") == 2)
            // The site's start counts as the catalog's does.
            var settings = SiteSettings(site: F.site)
            settings.notBefore = end + late
            _ = try await fixture.queue.sites.configure(settings)
            titles[0].notBefore = nil
            try await fixture.submit(titles)
            let again = try await fixture.assets(of: catalog)
            #expect(again.map(\.state) == [.failed, .failed, .resolving, .resolving])
            settings.notBefore = 0
            _ = try await fixture.queue.sites.configure(settings)
            try await fixture.submit(titles)
            #expect(try await fixture.assets(of: catalog).allSatisfy { $0.state == .resolving })
        }
    }

    @Test func aTitleWhoseManifestIsReadIsRejected() async throws {
        try await F.with { fixture in
            let end = try await now(fixture) + 1_000
            var title = F.title("t")
            title.expiresAt = end
            let catalog = try await fixture.submit([title])
            let grant = try await fixture.lease()
            let batch = TitleTests.batch(fixture, grant, TitleTests.segments(2))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            try await fixture.submit([title], notBefore: end)
            try await expectRejected(fixture, catalog)
            // What its worker has read of it comes too late.
            #expect(try await heartbeat(fixture, grant).paused == grant.jobs.map(\.id))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .stale)
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.stale])
            try await expectRejected(fixture, catalog)

            try await fixture.submit([title])
            let second = try await fixture.lease()
            #expect(second.jobs.map(\.kind) == [.resolve])
            #expect(try await resolve(fixture, second, 3) == [.accepted])
            try await expectEnded(fixture, catalog, completed: 1, failed: 0)
            #expect(try await fixture.assets(of: catalog)[0].segments == 3)
        }
    }

    /// Its stored files count as failed, and are deleted at the end of its rights.
    @Test func aTitleThatIsPartlyStoredIsRejected() async throws {
        try await F.with { fixture in
            let end = try await now(fixture) + 1_000
            var title = Self.dash("t")
            title.expiresAt = end
            let catalog = try await fixture.submit([title])
            #expect(try await resolve(fixture, try await fixture.lease(), 4) == [.accepted])
            let first = try await fixture.lease(2)
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            let held = try await fixture.lease(1)
            for _ in 1...2 {
                try await fixture.submit([title], notBefore: end + 1)
                try await expectRejected(fixture, catalog, segments: 2)
            }
            #expect(try await heartbeat(fixture, held).paused == held.jobs.map(\.id))
            #expect(try await fixture.report([F.done(held.jobs[0], held)]) == [.stale])
            let refused = try await apply(fixture, .retry, catalog).refused
            #expect(refused?.assets == 1 && refused?.reason.contains("expiresAt") == true)

            // Once it may begin, what is stored is kept.
            try await fixture.submit([title])
            let rest = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(rest.map(\.key) == ["cdn.test/t/2.ts", "cdn.test/t/3.ts"])
            try await expectEnded(fixture, catalog, completed: 1, failed: 0)

            // A check may be late; what is complete stays until its rights expire.
            try await fixture.submit([title], notBefore: end)
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.inProgress])
        }
    }

    @Test func whatARejectedTitleHasStoredIsDeletedWithItsRights() async throws {
        try await F.with { fixture in
            let end = try await now(fixture) + 1_000
            var title = F.title("t")
            title.expiresAt = end
            let catalog = try await fixture.submit([title])
            #expect(try await resolve(fixture, try await fixture.lease(), 2) == [.accepted])
            let first = try await fixture.lease(1)
            _ = try await fixture.report([F.done(first.jobs[0], first)])
            try await fixture.submit([title], notBefore: end)
            try await expectRejected(fixture, catalog, segments: 1)
            try await fixture.drain()
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            try await fixture.pool.query("UPDATE asset SET expires_at = now() - interval '1 s'")
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expiring])
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            #expect(try await RemovalTests.purge(fixture) == [first.jobs[0].key])
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.expired])
        }
    }

    /// It is stored already, and its files end with its rights.
    @Test func aTitleThatIsRefreshedIsNotRejected() async throws {
        try await F.with { fixture in
            let end = try await now(fixture) + 1_000
            var title = F.title("t")
            title.expiresAt = end
            let catalog = try await fixture.submit([title])
            #expect(try await resolve(fixture, try await fixture.lease(), 2) == [.accepted])
            try await expectEnded(fixture, catalog, completed: 1, failed: 0)
            #expect(try await apply(fixture, .refresh, catalog).assets == 1)
            let grant = try await fixture.lease()
            try await fixture.submit([title], notBefore: end)
            #expect(try await fixture.assets(of: catalog).map(\.state) == [.refreshing])
            #expect(try await heartbeat(fixture, grant).paused?.isEmpty ?? true)
        }
    }
}
