import API
import Foundation
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Lists of sources that have changed, as workers hand them in.
@Suite struct SourceListTests: SelectionSuite {
    private func setSource(
        _ fixture: F, _ catalog: CatalogID, prunes: Bool = false
    ) async throws {
        var source = SourceSubmission(url: "http://origin.test/list", everySeconds: 3_600)
        source.prunes = prunes
        source.maxDropPercent = 100
        _ = try await fixture.queue.catalogs.sources.set(source, of: catalog)
    }

    private func lease(_ fixture: F, _ catalog: CatalogID) async throws -> LeaseID {
        let lease = LeaseID.random()
        let grant = try await fixture.queue.catalogs.sources.work.lease(
            catalog, WorkLeaseRequest(worker: fixture.worker, name: "reader", lease: lease))
        #expect(grant.work != nil)
        return lease
    }

    private func report(
        _ fixture: F, _ catalog: CatalogID, _ lease: LeaseID, assets: Int
    ) async throws {
        var report = SourceReport(worker: fixture.worker, lease: lease, result: .applied)
        report.sha256 = F.digest(of: "\(lease)")
        report.assets = Int64(assets)
        try await fixture.queue.catalogs.sources.work.report(catalog, report)
        try await fixture.fold()
    }

    /// Reads a list, batch by batch.
    private func read(
        _ fixture: F, _ catalog: CatalogID, _ batches: [[AssetSubmission]]
    ) async throws {
        _ = try await fixture.queue.catalogs.sources.readNow(catalog)
        let lease = try await lease(fixture, catalog)
        for batch in batches {
            try await fixture.queue.catalogs.sources.work.add(
                batch, to: catalog, worker: fixture.worker, lease: lease)
        }
        try await report(fixture, catalog, lease, assets: batches.joined().count)
    }

    /// Of all assets, also those that the last list does not name.
    private func states(
        _ fixture: F, _ catalog: CatalogID
    ) async throws -> [String: AssetState] {
        let rows = try await fixture.pool.query(
            "SELECT name, state FROM asset WHERE catalog_id = $1", [.int(catalog.rawValue)]
        ).rows
        return Dictionary(
            uniqueKeysWithValues: try rows.map { row in
                (
                    try row.string("name"),
                    try #require(AssetState(rawValue: try row.string("state")))
                )
            })
    }

    private func signed(_ name: String, _ signature: String) -> AssetSubmission {
        var asset = F.file(name)
        asset.url += "?X-Amz-Signature=\(signature)"
        asset.sidecars = [
            SidecarSubmission(
                url: "http://origin.test/subtitles/\(name)?X-Amz-Signature=\(signature)",
                key: "origin.test/subtitles/\(name)", role: .subtitles, required: true)
        ]
        return asset
    }

