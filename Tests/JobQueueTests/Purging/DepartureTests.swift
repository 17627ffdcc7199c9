import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What takes files from the edge: removals, evictions and rights, from each state that the table lists. A removal and an
/// eviction are the same change of states, so that the histories do not tell them apart.
@Suite struct DepartureTests: SelectionSuite {
    private static let events: [AssetEvent] = [.remove, .evict, .expire]
    private static let states: [AssetState] = [.completed, .interrupted, .failed, .cancelled]

    @Test func theStatesAreThoseOfTheTable() {
        for event in Self.events {
            #expect(Set(AssetState.machine.sources(of: event)) == Set(Self.states), "\(event)")
        }
    }

    @Test(arguments: events, states)
    func filesGo(by event: AssetEvent, from state: AssetState) async throws {
        try await F.with { fixture in
            let (catalog, keys) = try await bring(fixture, to: state)
            #expect(try await asset(fixture, catalog).state == state)
            try await take(fixture, catalog, event, from: state)
            let purging: AssetState = event == .expire ? .expiring : .removing
            #expect(try await asset(fixture, catalog).state == purging)
            // A worker may still be storing something of what did not end by itself.
            try await fixture.pool.query(
                "UPDATE unneeded_file SET due_at = now() WHERE due_at < 'infinity'")
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(try await Set(RemovalTests.purge(fixture)) == keys)
            let gone = try await asset(fixture, catalog)
            #expect(gone.state == (event == .expire ? .expired : .removed))
            #expect(gone.freedFiles == Int64(keys.count))
            let edge = TransitionLog.Edge(
                table: "asset", old: state.rawValue, new: purging.rawValue)
            #expect(try await fixture.transitions.seen().contains(edge))
            #expect(
                try await fixture.count("event WHERE kind = 'asset.evicted'")
                    == (event == .evict ? 1 : 0))
        }
    }

    /// Lists lack an asset that its list no longer names.
    private func asset(
        _ fixture: F, _ catalog: CatalogID
    ) async throws -> (state: AssetState, freedFiles: Int64?) {
        let row = try await fixture.pool.query(
            "SELECT state, freed_files::bigint FROM asset WHERE catalog_id = $1 AND name = 't'",
            [.int(catalog.rawValue)]
        ).only()
        return (
            try #require(AssetState(rawValue: try row.string("state"))),
            try row.optionalInt64("freed_files")
        )
    }

    /// A title that has some of its files in the state. Returns the keys that are to be deleted.
    private func bring(
        _ fixture: F, to state: AssetState
    ) async throws -> (catalog: CatalogID, keys: Set<String>) {
        let catalog = try await RemovalTests.resolveTitle(fixture, "t", segments: 2)
        let grant = try await fixture.lease()
        try #require(grant.jobs.count == 3)
        let stored = state == .completed ? grant.jobs : [grant.jobs[0]]
        _ = try await fixture.report(stored.map { F.done($0, grant) })
        switch state {
        case .failed:
            _ = try await fixture.report(
                grant.jobs[1...].map { F.failed($0, grant, "origin.http.404") })
        case .cancelled: _ = try await apply(fixture, .cancel, catalog)
        // The next list does not name it. An interrupted catalog as a whole makes no room.
        case .interrupted: try await fixture.submit([F.file("f")])
        default: break
        }
        try await fixture.drain()
        // A worker may have stored what it held when the asset ended.
        let held: Set<AssetState> = [.cancelled, .interrupted]
        return (catalog, Set((held.contains(state) ? grant.jobs : stored).map(\.key)))
    }

    private func take(
        _ fixture: F, _ catalog: CatalogID, _ event: AssetEvent, from state: AssetState
    ) async throws {
        switch event {
        case .evict:
            try await fixture.pool.query(
                "UPDATE asset SET wanted_at = wanted_at - interval '1 hour' WHERE name = 't'")
            let evicted = try await fixture.queue.files.evictions.evict(
                SiteEviction(site: F.site, bytes: 1))
            #expect(evicted.first.map(\.name) == ["t"])
        case .expire:
            try await fixture.pool.query("UPDATE asset SET expires_at = now() WHERE name = 't'")
            #expect(try await fixture.queue.files.purges.applyRights() == 1)
        default:
            var removal = SelectionAction(.remove, catalog: CatalogReference(catalog))
            removal.ofLeft = state == .interrupted ? true : nil
            #expect(try await fixture.queue.catalogs.selections.apply(removal).assets == 1)
        }
    }
}
