import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// When assets may begin, and until when their files are kept, by the database's clock.
@Suite struct RightsTests: SelectionSuite {
    /// Lets so many seconds pass: the times of all assets lie so much earlier.
    private func pass(_ seconds: Double, _ fixture: F) async throws {
        try await fixture.pool.query(
            """
            UPDATE asset SET not_before = not_before - make_interval(secs => $1),
                expires_at = expires_at - make_interval(secs => $1),
                kept_until = kept_until - make_interval(secs => $1),
                completed_at = completed_at - make_interval(secs => $1),
                changed_at = changed_at - make_interval(secs => $1)
            """, [.double(seconds)])
        try await fixture.queue.files.purges.applyRights()
    }

    private func now(_ fixture: F) async throws -> Double {
        try #require(
            try await fixture.pool.query("SELECT extract(epoch FROM now())::float8").firstRow
        ).double(0)
    }

    private func status(
        _ fixture: F, _ name: String, of catalog: CatalogID
    ) async throws -> AssetStatus {
        try #require(try await fixture.assets(of: catalog).first { $0.name == name })
    }

    private func submit(
        _ fixture: F, _ assets: [AssetSubmission], expiresAt: Double? = nil,
        keepSeconds: Double? = nil
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: "movies", storageURL: F.site)
        (submission.expiresAt, submission.keepSeconds) = (expiresAt, keepSeconds)
        let handle = try await fixture.queue.catalogs.submissions.open(submission)
        try await fixture.queue.catalogs.submissions.add(
            assets, to: handle.id, generation: handle.generation)
        try await fixture.queue.catalogs.submissions.start(handle.id, generation: handle.generation)
        return handle.id
    }

    @Test func anAssetIsNotLeasedBeforeItMayBegin() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var assets = files(1...2)
            assets[1].notBefore = now + 3_600
            let catalog = try await submit(fixture, assets)
            #expect(try await status(fixture, "f2", of: catalog).notBefore == now + 3_600)
            let grant = try await fixture.lease()
            #expect(grant.jobs.map { $0.key.suffix(2) } == ["f1"])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            // A second before.
            try await pass(3_590, fixture)
            #expect(try await fixture.lease().jobs.isEmpty)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            try await pass(20, fixture)
            let later = try await fixture.lease()
            #expect(later.jobs.map { $0.key.suffix(2) } == ["f2"])
            #expect(try await status(fixture, "f2", of: catalog).notBefore == nil)
            _ = try await fixture.report(later.jobs.map { F.done($0, later) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func filesAreDeletedWhenTheirRightsExpire() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            var assets = files(1...3)
            assets[0].expiresAt = now + 100
            assets[2].expiresAt = now + 1_000
            // The earlier one of the asset's and the catalog's holds.
            let catalog = try await submit(fixture, assets, expiresAt: now + 500)
            try await fixture.drain()
            #expect(try await status(fixture, "f3", of: catalog).expiresAt == now + 500)
            try await pass(90, fixture)
            #expect(try await RemovalTests.purge(fixture) == [])
            try await pass(20, fixture)
            #expect(try await status(fixture, "f1", of: catalog).state == .expiring)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
            let expired = try await status(fixture, "f1", of: catalog)
            #expect(expired.state == .expired && expired.freedFiles == 1)
            try await pass(400, fixture)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/files/f2", "origin.test/files/f3",
                ])
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .removed)

            // With a time that has passed nothing is fetched; with a later one it is.
            let again = try await submit(fixture, [assets[0]], expiresAt: now - 10)
            let refused = try await status(fixture, "f1", of: again)
            #expect(refused.state == .failed && refused.failure?.code == .inputExpired)
            #expect(try await fixture.lease().jobs.isEmpty)
            // That is its end.
            #expect(try await fixture.queue.files.purges.applyRights() == 0)
            #expect(try await fixture.queue.catalogs.status(of: again).state == .failed)
            assets[0].expiresAt = now + 5_000
            _ = try await submit(fixture, [assets[0]])
            try await fixture.drain()
            #expect(try await status(fixture, "f1", of: again).state == .completed)
        }
    }

    @Test func aRunningAssetThatExpiresIsCancelledFirst() async throws {
        try await F.with { fixture in
            var assets = files(1...2)
            assets[0].expiresAt = try await now(fixture) + 100
            let catalog = try await submit(fixture, assets)
            let grant = try await fixture.lease()
            try await pass(101, fixture)
            // Its worker may just be storing it: for a lease and five seconds, less than a minute.
            #expect(try await status(fixture, "f1", of: catalog).state == .expiring)
            #expect(
                try await fixture.count(
                    """
                    unneeded_file
                    WHERE due_at < now() + interval '40 seconds' AND key LIKE 'origin.test/%'
                    """) == 1)
            #expect(try await heartbeat(fixture, grant).cancelled == [grant.jobs[0].id])
            #expect(try await RemovalTests.purge(fixture) == [])
            try await fixture.pool.query("UPDATE unneeded_file SET due_at = now()")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
            #expect(try await status(fixture, "f1", of: catalog).state == .expired)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await expectEnded(fixture, catalog, completed: 1, failed: 0)
        }
    }

    @Test func anAssetIsKeptForATimeFromItsFirstCompletionOn() async throws {
        try await F.with { fixture in
            var assets = files(1...2)
            assets[0].keepSeconds = 172_800
            let catalog = try await submit(fixture, assets, keepSeconds: 200_000)
            #expect(try await status(fixture, "f1", of: catalog).expiresAt == nil)
            try await fixture.drain()
            let kept = try #require(try await status(fixture, "f1", of: catalog).expiresAt)
            #expect(abs(kept - (try await now(fixture)) - 172_800) < 60)
            try await pass(172_000, fixture)
            // A check of what is stored does not extend it.
            _ = try await submit(fixture, assets, keepSeconds: 200_000)
            try await fixture.drain()
            #expect(try await status(fixture, "f1", of: catalog).state == .completed)
            try await pass(900, fixture)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f1"])
            try await pass(27_200, fixture)
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/f2"])
            #expect(try await status(fixture, "f2", of: catalog).state == .expired)
        }
    }

    @Test func theSitesTimeHoldsWhereItIsShorter() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit([F.file("first")], catalog: "other")
            var settings = SiteSettings(site: F.site)
            settings.keepSeconds = 60
            #expect(try await fixture.queue.sites.configure(settings).keepSeconds == 60)
            let catalog = try await submit(fixture, files(1...1), keepSeconds: 100)
            try await fixture.drain()
            try await pass(61, fixture)
            #expect(try await status(fixture, "f1", of: catalog).state == .expiring)
            // A limit that an asset gets later counts from its first completion too, not from a check.
            let later = try await submit(fixture, files(2...2))
            try await fixture.drain()
            try await pass(50, fixture)
            _ = try await submit(fixture, files(2...2), keepSeconds: 59)
            try await fixture.drain()
            #expect(try await status(fixture, "f2", of: later).state == .completed)
            try await pass(10, fixture)
            #expect(try await status(fixture, "f2", of: later).state == .expiring)
            settings.keepSeconds = 0
            #expect(try await fixture.queue.sites.configure(settings).keepSeconds == nil)
        }
    }

    @Test func aBoundedNumberOfSegmentsExpiresAtOnce() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let assets = files(1...3).map { file in
                var file = file
                file.expiresAt = now + 100
                return file
            }
            _ = try await submit(fixture, assets)
            try await fixture.drain()
            try await fixture.pool.query(
                "UPDATE asset SET expires_at = now(), segments = 15000, segments_done = 15000")
            #expect(try await fixture.queue.files.purges.applyRights() == 2)
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
        }
    }

    @Test func whateverHasEndedExpires() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let assets = files(1...5).map { file in
                var file = file
                file.expiresAt = now + 100
                return file
            }
            let catalog = try await submit(fixture, assets)
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant), F.failed(grant.jobs[1], grant, "origin.http.404"),
                F.done(grant.jobs[4], grant),
            ])
            _ = try await apply(fixture, .cancel, catalog, asset: "f3")
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await pass(101, fixture)
            #expect(try await status(fixture, "f1", of: catalog).state == .expiring)
            var again = assets[0]
            again.expiresAt = now + 1_000
            _ = try await submit(fixture, [again])
            try await RemovalTests.purge(fixture)
            #expect(try await status(fixture, "f1", of: catalog).state == .completed)
            try await pass(1_001, fixture)
            #expect(try await status(fixture, "f1", of: catalog).state == .expiring)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == ["origin.test/files/f1"])
            #expect(try await status(fixture, "f1", of: catalog).state == .expired)
            _ = try await submit(fixture, [again])
            try await fixture.expectSeen(EdgeTests.ofExpiry)
        }
    }
}
