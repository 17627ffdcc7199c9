import Model
import TestSupport
import Testing

@testable import Titles
@testable import WebURL

/// Rewriting of HLS playlists for the edge.
@Suite struct HLSRewriterTests {
    private func edge(
        _ text: String, at url: String = "https://o.test/v/main.m3u8", named: String? = nil,
        selection: TrackSelection = TrackSelection(), storesKeys: Bool = true,
        takesSnapshots: Bool = false
    ) throws -> String? {
        let bytes = [UInt8](text.utf8)
        let (from, name) = (try WebURL(url), try WebURL(named ?? url))
        let playlist = try HLSPlaylist.parse(
            bytes, url: from, named: name, takesSnapshots: takesSnapshots)
        let choice =
            playlist.kind == .multivariant
                && !selection.isEverything
            ? try HLSTracks(bytes).choice(selection) : HLSTracks.Choice()
        let edge = try HLSRewriter(
            playlist, bytes, url: from, named: name, choice: choice, storesKeys: storesKeys)
        return try edge.body().map { String(decoding: $0, as: UTF8.self) }
    }

    private func media(_ lines: String...) -> String {
        "#EXTM3U\n" + lines.joined(separator: "\n") + "\n#EXT-X-ENDLIST\n"
    }

    /// URIs of segments and their rewritten form; nil if they stay as served.
    @Test(
        arguments: [
            ("seg.ts", nil), ("./a/../seg.ts", nil), ("../w/seg.ts", nil), ("a%20b.ts", nil),
            ("../v/seg.ts", nil), ("https://o.test/v/seg.ts", "seg.ts"), ("/v/seg.ts", "seg.ts"),
            ("//o.test/w/seg.ts", "../w/seg.ts"),
            ("https://cdn.test/x/seg.ts", "../../cdn.test/x/seg.ts"),
            ("https://cdn.test:8443/seg.ts", "../../cdn.test:8443/seg.ts"),
            ("seg.ts?v=1", nil), ("/v/seg.ts?v=%2F&a", "seg.ts?v=%2F&a"),
            ("https://o.test/v/a%3Fb.ts", "a%3Fb.ts"), ("/v/seg.ts?v", "seg.ts?v="),
            ("/v/a:b.ts", "./a:b.ts"),
            ("s.ts?acl=/*~id=ab", "s.ts?acl=%2F*~id=ab"),
            ("s.ts?token=s", "s.ts"), ("s.ts?v=1&Expires=2&Signature=s", "s.ts?v=1"),
            ("/v/s.ts?hdnts=exp=1~acl=/*~hmac=ab&v=1", "s.ts?v=1"), ("s.ts?acl=/*~hmac=ab", "s.ts"),
            ("s.ts?v", "s.ts?v="),
            ("s.ts?X%2DAmz%2DSignature=s", "s.ts"), ("s.ts?v=1;sig=s", "s.ts?v=1"),
            ("hdntl=exp=1~hmac=ab/s.ts", "~/s.ts"), ("v=1/s.ts", nil),
            ("s.ts?md5=1", nil),
            ("s.ts?a='b'^c", "s.ts?a=%27b%27%5Ec"), ("s.ts?x=%2f", nil), ("s.ts?", nil),
            ("../w/s.ts?a=b#t=1", nil), ("dir/?a=b", "dir/index.html?a=b"),
            (
                "s.ts?k=" + String(repeating: "k", count: 200),
                "s.ts?=64615a1798ab0bca7a02a8e0ff21c6ca"
            ),
            ("my title 0.ts", nil), ("s.ts?a=b c", "s.ts?a=b%20c"),
            (
                String(repeating: "n", count: 256),
                String(repeating: "n", count: 200) + "~512dc65af22aa7252f2ecde946f5b842"
            ),
            ("../../seg.ts", "../seg.ts"),
            ("/v/a%25b.ts", "a%25b.ts"), ("dir/", nil), ("https://o.test/v/dir/", "dir/index.html"),
        ] as [(String, String?)])
    func aSegmentIsFound(uri: String, becomes: String?) throws {
        let text = media("#EXTINF:2,", uri)
        let expected = becomes.map { media("#EXTINF:2,", $0) }
        #expect(try edge(text) == expected)
    }

