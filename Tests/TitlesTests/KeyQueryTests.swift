import Model
import TestSupport
import Testing

@testable import Lists
@testable import Titles
@testable import WebURL

/// Keys by an operator's rules, from a list to a title's segments and its manifest.
@Suite struct KeyQueryTests {
    private static let list = [
        KeyQueryRule(origin: "http://h", keep: ["token"], leaveOut: ["session", "cb"])
    ]
    private static let rules = KeyQueryRules(list)

    @Test(
        arguments: [
            ("http://h/a?session=1", "h/a"), ("http://h/a?v=1&CB=2", "h/a?v=1"),
            ("http://h/a?token=1080p&session=1", "h/a?token=1080p"),
            ("http://h/a?session", "h/a"), ("http://h/d/?cb=1", "h/d/index.html"),
            ("http://h/token=s/a?token=t", "h/~/a?token=t"),
            ("http://h/session=1/a", "h/session=1/a"),
            ("http://h/a;session=1?cb=2", "h/a;session=1"),
            ("https://h/a?session=1&token=s", "h/a?session=1"),
            ("http://h:8080/a?session=1&token=s", "h:8080/a?session=1"),
        ])
    func keys(url: String, key: String) throws {
        #expect(try SiteKey(try WebURL(url), Self.rules).text == key)
        #expect(try ListReader.asset(url: url, Self.rules).key == key)
    }

    private func read(_ list: String) throws -> (assets: [AssetSubmission], ListReader) {
        var reader = ListReader(rules: Self.rules)
        let assets = try reader.feed(Array(list.utf8)) + reader.finish()
        return (assets, reader)
    }

    @Test(
        "in lists of every form",
        arguments: [
            "http://h/a?session=1\nhttp://h/a?session=2\nhttp://h/v?token=x\nhttp://h/v?token=y\n",
            "[\"http://h/a?session=1\",\"http://h/a?session=2\",\"http://h/v?token=x\","
                + "\"http://h/v?token=y\"]",
            "url\nhttp://h/a?session=1\nhttp://h/a?session=2\nhttp://h/v?token=x\nhttp://h/v?token=y\n",
        ])
    func lists(list: String) throws {
        let (assets, reader) = try read(list)
        #expect(assets.map(\.key) == ["h/a", "h/a", "h/v?token=x", "h/v?token=y"])
        #expect(assets.map(\.name) == assets.map(\.key))
        #expect(reader.counts.repeats == 1 && reader.notices.isEmpty)
        #expect(reader.sharedKeys.isEmpty)
    }

