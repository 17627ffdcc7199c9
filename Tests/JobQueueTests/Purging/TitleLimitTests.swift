import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// How often, and at how many sites, a title may be.
@Suite struct TitleLimitTests: SelectionSuite {
    private static let month = FetchLimit(count: 2, periodSeconds: 2_592_000)

    private func file(
        _ name: String, fetches: FetchLimit? = nil, sites: Int? = nil, title: String? = nil
    ) -> AssetSubmission {
        var asset = F.file(name)
        (asset.maxFetches, asset.maxSites, asset.title) = (fetches, sites, title)
        return asset
    }

    /// Submits, fetches what it may, and returns the states and codes by name.
    @discardableResult
    private func fetch(
        _ fixture: F, _ assets: [AssetSubmission], catalog: String = "movies",
        site: String = F.site
    ) async throws -> [String: String] {
        let id = try await fixture.submit(assets, catalog: catalog, site: site)
        try await fixture.drain()
        return try await outcomes(fixture, id)
    }

    private func outcomes(_ fixture: F, _ catalog: CatalogID) async throws -> [String: String] {
        Dictionary(
            try await fixture.assets(of: catalog).map {
                ($0.name, $0.failure?.code.rawValue ?? $0.state.rawValue)
            }
        ) { first, _ in first }
    }

