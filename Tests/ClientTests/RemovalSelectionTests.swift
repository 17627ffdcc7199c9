import API
import Model
import TestSupport
import Testing

@testable import Client

/// Removals that follow what an earlier one has begun.
@Suite struct RemovalSelectionTests {
    private static let catalog = CatalogID(7)

    private static func purging(
        _ change: (inout SelectionAction) -> Void = { _ in }
    ) -> AssetQuery? {
        var selection = SelectionAction(.remove, catalog: CatalogReference(name: "spring"))
        change(&selection)
        return RemovalSession.purging(selection, of: catalog)
    }

    @Test func theWholeCatalogHasAllThatAreBeingRemoved() {
        let query = Self.purging()
        #expect(query?.catalog.id == Self.catalog)
        #expect(query?.states.names == ["removing", "expiring"])
        #expect(query?.name == nil && query?.failureCode == nil)
    }

    @Test func aSelectionHasOnlyThoseThatItMatches() {
        let named = Self.purging { $0.name = "series/*" }
        #expect(named?.name == "series/*" && named?.states.names == ["removing", "expiring"])
        let states = Self.purging { $0.states = ["failed", "removing"] }
        #expect(states?.states.names == ["removing"])
        #expect(Self.purging { $0.states = ["failed", "paused"] } == nil)
        let failed = Self.purging { $0.failureCode = "origin.http.404" }
        #expect(failed?.failureCode == "origin.http.404")
    }
}
