import Model
import TestSupport
import Testing
import Titles
import WebURL

/// A playlist that breaks a rule, but that players play.
struct LenientPlaylist: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String
    /// Its references in the form of `PlaylistCase`, with the seconds of segments.
    let expected: [String]
    /// A rule, its line, and the number of violations.
    let warnings: [String]
    /// The failure of a strict parse.
    let rejection: String

    var testDescription: String { name }

    init(
        _ name: String, _ lines: String, _ expected: [String], warns warnings: String...,
        strict rejection: String
    ) {
        self.name = name
        text = lines
        self.expected = expected
        self.warnings = warnings
        self.rejection = rejection
    }

    func playlist(_ policy: ManifestPolicy) throws(Failure) -> HLSPlaylist {
        try HLSPlaylist.parse(
            [UInt8](text.utf8), url: try PlaylistCase.url("http://h/p.m3u8"), policy: policy)
    }

    private static let mixed =
        "it mixes tags of a media playlist and of a multivariant playlist"

    static let all = [
        LenientPlaylist(
            "no #EXTM3U", "#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST",
            ["media", "media http://h/a.ts 6.0s"], warns: "hls.header 1 ×1",
            strict: "line 1: a playlist starts with #EXTM3U"),
        LenientPlaylist(
            "a comment before #EXTM3U", "# made by hand\n#EXTM3U\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST",
            ["media", "media http://h/a.ts 6.0s"], warns: "hls.header 1 ×1",
            strict: "line 1: a playlist starts with #EXTM3U"),
        LenientPlaylist(
            "durations that are missing or malformed",
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:7
            #EXTINF:,title
            a.ts
            #EXTINF
            b.ts
            #EXTINF:-1,title
            c.ts
            #EXTINF:99999999999,
            d.ts
            #EXTINF:6
            e.ts
            #EXT-X-ENDLIST
            """,
            [
                "media", "media http://h/a.ts 7.0s", "media http://h/b.ts 7.0s",
                "media http://h/c.ts 7.0s", "media http://h/d.ts 7.0s", "media http://h/e.ts 6.0s",
            ], warns: "hls.duration 3 ×4", strict: "line 3: EXTINF has no duration"),
        LenientPlaylist(
            "a first byte range without an offset",
            """
            #EXTM3U
            #EXTINF:1,
            #EXT-X-BYTERANGE:100
            a.ts
            #EXTINF:1,
            #EXT-X-BYTERANGE:50
            a.ts
            #EXTINF:1,
            #EXT-X-BYTERANGE:10
            b.ts
            #EXT-X-ENDLIST
            """,
            [
                "media", "media http://h/a.ts 0+100 1.0s", "media http://h/a.ts 100+50 1.0s",
                "media http://h/b.ts 0+10 1.0s",
            ], warns: "hls.rangeOffset 4 ×2", strict: "line 4: EXT-X-BYTERANGE has no offset"),
        LenientPlaylist(
            "byte ranges that are none",
            """
            #EXTM3U
            #EXT-X-MAP:URI="i.mp4",BYTERANGE="0"
            #EXTINF:1,
            #EXT-X-BYTERANGE:-5@3
            a.ts
            #EXTINF:1,
            #EXT-X-BYTERANGE:2@999999999999999999
            b.ts
            #EXT-X-ENDLIST
            """,
            [
                "media", "init http://h/i.mp4", "media http://h/a.ts 1.0s",
                "media http://h/b.ts 1.0s",
            ], warns: "hls.range 2 ×3", strict: "line 2: EXT-X-BYTERANGE is not length"),
        LenientPlaylist(
            "tags of segments in a multivariant playlist",
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:6
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-KEY:METHOD=AES-128,URI="k"
            #EXT-X-STREAM-INF:BANDWIDTH=1
            #EXTINF:6,
            a.m3u8
            #EXT-X-ENDLIST
            """, ["multivariant", "variant http://h/a.m3u8"], warns: "hls.mixedTags 2 ×5",
            strict: "line 5: \(mixed)"),
        LenientPlaylist(
            "tags of variants in a media playlist",
            """
            #EXTM3U
            #EXT-X-SESSION-DATA:DATA-ID="a",URI="d.json"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="a.m3u8"
            #EXT-X-TARGETDURATION:6
            #EXTINF:6,
            a.ts
            #EXT-X-ENDLIST
            """, ["media", "media http://h/a.ts 6.0s"], warns: "hls.mixedTags 2 ×2",
            strict: "line 4: \(mixed)"),
        LenientPlaylist(
            "URIs that nothing announces in a multivariant playlist",
            "#EXTM3U\nx.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\ny.m3u8\n",
            ["multivariant", "variant http://h/a.m3u8"], warns: "hls.strayURI 2 ×2",
            strict: "line 2: a multivariant playlist has a URI"),
        LenientPlaylist(
            "a variant without a URI before another one",
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb.m3u8",
            ["multivariant", "variant http://h/b.m3u8"], warns: "hls.variantURI 2 ×1",
            strict: "line 2: no URI follows EXT-X-STREAM-INF"),
        LenientPlaylist(
            "I-frames without a URI",
            "#EXTM3U\n#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb.m3u8",
            ["multivariant", "variant http://h/b.m3u8"], warns: "hls.requiredURI 2 ×1",
            strict: "line 2: a tag has no URI"),
        LenientPlaylist(
            "an attribute twice",
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a\",BANDWIDTH=2\nb.m3u8",
            ["multivariant", "variant http://h/b.m3u8"], warns: "hls.attribute 2 ×1",
            strict: "line 2: the attribute BANDWIDTH occurs twice"),
        LenientPlaylist(
            "video on demand without an end",
            "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:6,\na.ts\n",
            ["media", "media http://h/a.ts 6.0s"], warns: "hls.end 2 ×1",
            strict: "it is live, or it was cut short"),
    ]
}

