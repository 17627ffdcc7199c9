import API
import Model
import Testing

@testable import Client

/// Events as lines.
@Suite struct EventLineTests {
    private static func event(_ kind: String) -> ClusterEvent {
        ClusterEvent(id: "a-1", time: 1_795_705_445.25, kind: EventKind(rawValue: kind))
    }

    @Test func eachSubjectIsNamed() {
        var asset = Self.event("asset.failed")
        asset.catalog = CatalogID(7)
        asset.catalogName = "movies"
        asset.name = "film\u{1B}[31m"
        asset.code = .originHTTP404
        asset.message = "http://h/f?sig=canary was not found"
        let text = EventLine.text(asset)
        #expect(text.hasPrefix("2026-11-26T"))
        #expect(text.contains("asset.failed") && text.contains("movies: film"))
        #expect(text.contains("(origin.http.404: http://h/f?… was not found)"))
        #expect(!text.contains("canary") && !text.contains("\u{1B}"))
        #expect(text.hasSuffix("\n") && text.count { $0 == "\n" } == 1)

        var many = Self.event("asset.ready")
        many.catalog = CatalogID(7)
        many.assets = 2_000
        #expect(EventLine.text(many).contains("catalog 7: 2,000 assets"))
        var catalog = Self.event("catalog.failed")
        catalog.catalogName = "movies"
        catalog.assets = 3
        catalog.failed = 1
        #expect(EventLine.text(catalog).hasSuffix("movies (3 assets, 1 failed)\n"))
        var worker = Self.event("worker.lost")
        worker.name = "edge-1"
        #expect(EventLine.text(worker).hasSuffix("edge-1\n"))
        var site = Self.event("site.closed")
        site.site = "file:///srv/edge"
        #expect(EventLine.text(site).hasSuffix("file:///srv/edge\n"))
    }

    @Test func jsonIsOneLine() throws {
        var event = Self.event("worker.lost")
        event.name = "a\nb"
        let line = try EventLine.json(event)
        #expect(line.count { $0 == "\n" } == 1)
        #expect(line.hasPrefix("{\"id\":\"a-1\",\"kind\":\"worker.lost\",\"name\":\"a\\nb\""))
    }

    @Test func kindsAreNamedOneByOneOrBySubject() {
        #expect(EventKind.named("asset.failed").map(\.rawValue) == ["asset.failed"])
        #expect(EventKind.named("worker").count == 5)
        #expect(EventKind.named("asset.").isEmpty && EventKind.named("").isEmpty)
        #expect(Set(EventKind.all.map { String($0.subject) }) == Set(EventKind.subjects))
    }
}