    @Test func aTokenOfThePlaylistDoesNotStandInIt() throws {
        let define = "#EXT-X-VERSION:11\n#EXT-X-DEFINE:QUERYPARAM=\"token\""
        let text = media(define, "#EXTINF:2,", "seg.ts?token={$token}")
        #expect(
            try edge(text, at: "https://o.test/v/main.m3u8?token=S3CRET")
                == media(
                    "#EXT-X-VERSION:11\n#EXT-X-DEFINE:NAME=\"token\",VALUE=\"\"", "#EXTINF:2,",
                    "seg.ts"))
    }

    @Test func aRedirectChangesTheURLAndNotTheKey() throws {
        let text = media("#EXTINF:2,", "seg.ts")
        #expect(
            try edge(text, at: "https://cdn.test/q/main.m3u8", named: "https://o.test/v/main.m3u8")
                == nil)
    }

    @Test func everyTagThatNamesAFile() throws {
        let text = media(
            "#EXT-X-KEY:METHOD=AES-128,URI=\"https://k.test/1\",IV=0x1",
            "#EXT-X-MAP:URI=\"/v/init.mp4\",BYTERANGE=\"10@0\"", "#EXTINF:2,", "seg.mp4",
            "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\"",
            "#EXT-X-KEY:METHOD=NONE", "#EXTINF:2,", "seg2.mp4")
        let out = try #require(try edge(text))
        #expect(out.contains("URI=\"../../k.test/1\",IV=0x1"))
        #expect(out.contains("#EXT-X-MAP:URI=\"init.mp4\",BYTERANGE=\"10@0\""))
        #expect(out.contains("skd://x"))
        let outside = try #require(
            try edge(
                media("#EXT-X-KEY:METHOD=AES-128,URI=\"k/1\"", "#EXTINF:2,", "seg.ts"),
                storesKeys: false))
        #expect(outside.contains("URI=\"https://o.test/v/k/1\""))
    }

    @Test func whatLeadsAwayGoes() throws {
        let text = media(
            "#EXT-X-PART-INF:PART-TARGET=0.3", "#EXTINF:2,", "seg.ts",
            "#EXT-X-PART:DURATION=0.3,URI=\"p1.mp4\"",
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p2.mp4\"",
            "#EXT-X-RENDITION-REPORT:URI=\"../b.m3u8\"")
        #expect(try edge(text) == media("#EXTINF:2,", "seg.ts"))
    }

    @Test func variablesKeepTheirValues() throws {
        let text = media(
            "#EXT-X-DEFINE:QUERYPARAM=\"t\"",
            "#EXT-X-DEFINE:NAME=\"h\",VALUE=\"https://cdn.test/\"",
            "#EXTINF:2,", "{$t}/1.ts", "#EXTINF:2,", "{$h}2.ts")
        let out = try edge(text, at: "https://o.test/v/main.m3u8?t=abc")
        #expect(
            out
                == media(
                    "#EXT-X-DEFINE:NAME=\"t\",VALUE=\"abc\"",
                    "#EXT-X-DEFINE:NAME=\"h\",VALUE=\"https://cdn.test/\"", "#EXTINF:2,",
                    "{$t}/1.ts",
                    "#EXTINF:2,", "../../cdn.test/2.ts"))
    }

    private static let multivariant = """
        #EXTM3U
        #EXT-X-CONTENT-STEERING:SERVER-URI="https://steer.test/"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Deutsch",LANGUAGE="de",URI="s.m3u8"
        #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"
        #EXT-X-STREAM-INF:SUBTITLES="s",AUDIO="a",BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.1,mp4a.40.2"
        low.m3u8

        #EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=1920x1080,AUDIO="a",SUBTITLES="s",CLOSED-CAPTIONS="c"
        # a comment
        high.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,RESOLUTION=1920x1080,URI="i.m3u8"

        """

    @Test func aChoiceWritesAPlaylistOfWhatIsThere() throws {
        var selection = TrackSelection()
        selection.maximumHeight = 720
        selection.audio = ["de"]
        selection.subtitles = []
        let out = try edge(Self.multivariant, selection: selection)
        #expect(
            out == """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
                #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"
                #EXT-X-STREAM-INF:AUDIO="a",BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.1,mp4a.40.2"
                low.m3u8


                """)
        selection = TrackSelection()
        selection.preferredBitsPerSecond = 6_000_000
        selection.audio = []
        selection.subtitles = []
        #expect(
            try edge(Self.multivariant, selection: selection) == """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"

                #EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=1920x1080,CLOSED-CAPTIONS="c"
                # a comment
                high.m3u8
                #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,RESOLUTION=1920x1080,URI="i.m3u8"

                """)
    }

    @Test func groupsThatBothComeFirstGo() throws {
        let text =
            "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"E\",LANGUAGE=\"en\",URI=\"e.m3u8\"\n"
            + "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"E\",LANGUAGE=\"en\",URI=\"s.m3u8\"\n"
            + "#EXT-X-STREAM-INF:SUBTITLES=\"s\",AUDIO=\"a\",BANDWIDTH=1\nv.m3u8\n"
        var selection = TrackSelection()
        selection.audio = []
        selection.subtitles = []
        #expect(
            try edge(text, selection: selection)
                == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n")
        let lines = try HLSTracks([UInt8](text.utf8)).choice(selection).droppedLines
        #expect(lines == [2, 3])
    }

    @Test func numbersBeyondReckoningSayNothing() throws {
        var selection = TrackSelection()
        selection.preferredBitsPerSecond = 1_000
        for rate in ["-9223372036854775808", "9223372036854775807", "1e400", ""] {
            let text =
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=\(rate),RESOLUTION=-1x\(rate)\nv.m3u8\n"
            #expect(try edge(text, selection: selection) == nil)
        }
    }

    /// Gaps are not requested, so their invalid URIs stay unchanged.
    @Test func gapsNeedNotBeURLs() throws {
        let gap = media("#EXTINF:2,", "#EXT-X-GAP", "http://user@x/y", "#EXTINF:2,", "a.ts")
        #expect(try edge(gap) == nil)
        let many = String(repeating: "{$", count: 30_000)
        #expect(
            try edge(media("#EXTINF:2,", "#EXT-X-GAP", many + "}", "#EXTINF:2,", "a.ts")) == nil)
        let failure = #expect(throws: Failure.self) {
            try edge(media("#EXTINF:2,", "#EXT-X-GAP", "/v/b.ts", "#EXTINF:2,", "http://user@x/y"))
        }
        #expect(failure?.code == "manifest.uriRefused")
    }

    /// With and without a rewritten line.
    @Test(.computing) func theEdgeTakesSoMuch() throws {
        let lines = String(
            repeating: "#EXTINF:2,\n\(String(repeating: "a", count: 180))\n", count: 35_000)
        let text = "#EXTM3U\n\(lines)#EXT-X-ENDLIST\n"
        #expect(try edge(text) == nil)
        let failure = #expect(throws: Failure.self) {
            try edge(text.replacing("\n#EXT-X-ENDLIST", with: "\n#EXTINF:2,\n/v/b\n#EXT-X-ENDLIST"))
        }
        #expect(failure?.code == "manifest.tooLarge")
    }

    @Test func aSnapshotHasEnded() throws {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts"
        #expect(try edge(text, takesSnapshots: true) == text + "\n#EXT-X-ENDLIST\n")
        let failure = #expect(throws: Failure.self) { try edge(text) }
        #expect(failure?.code == "manifest.live")
    }

    @Test func linesEndAsTheyDid() throws {
        let text = "#EXTM3U\r\n#EXTINF:2,\r\n  /v/a.ts  \r\n#EXT-X-ENDLIST"
        #expect(try edge(text) == "#EXTM3U\r\n#EXTINF:2,\r\n  a.ts  \r\n#EXT-X-ENDLIST")
    }
}
