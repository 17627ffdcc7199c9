import Model
import TestSupport
import Testing

@testable import Titles
@testable import WebURL

/// Rewriting of MPDs for the edge.
@Suite struct DASHRewriterTests {
    private func edge(
        _ text: String, wanted: [Bool] = [], named: String = "https://o.test/t/m.mpd"
    ) throws -> String? {
        try DASHRewriter([UInt8](text.utf8), named: try WebURL(named), wanted: wanted).body()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func mpd(_ inner: String) -> String {
        "<?xml version=\"1.0\"?>\n<!-- <BaseURL>/x</BaseURL> -->\n<MPD>\(inner)</MPD>"
    }

    private static func list(_ media: String, _ count: Int) -> String {
        let urls = (0..<count).map { "<SegmentURL media=\"/t/\(media)\($0)\"/>" }.joined()
        return "<Representation><SegmentList>\(urls)</SegmentList></Representation>"
    }

    /// Other attributes of SegmentURL are not URLs, and other elements are ignored.
    @Test(arguments: [
        "<SegmentURL media=\"a\" v:note=\"http://user@x/y\"/>",
        "<SegmentURL media=\"a\" xmlns:v=\"http://v.test/ns\" note=\"a &#169; b\"/>",
    ]) func whatIsNoReferenceStays(entry: String) throws {
        let text = Self.mpd(
            "<Period><EventStream><Event><BaseURL>http://user@h/</BaseURL></Event></EventStream>"
                + "<AdaptationSet><SegmentList>\(entry)</SegmentList>"
                + "<Representation><BaseURL>b/</BaseURL></Representation></AdaptationSet></Period>")
        #expect(try edge(text) == nil)
    }

    /// A player's text content differs from the scanned bytes.
    @Test func sectionsInBaseURLsAreRefused() {
        let text = Self.mpd("<BaseURL><![CDATA[http://c.test/v/]]></BaseURL>")
        let failure = #expect(throws: Failure.self) { try edge(text) }
        #expect(failure?.code == "manifest.unsupported")
    }

    /// Unselected tracks are removed with all their rewrites.
    @Test func removedElementsAreNotRewritten() throws {
        let text = Self.mpd(
            "<Period><AdaptationSet>\(Self.list("x", 3))\(Self.list("a", 1))</AdaptationSet></Period>"
        )
        #expect(
            try edge(text, wanted: [false, true])?.hasSuffix(
                "<MPD><Period><AdaptationSet><Representation><SegmentList>"
                    + "<SegmentURL media=\"a0\"/></SegmentList></Representation></AdaptationSet>"
                    + "</Period></MPD>") == true)
    }

    private static let long = "Quality=" + String(repeating: "k", count: 300)

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
            (
                "<SegmentList><SegmentURL media=\"1.m4s?a=1&amp;b=2\"/><SegmentURL media=\"1.m4s?acl=/*\"/>"
                    + "<SegmentURL media=\"2.m4s?v\"/><SegmentURL media=\"3 4.m4s\"/></SegmentList>",
                "<SegmentList><SegmentURL media=\"1.m4s?a=1&amp;b=2\"/><SegmentURL media=\"1.m4s?acl=%2F*\"/>"
                    + "<SegmentURL media=\"2.m4s?v=\"/><SegmentURL media=\"3 4.m4s\"/></SegmentList>"
            ),
            ("<BaseURL>my title.mp4</BaseURL>", nil),
            ("<BaseURL>a.mp4?acl=/*</BaseURL>", "<BaseURL>a.mp4?acl=%2F*</BaseURL>"),
            (
                "<Period><SegmentTemplate media=\"$Number$.m4s?a=/*&amp;n=$Number$\"/><AdaptationSet>"
                    + "<BaseURL>v/</BaseURL></AdaptationSet></Period>",
                "<Period><SegmentTemplate media=\"$Number$.m4s?a=%2F*&amp;n=$Number$\"/><AdaptationSet>"
                    + "<BaseURL>v/</BaseURL></AdaptationSet></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"/t/$Number$.m4s?/\" initialization=\"i?a=1\"/></Period>",
                "<Period><SegmentTemplate media=\"$Number$.m4s?%2F=\" initialization=\"i?a=1\"/></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"v/$Number$?n=$Time%05d$&amp;\(long)\" initialization=\"i?\(long)\"/>"
                    + "</Period>",
                "<Period><SegmentTemplate media=\"v/$Number$?=8844e286e7de1a7fe4ba7c70af2da869-$Time%05d$\" "
                    + "initialization=\"i?=40feaed1d4d0f63d3152a98c8a76b50a\"/></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"../../$Number$.m4s\"/></Period>",
                "<Period><SegmentTemplate media=\"../$Number$.m4s\"/></Period>"
            ),
            (
                "<Period><SegmentTemplate media=\"$Number$.m4s?n=$Time$&amp;Policy=p&amp;Signature=s\""
                    + " initialization=\"i?token=s\"/></Period>",
                "<Period><SegmentTemplate media=\"$Number$.m4s?n=$Time$\" initialization=\"i\"/></Period>"
            ),
            (
                "<SegmentList><SegmentURL media=\"1.m4s?token=s\"/><SegmentURL media=\"2.m4s?a=1&amp;sig=s\"/>"
                    + "</SegmentList>",
                "<SegmentList><SegmentURL media=\"1.m4s\"/><SegmentURL media=\"2.m4s?a=1\"/></SegmentList>"
            ),
            (
                "<Period><SegmentTemplate media=\"hdntl=s/$Number$.m4s\" initialization=\"i=1/i\"/></Period>",
                "<Period><SegmentTemplate media=\"~/$Number$.m4s\" initialization=\"i=1/i\"/></Period>"
            ),
            (
                "<SegmentList><SegmentURL media=\"exp=1~hmac=s/1.m4s\"/></SegmentList>",
                "<SegmentList><SegmentURL media=\"~/1.m4s\"/></SegmentList>"
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
