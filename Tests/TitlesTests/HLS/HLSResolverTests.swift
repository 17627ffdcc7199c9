import Model
import TestSupport
import Testing
import Titles
import WebURL

@Suite struct HLSResolverTests {
    /// Playlists by URL; a value that starts with `→` is a redirect.
    typealias Origin = [String: String]

    /// Runs a resolver against `origin` and returns its segments as `role url` or `role url as
    /// key`.
    static func resolve(
        _ manifest: String, _ origin: Origin
    ) throws(Failure) -> [ResolvedSegment] {
        var resolver = try TitleResolver(url: manifest, kind: .hls)
        var asked: Set<String> = []
        while !resolver.isComplete {
            let requests = resolver.next()
            #expect(!requests.isEmpty, "nothing to fetch and not complete")
            if requests.isEmpty { break }
            // In reverse order, as responses come in any order.
            for request in requests.reversed() {
                #expect(asked.insert(request.url).inserted, "\(request.url) is fetched twice")
                var finalURL = request.url
                var body = origin[finalURL] ?? ""
                if body.hasPrefix("→") {
                    finalURL = String(body.dropFirst())
                    body = origin[finalURL] ?? ""
                }
                try resolver.receive(
                    request, finalURL: finalURL, body: [UInt8](body.utf8),
                    sha256: "sha-of-\(request.url)")
            }
        }
        #expect(resolver.next().isEmpty)
        return Array(try resolver.segments())
    }

    static func failure(_ manifest: String, _ origin: Origin) -> Failure? {
        do throws(Failure) {
            _ = try resolve(manifest, origin)
            return nil
        } catch {
            return error
        }
    }