    @Test func sidecars() throws {
        let entry =
            #"[{"url": "http://h/m?cb=1", "name": "m", "sidecars": "#
            + #"["http://h/s.vtt?token=de&cb=1", "http://h/s.vtt?token=en&cb=2"]}]"#
        let asset = try #require(try read(entry).assets.first)
        #expect(asset.name == "m" && asset.key == "h/m")
        #expect(asset.sidecars?.map(\.key) == ["h/s.vtt?token=de", "h/s.vtt?token=en"])
        let failure = #expect(throws: Failure.self) {
            try read(entry.replacing("token=de", with: "token=en"))
        }
        #expect(failure?.code == "storage.pathConflict")
    }

    private func resolve(
        _ url: String, _ kind: AssetKind, _ bodies: [String: String]
    ) throws -> [ResolvedSegment] {
        var options = TitleOptions()
        options.keyQueries = Self.list
        var resolver = try TitleResolver(url: url, kind: kind, options: options)
        while !resolver.isComplete {
            for request in resolver.next() {
                try resolver.receive(
                    request, finalURL: request.url, body: [UInt8]((bodies[request.url] ?? "").utf8),
                    sha256: "")
            }
        }
        return Array(try resolver.segments())
    }

    @Test func aPlaylistNamesWhatIsStored() throws {
        let text = """
            #EXTM3U
            #EXT-X-TARGETDURATION:4
            #EXT-X-MAP:URI="i.mp4?session=1"
            #EXTINF:4,
            0.ts?token=hd&session=1
            #EXTINF:4,
            1.ts?session=2&v=1
            #EXT-X-MAP:URI="i.mp4?session=2"
            #EXTINF:4,
            http://o/2.ts?session=3
            #EXTINF:4,
            3.ts?token=hd
            #EXT-X-ENDLIST

            """
        let url = "http://h/t/m.m3u8?session=0"
        let segments = try resolve(url, .hls, [url: text])
        #expect(
            segments.map(\.key) == [
                "h/t/i.mp4", "h/t/0.ts?token=hd", "h/t/1.ts?v=1", "o/2.ts?session=3",
                "h/t/3.ts?token=hd", "h/t/m.m3u8",
            ])
        #expect(segments[1].url == "http://h/t/0.ts?token=hd&session=1")
        let edge = text.replacing("?session=1\"", with: "\"").replacing("?session=2\"", with: "\"")
            .replacing("&session=1", with: "").replacing("session=2&", with: "")
            .replacing("http://o/", with: "../../o/")
        #expect(segments.last?.content == edge)
    }

    @Test func aVariableOfAParameterThatIsLeftOutIsHidden() throws {
        let text = """
            #EXTM3U
            #EXT-X-DEFINE:QUERYPARAM="session"
            #EXT-X-DEFINE:QUERYPARAM="token"
            #EXT-X-TARGETDURATION:4
            #EXTINF:4,
            0.ts?session={$session}&token={$token}
            #EXT-X-ENDLIST

            """
        let url = "http://h/t/m.m3u8?session=S3CRET&token=hd"
        let segments = try resolve(url, .hls, [url: text])
        #expect(segments.map(\.key) == ["h/t/0.ts?token=hd", "h/t/m.m3u8?token=hd"])
        let edge = try #require(segments.last?.content)
        #expect(!edge.contains("S3CRET") && edge.contains("\n0.ts?token=hd\n"))
    }

    @Test(
        arguments: [
            ("s-$Number$.m4s?session=9", "s-$Number$.m4s", "h/t/s-1.m4s"),
            ("s-$Number$.m4s?token=hd", "s-$Number$.m4s?token=hd", "h/t/s-1.m4s?token=hd"),
            (
                "s.m4s?n=$Number$&amp;cb=1&amp;token=hd", "s.m4s?n=$Number$&amp;token=hd",
                "h/t/s.m4s?n=1&token=hd"
            ),
            (
                "http://H:80/x/s-$Number$.m4s?cb=1", "../x/s-$Number$.m4s", "h/x/s-1.m4s"
            ),
            (
                "http://o/s-$Number$.m4s?cb=1", "../../o/s-$Number$.m4s?cb=1", "o/s-1.m4s?cb=1"
            ),
        ])
    func aTemplateNamesWhatIsStored(template: String, edge: String, key: String) throws {
        let url = "http://h/t/m.mpd?session=0"
        let mpd = { (media: String) in
            """
            <?xml version="1.0"?>
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S" \
            minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period>\
            <AdaptationSet mimeType="video/mp4"><Representation id="r" bandwidth="1">\
            <SegmentTemplate media="\(media)" duration="2" startNumber="1"/></Representation>\
            </AdaptationSet></Period></MPD>
            """
        }
        let segments = try resolve(url, .dash, [url: mpd(template)])
        #expect(segments.map(\.key) == [key, "h/t/m.mpd"])
        #expect((segments.last?.content ?? mpd(template)) == mpd(edge))
    }

    @Test func aListNamesWhatIsStored() throws {
        let url = "http://h/t/m.mpd"
        let mpd = { (first: String, second: String) in
            """
            <?xml version="1.0"?>
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S" \
            minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period>\
            <AdaptationSet mimeType="video/mp4"><Representation id="r" bandwidth="1">\
            <SegmentList duration="2"><SegmentURL media="\(first)"/><SegmentURL media="\(second)"/>\
            </SegmentList></Representation></AdaptationSet></Period></MPD>
            """
        }
        let segments = try resolve(
            url, .dash, [url: mpd("a.m4s?session=1&amp;v=1", "b.m4s?token=hd&amp;v=1")])
        #expect(
            segments.map(\.key) == ["h/t/a.m4s?v=1", "h/t/b.m4s?token=hd&v=1", "h/t/m.mpd"])
        #expect(segments.last?.content == mpd("a.m4s?v=1", "b.m4s?token=hd&amp;v=1"))
    }

    @Test(arguments: [
        (#"{"default": {"keyQuery": []}}"#, "field default.keyQuery"),
        (#"{"default": {"keyQuery": {"drop": ["a"]}}}"#, "keep, leaveOut"),
        (#"{"http://h": {"keyQuery": {"keep": "a"}}}"#, "http://h.keyQuery.keep"),
        (#"{"http://h": {"keyQuery": {"keep": ["a&b"]}}}"#, "keyQuery.keep[0]"),
        (#"{"http://h": {"keyQuery": {"leaveOut": ["a", ""]}}}"#, "keyQuery.leaveOut[1]"),
        (#"{"http://h": {"keyQuery": {"keep": ["A"], "leaveOut": ["a"]}}}"#, "both keeps"),
    ])
    func settingsAreChecked(text: String, message: String) {
        let failure = #expect(throws: Failure.self) {
            try OriginSettingsReader.read(Array(text.utf8))
        }
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    }

    @Test func settingsAreRead() throws {
        let text =
            #"{"default": {"keyQuery": {"leaveOut": ["CB"]}}, "#
            + #""http://h": {"keyQuery": {"keep": ["token"], "leaveOut": ["session"]}}}"#
        #expect(
            try OriginSettingsReader.read(Array(text.utf8)).keyQueries == [
                KeyQueryRule(leaveOut: ["cb"]),
                KeyQueryRule(origin: "http://h", keep: ["token"], leaveOut: ["session"]),
            ])
        let many = (0...KeyQueryRule.maximumRules).map {
            #""http://h\#($0)": {"keyQuery": {"keep": ["a"]}}"#
        }
        let failure = #expect(throws: Failure.self) {
            try OriginSettingsReader.read(Array("{\(many.joined(separator: ","))}".utf8))
        }
        #expect(failure?.code == "input.tooLarge")
    }
}