    @Test func whatIsGoneStaysGoneUnlessItsEntryIsNewOrAnotherOne() async throws {
        try await F.with { fixture in
            var expiring = F.file("expired")
            expiring.keepSeconds = 3_600
            let removed = signed("removed", "1")
            let first = [removed, F.file("evicted"), expiring, F.file("left"), F.file("kept")]
            let catalog = try await fixture.submit(first)
            try await setSource(fixture, catalog, prunes: true)
            try await fixture.drain()
            var eviction = SiteEviction(site: F.site)
            eviction.bytes = 1
            try await fixture.pool.query(
                "UPDATE asset SET wanted_at = now() - interval '1 day' WHERE name = 'evicted'")
            #expect(
                try await fixture.queue.files.evictions.evict(eviction).first.map(\.name) == [
                    "evicted"
                ])
            _ = try await apply(fixture, .remove, catalog, asset: "removed")
            try await fixture.pool.query(
                "UPDATE asset SET kept_until = now() WHERE name = 'expired'")
            try await fixture.queue.files.purges.applyRights()
            try await RemovalTests.purge(fixture)

            // Another signature is no other entry. One asset is new, one has left the list.
            let second = [signed("removed", "2"), F.file("evicted"), expiring, F.file("kept")]
            try await read(fixture, catalog, [second, [F.file("added")]])
            try await RemovalTests.purge(fixture)
            var seen = try await states(fixture, catalog)
            #expect(seen["removed"] == .removed && seen["evicted"] == .removed)
            #expect(seen["expired"] == .expired && seen["left"] == .removed)
            #expect(seen["kept"] == .completed && seen["added"] == .completed)

            // It is listed again, and two entries are others now.
            var longer = expiring
            longer.keepSeconds = 7_200
            var other = F.file("evicted")
            other.sha256 = F.digest(of: other.key)
            try await read(
                fixture, catalog,
                [[signed("removed", "3"), other, longer, F.file("left"), F.file("kept")]])
            try await RemovalTests.purge(fixture)
            seen = try await states(fixture, catalog)
            #expect(seen["removed"] == .removed)
            #expect(seen["evicted"] == .completed && seen["expired"] == .completed)
            #expect(seen["left"] == .completed && seen["added"] == .removed, "\(seen)")

            // Another sidecar makes another entry.
            var without = signed("removed", "4")
            without.sidecars = nil
            try await read(
                fixture, catalog, [[without, other, longer, F.file("left"), F.file("kept")]])
            try await fixture.drain()
            #expect(try await states(fixture, catalog)["removed"] == .completed)
        }
    }

    @Test func changedRightsOfASiteBringNothingBack() async throws {
        try await F.with { fixture in
            let list = [F.file("removed"), F.file("kept")]
            let catalog = try await fixture.submit(list)
            try await setSource(fixture, catalog)
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog, asset: "removed")
            try await RemovalTests.purge(fixture)
            var settings = SiteSettings(site: F.site)
            settings.keepSeconds = 3_600
            settings.expiresAt = 4_102_444_800
            _ = try await fixture.queue.sites.configure(settings)
            try await read(fixture, catalog, [list])
            try await RemovalTests.purge(fixture)
            #expect(
                try await states(fixture, catalog) == ["removed": .removed, "kept": .completed])
        }
    }

    /// Who submits a list wants all of it.
    @Test func aSubmissionFetchesAgainWhatIsGone() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            _ = try await apply(fixture, .remove, catalog, asset: "a")
            try await RemovalTests.purge(fixture)
            try await fixture.submit([F.file("a")])
            try await fixture.drain()
            #expect(try await states(fixture, catalog) == ["a": .completed])
        }
    }

    @Test func aHalfReadListBlocksNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            try await fixture.drain()
            try await setSource(fixture, catalog)
            let dead = try await lease(fixture, catalog)
            var changed = F.file("a")
            changed.sha256 = F.digest(of: "another")
            try await fixture.queue.catalogs.sources.work.add(
                [changed, F.file("half")], to: catalog, worker: fixture.worker, lease: dead)
            // Its catalog is refreshed, and makes room.
            let refreshed = try await apply(fixture, .refresh, catalog)
            #expect(refreshed.assets == 2)
            _ = try await apply(fixture, .cancel, catalog)
            var eviction = SiteEviction(site: F.site)
            eviction.bytes = 1
            #expect(try await fixture.queue.files.evictions.evict(eviction).assets == 1)
            #expect(try await fixture.count("asset WHERE name = 'half' OR redefined") == 0)

            // Another reader begins anew.
            try await fixture.pool.query(
                "UPDATE source SET expires_at = now() - interval '1 second'")
            try await read(fixture, catalog, [[F.file("a"), F.file("b"), F.file("c")]])
            try await RemovalTests.purge(fixture)
            #expect(try await states(fixture, catalog)["half"] == nil)
            #expect(try await states(fixture, catalog)["c"] == .completed)
            #expect(try await fixture.count("source_batch") == 0)
            await #expect(throws: Failure.self) {
                try await report(fixture, catalog, dead, assets: 2)
            }
        }
    }

    /// A report whose answer was lost is sent again.
    @Test func aListIsAppliedOnce() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            try await setSource(fixture, catalog)
            let lease = try await lease(fixture, catalog)
            let none = await #expect(throws: Failure.self) {
                try await report(fixture, catalog, lease, assets: 1)
            }
            #expect(none?.code == .inputField)
            let generation = try await fixture.queue.catalogs.status(of: catalog).generation
            for _ in 0..<2 {
                try await fixture.queue.catalogs.sources.work.add(
                    [F.file("a"), F.file("b")], to: catalog, worker: fixture.worker, lease: lease)
            }
            // The start was committed, and the coordinator died before it ended the reading.
            try await fixture.pool.query(
                """
                CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''lost''; END';
                """)
            try await fixture.pool.query(
                """
                CREATE TRIGGER lose BEFORE UPDATE ON source FOR EACH ROW
                    WHEN (NEW.lease_id IS NULL) EXECUTE FUNCTION lose()
                """)
            await #expect(throws: Failure.self) {
                try await report(fixture, catalog, lease, assets: 2)
            }
            try await fixture.pool.query("DROP TRIGGER lose ON source")
            try await report(fixture, catalog, lease, assets: 2)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.generation == generation + 1 && status.totals.assets == 2)
            #expect(try await fixture.queue.catalogs.sources.status(of: catalog).result == .applied)
        }
    }

    @Test func aReadingThatCouldNotStartKeepsNoLaterOneWaiting() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            try await setSource(fixture, catalog)
            try await fixture.pool.query(
                """
                CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''rejected''; END';
                """)
            try await fixture.pool.query(
                """
                CREATE TRIGGER reject BEFORE UPDATE ON catalog FOR EACH ROW
                    WHEN (NEW.generation <> OLD.generation) EXECUTE FUNCTION reject()
                """)
            let lease = try await lease(fixture, catalog)
            try await fixture.queue.catalogs.sources.work.add(
                [F.file("a"), F.file("b")], to: catalog, worker: fixture.worker, lease: lease)
            await #expect(throws: Failure.self) {
                try await report(fixture, catalog, lease, assets: 2)
            }
            var failed = SourceReport(worker: fixture.worker, lease: lease, result: .failed)
            failed.failure = Failure(.clusterBusy, "the catalog was not started")
            try await fixture.queue.catalogs.sources.work.report(catalog, failed)
            try await fixture.pool.query("DROP TRIGGER reject ON catalog")

            try await read(fixture, catalog, [[F.file("a"), F.file("b")]])
            try await fixture.drain()
            #expect(try await states(fixture, catalog)["b"] == .completed)
        }
    }

    @Test func aReadingThatIsRequestedDuringAnotherFollowsIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            try await setSource(fixture, catalog)
            let first = try await lease(fixture, catalog)
            _ = try await fixture.queue.catalogs.sources.readNow(catalog)
            func end(_ lease: LeaseID) async throws -> [CatalogID] {
                try await fixture.queue.catalogs.sources.work.report(
                    catalog,
                    SourceReport(worker: fixture.worker, lease: lease, result: .unchanged))
                return try await fixture.queue.catalogs.sources.called().map(\.id)
            }
            #expect(try await end(first) == [catalog])
            let second = try await lease(fixture, catalog)
            #expect(try await end(second).isEmpty)
        }
    }
}
