import API
import Model
import Testing

@testable import Coordinator

/// What the audit log shows of changes with many settings.
@Suite struct ChangeTextTests {
    @Test func aSelectionShowsWhatItSelects() {
        var action = SelectionAction(.remove, catalog: CatalogReference(CatalogID(4)))
        (action.name, action.states) = ("season1/*", ["completed", "failed"])
        #expect(
            ChangeText.text(of: action)
                == "catalog 4: remove, name season1/*, states completed failed")
        action = SelectionAction(.remove, catalog: CatalogReference(CatalogID(4)))
        (action.ofLeft, action.generation) = (true, 2)
        #expect(ChangeText.text(of: action) == "catalog 4: remove, ofLeft true, generation 2")
    }

    @Test func aSiteShowsItsWindow() {
        var settings = SiteSettings(site: "srv-edge")
        (settings.notBefore, settings.expiresAt) = (0, 1_795_644_000)
        let text = ChangeText.text(of: settings)
        #expect(
            text.hasPrefix("site srv-edge: settings, notBefore none, expiresAt 2026-11-25T22:00:00")
        )
    }

    @Test func aSiteShowsForHowLongItKeepsFiles() {
        var settings = SiteSettings(site: "srv-edge")
        settings.keepSeconds = 3_600
        #expect(ChangeText.text(of: settings) == "site srv-edge: settings, keepSeconds 3600.0")
        settings.keepSeconds = 0
        #expect(ChangeText.text(of: settings) == "site srv-edge: settings, keepSeconds none")
    }
}