@Suite struct LenientPlaylistTests {
    @Test(arguments: LenientPlaylist.all)
    func whatPlayersPlayIsReadWithAWarning(_ broken: LenientPlaylist) throws {
        let playlist = try broken.playlist(.lenient)
        let children = playlist.children.map { "\($0.rendition) \($0.reference.url.text)" }
        let segments = playlist.segments.map { segment in
            let range = segment.range.map { " \($0.offset)+\($0.length ?? -1)" } ?? ""
            let seconds = segment.durationSeconds.map { " \($0)s" } ?? ""
            return "\(segment.role) \(segment.reference.url.text)\(range)\(seconds)"
        }
        #expect(["\(playlist.kind)"] + children + segments == broken.expected)
        #expect(!playlist.isLive)
        #expect(Self.lines(playlist.warnings) == broken.warnings)
        #expect(
            playlist.warnings.first.allSatisfy {
                $0.manifest == "http://h/p.m3u8" && $0.source.hasPrefix("RFC 8216, 4")
            })
    }

    static func lines(_ warnings: ManifestWarnings) -> [String] {
        warnings.first.map { "\($0.rule) \($0.line ?? 0) ×\($0.count)" }
    }

    @Test(arguments: LenientPlaylist.all)
    func aStrictReadingRefusesIt(_ broken: LenientPlaylist) {
        let failure = #expect(throws: Failure.self) { try broken.playlist(.strict) }
        #expect(
            failure?.code == (broken.name.contains("end") ? "manifest.live" : "manifest.malformed"))
        #expect(failure?.message.contains(broken.rejection) == true, "\(failure as Any)")
    }

    /// Ambiguous bytes are rejected under every policy.
    @Test(
        arguments: [
            ("[playlist]\nFile1=a.mp3", "a playlist starts with #EXTM3U"),
            ("a.ts\nb.ts\n", "a playlist starts with #EXTM3U"),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n#EXTINF:6,\nb.ts\n#EXT-X-ENDLIST",
                "line 5: a multivariant playlist has a URI"
            ),
            (
                "#EXTM3U\n#EXTINF:6,\nb.ts\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8",
                "line 3: a multivariant playlist has a URI"
            ),
            ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n", "line 2: no URI follows"),
            ("#EXTM3U\n#EXT-X-MAP:URI=\"a\",URI=\"b\"\n#EXT-X-ENDLIST", "the attribute URI"),
            ("#EXTM3U\n#EXT-X-MAP:BYTERANGE=\"1@0\"\n#EXT-X-ENDLIST", "a tag has no URI"),
            ("#EXTM3U\n#EXT-X-KEY:URI=\"k\"\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST", "no METHOD"),
        ])
    func whatIsOpenIsRefused(text: String, rejection: String) throws {
        let failure = #expect(throws: Failure.self) {
            try HLSPlaylist.parse([UInt8](text.utf8), url: WebURL("http://h/p.m3u8"))
        }
        #expect(failure?.code == "manifest.malformed")
        #expect(failure?.message.contains(rejection) == true, "\(failure as Any)")
    }

    /// A playlist may break a rule half a million times, and a title may have a thousand playlists.
    @Test func warningsAreBounded() throws {
        let text =
            "#EXTM3U\n" + String(repeating: "#EXTINF:,\na\n", count: 10_000) + "#EXT-X-ENDLIST"
        let playlist = try HLSPlaylist.parse([UInt8](text.utf8), url: WebURL("http://h/p.m3u8"))
        #expect(Self.lines(playlist.warnings) == ["hls.duration 2 ×10000"])

        var all = ManifestWarnings()
        for number in 0..<300 {
            all.add(.hlsDuration, in: "http://h/\(number)", line: 1) {
                String(repeating: "e\u{301}", count: 5_000)
            }
        }
        #expect(all.count == 300)
        #expect(all.first.count == ManifestWarnings.maxKept)
        #expect(
            all.first.allSatisfy {
                $0.message.unicodeScalars.count == ManifestWarnings.textCharacters
            })
    }

    /// A variant without a URI cannot be selected.
    @Test func aChoiceIsMadeOfWhatIsThere() throws {
        let text =
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=3000\n#EXT-X-STREAM-INF:BANDWIDTH=9000\nb.m3u8\n"
        var options = TitleOptions()
        options.tracks.preferredBitsPerSecond = 3_000
        var resolver = try TitleResolver(url: "http://h/p.m3u8", kind: .hls, options: options)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: request.url, body: [UInt8](text.utf8), sha256: "")
        }
        #expect(resolver.next().map(\.url) == ["http://h/b.m3u8"])
    }

    /// A title collects the warnings of its playlists, and its options decide.
    @Test func aTitleHasTheWarningsOfItsPlaylists() throws {
        let origin = [
            "http://h/p.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\nstray\n",
            "http://h/a.m3u8": "#EXTM3U\n#EXTINF:\na.ts\n#EXT-X-ENDLIST\n",
        ]
        func resolved(_ isStrict: Bool) throws(Failure) -> ResolvedSegments {
            var options = TitleOptions()
            options.isStrict = isStrict ? true : nil
            var resolver = try TitleResolver(url: "http://h/p.m3u8", kind: .hls, options: options)
            while !resolver.isComplete {
                for request in resolver.next() {
                    try resolver.receive(
                        request, finalURL: request.url,
                        body: [UInt8]((origin[request.url] ?? "").utf8), sha256: "")
                }
            }
            let segments = try resolver.segments()
            #expect(try resolver.listing().warnings == segments.warnings)
            return segments
        }
        let warnings = try resolved(false).warnings
        #expect(
            warnings.first.map(\.text) == [
                "http://h/p.m3u8 line 4: no EXT-X-STREAM-INF announces this URI; it is ignored "
                    + "(hls.strayURI; RFC 8216, 4.3.4.2)",
                "http://h/a.m3u8 line 2: EXTINF has no duration; the target duration is used "
                    + "(hls.duration; RFC 8216, 4.3.2.1)",
            ])
        #expect(throws: Failure.self) { try resolved(true) }
    }
}