    private static func media(_ lines: String...) -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:6\n"
            + lines.map { $0.hasPrefix("#") ? $0 : "#EXTINF:6,\n\($0)" }.joined(separator: "\n")
            + "\n#EXT-X-ENDLIST\n"
    }

    @Test func aTitleIsListedInTheOrderOfFetching() throws {
        let segments = try Self.resolve(
            "http://h/t/main.m3u8",
            [
                "http://h/t/main.m3u8": """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="de",URI="de.m3u8"
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",URI="en.m3u8"
                #EXT-X-SESSION-DATA:DATA-ID="d",URI="data.json"
                #EXT-X-SESSION-KEY:METHOD=AES-128,URI="key"
                #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"
                low.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO="a"
                high.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=3,AUDIO="b"
                low.m3u8#again

                """,
                "http://h/t/low.m3u8": Self.media(
                    "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"", "#EXT-X-MAP:URI=\"low.mp4\"", "l1.m4s",
                    "l2.m4s"),
                "http://h/t/high.m3u8": Self.media("#EXT-X-MAP:URI=\"high.mp4\"", "h1.m4s"),
                "http://h/t/i.m3u8": Self.media("#EXT-X-I-FRAMES-ONLY", "l2.m4s", "l1.m4s"),
                "http://h/t/en.m3u8": Self.media("a1.aac"),
                "http://h/t/de.m3u8": Self.media("1.vtt"),
            ])
        #expect(
            segments.map { "\($0.role) \($0.key)" } == [
                "key h/t/key", "init h/t/low.mp4", "media h/t/l1.m4s", "media h/t/l2.m4s",
                "init h/t/high.mp4", "media h/t/h1.m4s", "media h/t/a1.aac", "subtitles h/t/1.vtt",
                "data h/t/data.json", "playlist h/t/de.m3u8", "playlist h/t/en.m3u8",
                "playlist h/t/i.m3u8", "playlist h/t/low.m3u8", "playlist h/t/high.m3u8",
                "playlist h/t/main.m3u8",
            ])
        #expect(segments.map(\.ordinal) == Array(0..<15))
        #expect(segments.map(\.url) == segments.map { "http://\($0.key)" })
        let manifest = try #require(segments.last)
        #expect(manifest.sha256 == "sha-of-http://h/t/main.m3u8")
        #expect(segments.filter { $0.sha256 != nil }.allSatisfy { $0.role == .playlist })
        #expect(segments.filter { $0.role == .playlist }.allSatisfy { ($0.bytes ?? 0) > 0 })
    }

    @Test func aMediaPlaylistIsATitle() throws {
        let segments = try Self.resolve(
            "http://h/a.m3u8?x=1", ["http://h/a.m3u8?x=1": Self.media("1.ts", "2.ts", "1.ts")])
        #expect(segments.map(\.key) == ["h/1.ts", "h/2.ts", "h/a.m3u8?x=1"])
    }

    @Test func variablesReachTheMediaPlaylists() throws {
        let segments = try Self.resolve(
            "http://h/m.m3u8",
            [
                "http://h/m.m3u8":
                    "#EXTM3U\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"v\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
                    + "{$p}.m3u8",
                "http://h/v.m3u8": Self.media("#EXT-X-DEFINE:IMPORT=\"p\"", "{$p}.ts"),
            ])
        #expect(segments.map(\.key) == ["h/v.ts", "h/v.m3u8", "h/m.m3u8"])
    }

    @Test func redirectsMoveTheBytesButNotTheKeys() throws {
        // A player at the edge resolves references against the manifest's stored location.
        let segments = try Self.resolve(
            "http://h/t/m.m3u8",
            [
                "http://h/t/m.m3u8": "→http://far/x/y/m.m3u8",
                "http://far/x/y/m.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv/v.m3u8\n",
                "http://far/x/y/v/v.m3u8": "→http://farther/v.m3u8",
                "http://farther/v.m3u8": Self.media("1.ts", "/2.ts", "http://abs/3.ts"),
            ])
        #expect(
            segments.map { "\($0.url) → \($0.key)" } == [
                "http://farther/1.ts → h/t/v/1.ts", "http://farther/2.ts → h/2.ts",
                "http://abs/3.ts → abs/3.ts", "http://far/x/y/v/v.m3u8 → h/t/v/v.m3u8",
                "http://h/t/m.m3u8 → h/t/m.m3u8",
            ])
    }

    private static func variant(_ uris: String...) -> String {
        "#EXTM3U\n" + uris.map { "#EXT-X-STREAM-INF:BANDWIDTH=1\n\($0)\n" }.joined()
    }

    @Test func titlesThatGoInCirclesAreRefused() {
        let itself = Self.failure("http://h/m.m3u8", ["http://h/m.m3u8": Self.variant("m.m3u8")])
        #expect(
            itself
                == Failure(
                    "manifest.malformed", "http://h/m.m3u8 line 3: the playlist names itself"))
        let deeper = Self.failure(
            "http://h/m.m3u8",
            [
                "http://h/m.m3u8": Self.variant("n.m3u8"),
                "http://h/n.m3u8": Self.variant("m.m3u8"),
            ])
        #expect(deeper?.code == "manifest.malformed")
        let segment = Self.failure("http://h/m.m3u8", ["http://h/m.m3u8": Self.media("m.m3u8")])
        #expect(
            segment
                == Failure(
                    "manifest.malformed", "http://h/m.m3u8: a manifest is listed as a segment"))
    }

    @Test func oneBadPartFailsTheTitle() {
        let live = Self.failure(
            "http://h/m.m3u8",
            [
                "http://h/m.m3u8": Self.variant("a.m3u8", "b.m3u8"),
                "http://h/a.m3u8": Self.media("1.ts"),
                "http://h/b.m3u8": "#EXTM3U\n#EXTINF:6,\n2.ts\n",
            ])
        #expect(live?.code == "manifest.live")
        #expect(live?.message.hasPrefix("http://h/b.m3u8:") == true)
        let gaps = Self.failure(
            "http://h/m.m3u8", ["http://h/m.m3u8": Self.media("#EXT-X-GAP", "1.ts")])
        #expect(gaps?.code == "manifest.empty")
        let refused = Self.failure(
            "http://h/m.m3u8", ["http://h/m.m3u8": Self.media("..%2F..%2Fetc/passwd")])
        #expect(refused?.code == "storage.pathRefused")
    }

    @Test func statedBitRatesMakeTheEstimate() throws {
        let text = """
            #EXTM3U
            #EXTINF:4,
            0.ts
            #EXT-X-BITRATE:800
            #EXTINF:4,
            1.ts
            #EXTINF:2,
            #EXT-X-BYTERANGE:10@0
            2.ts
            #EXT-X-BITRATE:400
            #EXTINF:2,
            3.ts
            #EXT-X-ENDLIST
            """
        var body = [UInt8](text.utf8)
        let listing = try ManifestListing.read(
            &body, url: try WebURL("http://h/m.m3u8"), kind: .hls)
        #expect(listing.sums.map(\.estimatedBytes) == [500_010])
    }

    @Test func keysThatMeetAreAConflict() {
        let same = Self.failure(
            "http://h/m.m3u8", ["http://h/m.m3u8": Self.media("a//b.ts", "a/b.ts")])
        #expect(
            same
                == Failure(
                    "storage.pathConflict",
                    "http://h/a/b.ts and http://h/a//b.ts would both be stored as h/a/b.ts"))
        for lines in [
            ["x", "x/1.ts"], ["x/y/1.ts", "x"], ["d/0.ts", "d/1.ts", "x/0.ts", "x/1.ts", "x"],
            ["x", "d/0.ts", "x/y/z/0.ts", "x/y/z/1.ts"], ["x", "%78/0.ts"], ["x", "x//y/0.ts"],
            ["x", "d/x", "x/"], ["x", "x/0.ts?a=/../b"],
        ] {
            let folder = Self.failure(
                "http://h/m.m3u8",
                ["http://h/m.m3u8": Self.media(lines.joined(separator: "\n#EXTINF:4,\n"))])
            #expect(folder?.code == "storage.pathConflict")
            #expect(folder?.message.hasPrefix("http://h/x is a file, and") == true)
        }
    }

    @Test func playlistsAreBounded() throws {
        var resolver = try TitleResolver(url: "http://h/m.m3u8", kind: .hls)
        let request = try #require(resolver.next().first)
        let body =
            "#EXTM3U\n"
            + (0..<1_000).map {
                "#EXT-X-STREAM-INF:BANDWIDTH=1\n\($0).m3u8\n"
            }.joined()
        #expect {
            try resolver.receive(
                request, finalURL: request.url, body: [UInt8](body.utf8), sha256: "")
        } throws: {
            ($0 as? Failure)?.code == "manifest.tooMany"
        }
    }

    @Test func fewPlaylistsAreAwaitedAtATime() throws {
        var origin: Origin = ["http://h/m.m3u8": "#EXTM3U\n"]
        for number in 0..<100 {
            origin["http://h/m.m3u8", default: ""] +=
                "#EXT-X-STREAM-INF:BANDWIDTH=1\n\(number).m3u8\n"
            origin["http://h/\(number).m3u8"] = Self.media("\(number).ts")
        }
        #expect(try Self.resolve("http://h/m.m3u8", origin).count == 201)

        var resolver = try TitleResolver(url: "http://h/m.m3u8", kind: .hls)
        let manifest = try #require(resolver.next().first)
        try resolver.receive(
            manifest, finalURL: manifest.url, body: [UInt8](origin[manifest.url, default: ""].utf8),
            sha256: "")
        let requests = resolver.next()
        #expect(requests.count == TitleResolver.requestsAtOnce)
        #expect(resolver.next().isEmpty)
        let answered = requests[3]
        try resolver.receive(
            answered, finalURL: answered.url, body: [UInt8](origin[answered.url, default: ""].utf8),
            sha256: "")
        #expect(resolver.next().count == 1)
    }

    @Test func aSecondAnswerIsIgnored() throws {
        var resolver = try TitleResolver(url: "http://h/m.m3u8", kind: .hls)
        let request = try #require(resolver.next().first)
        let body = [UInt8](Self.media("1.ts").utf8)
        try resolver.receive(request, finalURL: request.url, body: body, sha256: "a")
        try resolver.receive(request, finalURL: request.url, body: body, sha256: "b")
        #expect(resolver.isComplete)
        #expect(try resolver.segments().map(\.sha256) == [nil, "a"])
    }

    @Test func otherKindsAreNotResolved() {
        #expect {
            try TitleResolver(url: "http://h/m.mp4", kind: .file)
        } throws: {
            ($0 as? Failure)?.code == "manifest.unsupported"
        }
        #expect {
            try TitleResolver(url: "file:///m.m3u8", kind: .hls)
        } throws: {
            ($0 as? Failure)?.code == "input.url"
        }
    }

    @Test func anObjectOfSeveralRolesIsAsLargeAsMediaMayBe() throws {
        let segments = try Self.resolve(
            "http://h/m.m3u8",
            [
                "http://h/m.m3u8": Self.media(
                    "#EXT-X-MAP:URI=\"a.mp4\",BYTERANGE=\"10@0\"", "#EXT-X-BYTERANGE:5@10",
                    "a.mp4", "#EXT-X-BYTERANGE:5", "a.mp4")
            ])
        #expect(segments.map { "\($0.role) \($0.key)" } == ["media h/a.mp4", "playlist h/m.m3u8"])
    }
}
