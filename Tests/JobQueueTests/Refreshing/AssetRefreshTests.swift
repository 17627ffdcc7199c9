import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that are refreshed after their own time, or because their list says that they have changed.
@Suite struct AssetRefreshTests {
    typealias F = QueueFixture

    private func file(
        _ name: String, every seconds: Double? = nil, modified: Double? = nil
    ) -> AssetSubmission {
        var asset = F.file(name)
        (asset.refreshSeconds, asset.modified) = (seconds, modified)
        return asset
    }

    private func states(_ fixture: F, _ catalog: CatalogID) async throws -> [String: AssetState] {
        Dictionary(
            uniqueKeysWithValues: try await fixture.assets(of: catalog).map { ($0.name, $0.state) })
    }

    /// As if so much time had passed.
    private func pass(_ seconds: Double, _ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE asset SET refresh_at = refresh_at - make_interval(secs => $1)",
            [.double(seconds)])
    }

    /// The files stay as they are.
    private func endRefresh(_ fixture: F, _ catalog: CatalogID) async throws {
        var cancel = SelectionAction(.cancel, catalog: CatalogReference(catalog))
        cancel.ofRefresh = true
        _ = try await fixture.queue.catalogs.selections.apply(cancel)
        try await fixture.fold()
        // SHA256SUMS.
        try await fixture.drain()
    }

    @Test func anAssetIsRefreshedAfterItsTime() async throws {
        try await F.with { fixture in
            let refreshes = fixture.queue.files.assetRefreshes
            let list = [file("hourly", every: 3_600), file("daily", every: 86_400), file("never")]
            let catalog = try await fixture.submit(list)
            try await pass(3_601, fixture)
            // Not while its catalog runs.
            #expect(try await refreshes.start() == 0)
            try await fixture.drain()
            #expect(try await refreshes.start() == 1)
            #expect(
                try await states(fixture, catalog)
                    == ["hourly": .refreshing, "daily": .completed, "never": .completed])
            #expect(try await fixture.lease().jobs.map(\.kind) == [.refresh])
            // It is due again after its time.
            try await endRefresh(fixture, catalog)
            #expect(try await refreshes.start() == 0)
            try await pass(3_601, fixture)
            #expect(try await refreshes.start() == 1)
            try await endRefresh(fixture, catalog)
            // Submitted without it, it is refreshed no more.
            try await fixture.submit([file("hourly"), file("daily"), file("never")])
            try await fixture.drain()
            try await pass(1_000_000, fixture)
            #expect(try await refreshes.start() == 0)
        }
    }

    /// Neither holds up the assets of others.
    @Test func whatCannotBeRefreshedIsLookedAtLater() async throws {
        try await F.with { fixture in
            let refreshes = fixture.queue.files.assetRefreshes
            let removed = try await fixture.submit([file("a", every: 3_600)], catalog: "removed")
            let opened = try await fixture.submit([file("b", every: 3_600)], catalog: "opened")
            try await fixture.drain()
            let interrupted = try await fixture.submit(
                [file("c", every: 3_600), file("d")], catalog: "interrupted")
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.catalogs.submissions.interrupt(interrupted)
            try await fixture.fold()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(removed)))
            try await RemovalTests.purge(fixture)
            _ = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "opened", storageURL: F.site))
            try await pass(3_601, fixture)
            #expect(try await refreshes.start() == 0)
            #expect(try await states(fixture, removed) == ["a": .removed])
            #expect(try await states(fixture, opened) == ["b": .completed])
            #expect(try await states(fixture, interrupted)["c"] == .completed)
            let later = "asset WHERE refresh_at > now() AND catalog_id = \(removed)"
            #expect(try await fixture.count(later) == 1)
        }
    }

    /// Coordinators look rarely, so a look repeats; but others of their chores wait meanwhile.
    @Test func aFullRoundIsRepeated() async throws {
        try await F.with { fixture in
            var refreshes = fixture.queue.files.assetRefreshes
            refreshes.catalogsPerRound = 1
            refreshes.postponedPerRound = 1
            for number in 1...7 {
                try await fixture.submit(
                    [file("d\(number)/f", every: 3_600)], catalog: "c\(number)")
            }
            try await fixture.drain()
            try await pass(3_601, fixture)
            #expect(try await refreshes.start() == 5)
            #expect(try await refreshes.start() == 2)
            #expect(try await refreshes.start() == 0)
        }
    }

    @Test func whatIsPostponedFillsARound() async throws {
        try await F.with { fixture in
            var refreshes = fixture.queue.files.assetRefreshes
            refreshes.postponedPerRound = 1
            let catalog = try await fixture.submit((1...3).map { file("f\($0)", every: 3_600) })
            try await fixture.drain()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.remove, catalog: CatalogReference(catalog)))
            try await RemovalTests.purge(fixture)
            try await pass(3_601, fixture)
            let due = "asset WHERE refresh_at <= now()"
            #expect(try await fixture.count(due) == 3)
            #expect(try await refreshes.start() == 0)
            #expect(try await fixture.count(due) == 0)
        }
    }

    @Test func anAssetThatItsListNoLongerNamesKeepsNoOtherWaiting() async throws {
        try await F.with { fixture in
            let refreshes = fixture.queue.files.assetRefreshes
            let catalog = try await fixture.submit(
                [file("left", every: 3_600), file("kept", every: 86_400)])
            try await fixture.drain()
            try await fixture.submit([file("kept", every: 86_400)])
            try await fixture.drain()
            try await pass(3_601, fixture)
            #expect(try await refreshes.start() == 0)
            #expect(try await states(fixture, catalog)["kept"] == .completed)
            let due = "asset WHERE refresh_at <= now()"
            #expect(try await fixture.count(due) == 0)
        }
    }

    @Test func whatTheListSaysHasChangedIsRefreshed() async throws {
        try await F.with { fixture in
            let refreshes = fixture.queue.files.assetRefreshes
            let names = ["same", "later", "first", "earlier"]
            func list(_ times: [Double?]) -> [AssetSubmission] {
                zip(names, times).map { file($0, modified: $1) }
            }
            let catalog = try await fixture.submit(list([1_000, 1_000, nil, 1_000]))
            try await fixture.drain()
            // The third one has no time yet: this one is after the download.
            try await fixture.submit(list([1_000, 2_000, 4_000_000_000, 500]))
            try await fixture.drain()
            #expect(try await refreshes.start() == 2)
            #expect(
                try await states(fixture, catalog) == [
                    "same": .completed, "later": .refreshing, "first": .refreshing,
                    "earlier": .completed,
                ])
            try await endRefresh(fixture, catalog)
            // Once for each change.
            try await fixture.submit(list([1_000, 2_000, 4_000_000_000, 500]))
            try await fixture.drain()
            #expect(try await refreshes.start() == 0)
        }
    }
}
