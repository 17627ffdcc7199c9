import API
import JobQueue
import Model
import TestSupport
import Testing

/// Lists of a catalog's assets: what is in them, in which order, and that pages leave nothing out.
@Suite struct BrowseTests {
    typealias F = QueueFixture

    private static let names = [
        "a/one.mp4", "a/two.mp4", "b/100%.mp4", "b/100x.mp4", "b/One_more.bin", "ä.bin",
    ]

    /// Returns all pages of a query, `limit` assets each, `lookingAt` of them read.
    private func names(
        _ fixture: QueueFixture, _ catalog: CatalogID, limit: Int = 2, lookingAt: Int = 3,
        _ change: (inout AssetQuery) -> Void = { _ in }
    ) async throws -> [String] {
        var query = AssetQuery(CatalogReference(catalog))
        query.limit = limit
        change(&query)
        var names: [String] = []
        while true {
            let page = try await fixture.queue.catalogs.listings.browse(query, lookingAt: lookingAt)
            #expect(page.assets.count <= limit)
            names += page.assets.map(\.name)
            guard let next = page.next else { return names }
            try #require(query.after != next)
            query.after = next
        }
    }

    private func submitted(_ fixture: QueueFixture) async throws -> CatalogID {
        // Another catalog's assets are not in the way.
        try await fixture.submit([F.file("zzz"), F.file("a/one.mp4")], site: "file:///other")
        return try await fixture.submit(
            Self.names.enumerated().map { index, name in
                var asset = F.file(name)
                asset.bytes = Int64(100 * (7 - index))
                return asset
            })
    }

    @Test func pagesAreWholeInEveryOrder() async throws {
        try await F.with { fixture in
            let catalog = try await submitted(fixture)
            #expect(try await names(fixture, catalog) == Self.names)
            #expect(
                try await names(fixture, catalog) { $0.isDescending = true }
                    == Self.names.reversed())
            let bySize = Array(Self.names.reversed())
            #expect(try await names(fixture, catalog) { $0.order = .bytes } == bySize)
            #expect(
                try await names(fixture, catalog) {
                    $0.order = .bytes
                    $0.isDescending = true
                } == Self.names)
            #expect(
                try await names(fixture, catalog) { $0.order = .changed }.sorted()
                    == Self.names.sorted())
            #expect(try await names(fixture, catalog, limit: 100, lookingAt: 100) == Self.names)
            #expect(try await names(fixture, catalog, limit: 1, lookingAt: 1) == Self.names)
        }
    }

    @Test func filtersGoTogether() async throws {
        try await F.with { fixture in
            let catalog = try await submitted(fixture)
            func found(_ change: (inout AssetQuery) -> Void) async throws -> [String] {
                try await names(fixture, catalog, change)
            }
            #expect(try await found { $0.name = "a/*" } == ["a/one.mp4", "a/two.mp4"])
            // Only * means something.
            #expect(try await found { $0.name = "b/100%.mp4" } == ["b/100%.mp4"])
            #expect(try await found { $0.search = "ONE_" } == ["b/One_more.bin"])
            #expect(try await found { $0.search = "one" } == ["a/one.mp4", "b/One_more.bin"])
            #expect(
                try await found {
                    $0.minimumBytes = 300
                    $0.maximumBytes = 500
                } == ["b/100%.mp4", "b/100x.mp4", "b/One_more.bin"])
            #expect(try await found { $0.kind = .hls } == [])
            #expect(try await found { $0.states.states = [.completed, .failed] } == [])
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(catalog), asset: "a/two.mp4"))
            #expect(try await found { $0.states.states = [.cancelled] } == ["a/two.mp4"])
            let all = try await fixture.queue.catalogs.listings.browse(
                AssetQuery(CatalogReference(catalog)))
            let code = all.assets.compactMap(\.failure?.code.rawValue)
            #expect(code.count == 1)
            #expect(try await found { $0.failureCode = code.first } == ["a/two.mp4"])
            let family = code.first.map { "\($0.prefix { $0 != "." }).*" }
            #expect(try await found { $0.failureCode = family } == ["a/two.mp4"])
            #expect(all.assets.allSatisfy { $0.path != nil && ($0.changed ?? 0) > 1.6e9 })
        }
    }

    @Test func anInvalidCursorIsRefused() async throws {
        try await F.with { fixture in
            let catalog = try await submitted(fixture)
            var query = AssetQuery(CatalogReference(catalog))
            query.order = .bytes
            for place in ["x", "1", "1.2.3", "1.", "99999999999999999999.1"] {
                query.after = place
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.listings.browse(query)
                }
                #expect(failure?.code == "input.field")
            }
            let failure = await #expect(throws: Failure.self) {
                try await fixture.queue.catalogs.listings.browse(
                    AssetQuery(CatalogReference(CatalogID(99))))
            }
            #expect(failure?.code == "input.notFound")
        }
    }
}