    private func remove(_ fixture: F, _ catalog: String, site: String = F.site) async throws {
        _ = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(
                .remove, catalog: CatalogReference(name: catalog, site: site)))
        try await RemovalTests.purge(fixture)
    }

    private func pass(_ seconds: Double, _ fixture: F) async throws {
        try await fixture.pool.query(
            """
            UPDATE title_fetch SET fetched_at = fetched_at - make_interval(secs => $1),
                counts_until = counts_until - make_interval(secs => $1)
            """, [.double(seconds)])
    }

    @Test func aTitleIsFetchedSoOftenInAPeriod() async throws {
        try await F.with { fixture in
            let begin = 1_790_000_000.0
            let clock = try await QueueClock(fixture, at: begin)
            let asset = file("a", fetches: Self.month)
            for _ in 0..<2 {
                #expect(try await fetch(fixture, [asset]) == ["a": "completed"])
                // A check of what is stored is no fetch.
                #expect(try await fetch(fixture, [asset]) == ["a": "completed"])
                try await remove(fixture, "movies")
            }
            #expect(try await fetch(fixture, [asset]) == ["a": "rights.maxFetches"])
            #expect(try await fixture.count("title_fetch") == 2)
            // A second before the end of the period, and at it.
            try await clock.set(begin + 2_591_999)
            #expect(try await fetch(fixture, [asset]) == ["a": "rights.maxFetches"])
            try await clock.set(begin + 2_592_000)
            let id = try await fixture.submit([asset])
            try await fixture.drain()
            #expect(try await outcomes(fixture, id) == ["a": "completed"])
            try await clock.set(begin + 2_592_001)
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("title_fetch") == 1)
        }
    }

    @Test func aRefusedTitleIsRetried() async throws {
        try await F.with { fixture in
            let once = FetchLimit(count: 1, periodSeconds: 100)
            // Two files of one licence.
            let assets = [
                file("a", fetches: once, title: "L1"), file("b", fetches: once, title: "L1"),
                file("c", fetches: once),
            ]
            let id = try await fixture.submit(assets)
            try await fixture.drain()
            #expect(
                try await outcomes(fixture, id) == [
                    "a": "completed", "b": "rights.maxFetches", "c": "completed",
                ])
            _ = try await apply(fixture, .retry, id)
            #expect(try await outcomes(fixture, id)["b"] == "rights.maxFetches")
            try await pass(101, fixture)
            _ = try await apply(fixture, .retry, id)
            try await fixture.drain()
            #expect(try await outcomes(fixture, id)["b"] == "completed")
            // Of another site it is another fetch.
            #expect(
                try await fetch(
                    fixture, [file("a", fetches: once, title: "L1")], site: "file:///srv/far")
                    == ["a": "completed"])
        }
    }

    /// Its file lies there until it is removed.
    @Test func aTitleWhoseCheckFailedIsAtItsSite() async throws {
        try await F.with { fixture in
            let asset = file("a", sites: 1)
            try await fetch(fixture, [asset])
            try await fixture.submit([asset])
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            let far = "file:///srv/far"
            #expect(try await fetch(fixture, [asset], site: far) == ["a": "rights.maxSites"])
            try await remove(fixture, "movies")
            #expect(try await fetch(fixture, [asset], site: far) == ["a": "completed"])
        }
    }

    /// A submission between a removal and its deletions is rejected: it keeps no file.
    @Test(arguments: [false, true])
    func whatWasToBeDeletedIsDeletedAfterARejection(isHeld: Bool) async throws {
        try await F.with { fixture in
            let asset = file("a", fetches: FetchLimit(count: 1, periodSeconds: 1_000))
            #expect(try await fetch(fixture, [asset]) == ["a": "completed"])
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .remove, catalog: CatalogReference(name: "movies", site: F.site)))
            let id = try await fixture.submit([asset])
            #expect(try await outcomes(fixture, id) == ["a": "rights.maxFetches"])
            try await fixture.pool.query(
                "UPDATE unneeded_file SET due_at = \(isHeld ? "'infinity'" : "now()")")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await RemovalTests.purge(fixture) == ["origin.test/files/a"])
            #expect(try await fixture.count("unneeded_file") == 0)
        }
    }

    @Test func theStrictestOfAssetCatalogAndSiteHolds() async throws {
        try await F.with { fixture in
            try await fetch(fixture, [F.file("x")], catalog: "other")
            var settings = SiteSettings(site: F.site)
            settings.maxFetches = FetchLimit(count: 1, periodSeconds: 100)
            settings.maxSites = 2
            let status = try await fixture.queue.sites.configure(settings)
            #expect(status.maxFetches == settings.maxFetches && status.maxSites == 2)
            let asset = file("a", fetches: Self.month, sites: 3)
            #expect(try await fetch(fixture, [asset]) == ["a": "completed"])
            try await remove(fixture, "movies")
            #expect(try await fetch(fixture, [asset]) == ["a": "rights.maxFetches"])
            try await pass(101, fixture)
            #expect(try await fetch(fixture, [asset]) == ["a": "completed"])
            try await remove(fixture, "movies")
            try await pass(101, fixture)
            // Its own rule counts those of the month.
            #expect(try await fetch(fixture, [asset]) == ["a": "rights.maxFetches"])
            #expect(try await fixture.count("asset WHERE name = 'a' AND max_sites = 2") == 1)
            settings.maxFetches?.count = 0
            settings.maxSites = 0
            let none = try await fixture.queue.sites.configure(settings)
            #expect(none.maxFetches == nil && none.maxSites == nil)
        }
    }

    @Test func aTitleIsAtSoManySites() async throws {
        try await F.with { fixture in
            let asset = file("a", sites: 2)
            let sites = (1...3).map { "file:///srv/s\($0)" }
            // A copy without a limit counts.
            #expect(try await fetch(fixture, [F.file("a")], site: sites[0])["a"] == "completed")
            #expect(try await fetch(fixture, [asset], site: sites[1])["a"] == "completed")
            #expect(try await fetch(fixture, [asset], site: sites[2])["a"] == "rights.maxSites")
            // Where it is already it may be fetched again.
            #expect(
                try await fetch(fixture, [asset], catalog: "again", site: sites[1])["a"]
                    == "completed")
            // While workers delete it, it is there.
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .remove, catalog: CatalogReference(name: "movies", site: sites[0])))
            let id = try await fixture.submit([asset], site: sites[2])
            #expect(try await outcomes(fixture, id)["a"] == "rights.maxSites")
            try await RemovalTests.purge(fixture)
            _ = try await apply(fixture, .retry, id)
            try await fixture.drain()
            #expect(try await outcomes(fixture, id)["a"] == "completed")
        }
    }

    /// Wherever they are read: of an asset, of its event, and of a retry.
    @Test func rejectionsSayHowOftenAndWhere() async throws {
        try await F.with { fixture in
            let sites = "maxSites: the title is at 1 other site; allowed: 1 in all."
            let fetches = "maxFetches: the title was fetched 1 time within 1 day; allowed: 1."
            let once = FetchLimit(count: 1, periodSeconds: 86_400)
            try await fetch(fixture, [file("b", fetches: once)])
            try await remove(fixture, "movies")
            try await fetch(fixture, [F.file("a")], catalog: "kept")
            let near = try await fixture.submit([file("b", fetches: once)])
            let far = try await fixture.submit([file("a", sites: 1)], site: "file:///srv/far")
            for (catalog, sentence) in [(near, fetches), (far, sites)] {
                let assets = try await fixture.assets(of: catalog)
                #expect(assets.map(\.failure?.message) == [sentence])
                let answer = try await apply(fixture, .retry, catalog)
                #expect(answer.refused?.reason == sentence && answer.refused?.assets == 1)
                let events = try await EventTests.all(fixture, Events.Filter(catalog: catalog))
                let failed = events.filter { $0.kind.rawValue == "asset.failed" }
                #expect(!failed.isEmpty && failed.allSatisfy { $0.message == sentence })
            }
        }
    }

    @Test func aLicenceNamesOneTitleOfSeveralURLs() async throws {
        try await F.with { fixture in
            let first = try await fetch(
                fixture, [file("a", title: "L")], site: "file:///srv/s1")
            #expect(first == ["a": "completed"])
            let second = try await fetch(
                fixture, [file("b", sites: 1, title: "L")], site: "file:///srv/s2")
            #expect(second == ["b": "rights.maxSites"])
            let other = try await fetch(fixture, [file("c", sites: 1)], site: "file:///srv/s3")
            #expect(other == ["c": "completed"])
        }
    }

    /// Other POPs of an edge are no other site.
    @Test func anEdgeIsOneSite() async throws {
        try await F.with { fixture in
            let asset = file("a", sites: 1, title: "L")
            let edge = "cache:http://edge.test?pop="
            for pop in ["192.0.2.1", "192.0.2.2"] {
                let seen = try await fetch(fixture, [asset], site: edge + pop + ":80")
                #expect(Set(seen.values) == ["completed"], "\(seen)")
            }
            let elsewhere = try await fetch(fixture, [asset], site: "cache:http://other.test")
            #expect(Set(elsewhere.values) == ["rights.maxSites"])
        }
    }

    @Test func ofStartsAtTheSameTimeExactlySoManySucceed() async throws {
        try await F.with { fixture in
            let asset = file("a", fetches: FetchLimit(count: 1, periodSeconds: 60), sites: 3)
            var opened: [CatalogHandle] = []
            for number in 0..<6 {
                let handle = try await fixture.queue.catalogs.submissions.open(
                    CatalogSubmission(name: "c", storageURL: "file:///srv/s\(number)"))
                try await fixture.queue.catalogs.submissions.add(
                    [asset], to: handle.id, generation: handle.generation)
                opened.append(handle)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for handle in opened {
                    group.addTask {
                        try await fixture.queue.catalogs.submissions.start(
                            handle.id, generation: handle.generation)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.count("asset WHERE state = 'ready'") == 3)
            #expect(
                try await fixture.count("asset WHERE failure_code = 'rights.maxSites'") == 3)
            #expect(try await fixture.count("title_fetch") == 3)
        }
    }
}
