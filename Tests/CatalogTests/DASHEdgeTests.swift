import Model
import Testing

@testable import Catalog

/// What an MPD becomes at the edge.
@Suite struct DASHEdgeTests {
    private func edge(
        _ text: String, wanted: [Bool] = [], named: String = "https://o.test/t/m.mpd"
    ) throws -> String? {
        try DASHEdge([UInt8](text.utf8), named: try WebURL(named), wanted: wanted).body
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func mpd(_ inner: String) -> String {
        "<?xml version=\"1.0\"?>\n<!-- <BaseURL>/x</BaseURL> -->\n<MPD>\(inner)</MPD>"
    }

    @Test(
        arguments: [
            ("<BaseURL>v/</BaseURL>", nil), ("<BaseURL>./</BaseURL>", nil),
            ("<BaseURL>https://o.test/t/v/</BaseURL>", "<BaseURL>v/</BaseURL>"),
            ("<BaseURL>https://cdn.test/a/</BaseURL>", "<BaseURL>../../cdn.test/a/</BaseURL>"),
            ("<BaseURL> /t/ </BaseURL>", "<BaseURL> ./ </BaseURL>"),
            ("<BaseURL>a/</BaseURL><BaseURL>https://b.test/</BaseURL>", "<BaseURL>a/</BaseURL>"),
            (
                "<BaseURL>https://c.test/a/</BaseURL><Period><BaseURL>b/</BaseURL></Period>",
                "<BaseURL>../../c.test/a/</BaseURL><Period><BaseURL>b/</BaseURL></Period>"
            ),
            (
                "<BaseURL>a/</BaseURL><Period><BaseURL>/z/</BaseURL></Period>",
                "<BaseURL>a/</BaseURL><Period><BaseURL>../../z/</BaseURL></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"/t/v/$Number$.m4s\" initialization='i&amp;$Time$'/></Period>",
                "<Period><SegmentTemplate media=\"v/$Number$.m4s\" initialization='i&amp;$Time$'/></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"https://c.test/$RepresentationID$/$Number%05d$.m4s\"/></Period>",
                "<Period><SegmentTemplate media=\"../../c.test/$RepresentationID$/$Number%05d$.m4s\"/></Period>"
            ),
            (
                "<SegmentList><Initialization sourceURL=\"/t/i.mp4\"/><SegmentURL media=\"1.m4s\"/>"
                    + "<SegmentURL media=\"//c.test/2.m4s?a=1&amp;b=2\"/></SegmentList>",
                "<SegmentList><Initialization sourceURL=\"i.mp4\"/><SegmentURL media=\"1.m4s\"/>"
                    + "<SegmentURL media=\"../../c.test/2.m4s?a=1&amp;b=2\"/></SegmentList>"
            ),
            ("<Location>https://o.test/t/m.mpd</Location>", ""),
        ] as [(String, String?)])
    func references(inner: String, becomes: String?) throws {
        #expect(try edge(Self.mpd(inner)) == becomes.map(Self.mpd))
    }

    @Test func aChoiceTakesTracksAndEmptySetsOut() throws {
        let text = Self.mpd(
            "<Period><AdaptationSet><Representation id=\"1\"/><Representation id=\"2\"><BaseURL>/x</BaseURL>"
                + "</Representation></AdaptationSet><AdaptationSet lang=\"de\"><Representation id=\"3\"/>"
                + "</AdaptationSet></Period>")
        #expect(
            try edge(text, wanted: [true, false, false])
                == Self.mpd(
                    "<Period><AdaptationSet><Representation id=\"1\"/></AdaptationSet></Period>"))
        #expect(
            try edge(text, wanted: [true, true, true])?.contains("<BaseURL>../x</BaseURL>") == true)
    }

    @Test func aTemplateAboveAnotherBaseIsRefused() {
        let failure = #expect(throws: Failure.self) {
            try edge(
                Self.mpd(
                    "<Period><SegmentTemplate media=\"/v/$Number$\"/><AdaptationSet><BaseURL>a/</BaseURL>"
                        + "</AdaptationSet></Period>"))
        }
        #expect(failure?.code == "manifest.unsupported")
    }
}
