import API
import HTTPServer
import Model
import TestSupport
import Testing

@testable import Coordinator

/// Positions in lists are opaque, of one list, and read every element once.
@Suite struct PageCursorTests {
    private static func request(_ after: String) -> HTTPRequest {
        HTTPRequest(method: "GET", path: "/", segments: [], query: [("after", after)])
    }

    @Test(arguments: ["1", "a\u{301}", "http://h/ä?b=c\n", ""])
    func itIsReadAsItWasWritten(_ position: String) throws {
        let cursor = try #require(PageCursor.sealed(position, of: "files"))
        #expect(!cursor.contains(where: { "+/=".contains($0) }))
        let read = try PageCursor.position(in: Self.request(cursor), of: "files")
        #expect(read == position && read?.utf8.count == position.utf8.count)
        #expect(throws: Failure.self) {
            try PageCursor.position(in: Self.request(cursor), of: "assets")
        }
    }

    @Test(arguments: ["", "x", "1", "%", "====", "é", String(repeating: "A", count: 5_000)])
    func otherTextIsRefused(_ text: String) {
        #expect(throws: Failure.self) {
            try PageCursor.position(in: Self.request(text), of: "files")
        }
    }

    @Test(arguments: [("17", 17), ("x", nil), ("", nil), ("1.5", nil), ("-1", nil), ("0", nil)])
    func aNumbersPositionIsANumber(_ position: String, number: Int64?) throws {
        let cursor = try #require(PageCursor.sealed(position, of: "audit"))
        let read = try? PageCursor.number(in: Self.request(cursor), of: "audit")
        #expect(read == number)
        let without = HTTPRequest(method: "GET", path: "/", segments: [], query: [])
        #expect(try PageCursor.number(in: without, of: "audit") == nil)
    }

    @Test func pagesHaveEachAssetOnce() async throws {
        try await Fixture.with { fixture in
            let names = (0..<7).map { "a\($0)" }
            let catalog = try await fixture.submit(names)
            for list in ["/v1/catalogs/\(catalog)/assets?", "/v1/assets?catalog=\(catalog)&"] {
                var found: [String] = []
                var after = ""
                for _ in 0..<10 {
                    let answer = try await fixture.send("GET", "\(list)limit=3\(after)")
                    let page = try WireJSON.decode(Page.self, from: Array(answer.body.utf8))
                    found += page.assets.map(\.name)
                    guard let next = page.next else { break }
                    #expect(Int64(next) == nil && next != found.last)
                    after = "&after=\(next)"
                }
                #expect(found.sorted() == names, "\(list)")
            }
        }
    }

    private struct Page: Decodable {
        var assets: [AssetStatus]
        var next: String?
    }
}
