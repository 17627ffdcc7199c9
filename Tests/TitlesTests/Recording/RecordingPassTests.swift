import Foundation
import Model
import Testing
import WebURL

@testable import Titles

/// What each reading of a live playlist adds to a recording.
@Suite struct RecordingPassTests {
    private static let url = "https://live.example/t/live.m3u8"

    private static func read(
        _ texts: [String: String], after cursor: RecordingCursor? = nil
    ) throws -> RecordingPass? {
        var options = TitleOptions()
        options.records = true
        var resolver = try TitleResolver(
            url: Self.url, kind: .hls, options: options, following: cursor)
        while !resolver.isComplete {
            for request in resolver.next() {
                let text = try #require(texts[request.url], "\(request.url)")
                try resolver.receive(
                    request, finalURL: request.url, body: Array(text.utf8), sha256: "")
            }
        }
        return try resolver.recordingPass(after: cursor)
    }

    private static func read(
        _ text: String, after cursor: RecordingCursor? = nil
    ) throws -> RecordingPass {
        try #require(try read([url: text], after: cursor))
    }

    private static func list(_ first: Int, _ names: [String], _ tags: String = "") -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:\(first)\n" + tags
            + names.map { "#EXTINF:4,\n\($0)\n" }.joined()
    }

    @Test func onlyNewSegmentsAreAdded() throws {
        let first = try Self.read(Self.list(5, ["a.ts", "b.ts"]))
        #expect(first.update.entries.map(\.sequence) == [5, 6])
        #expect(first.objects.map(\.key) == ["live.example/t/a.ts", "live.example/t/b.ts"])
        #expect(first.update.reloadSeconds == 4)
        let same = try Self.read(Self.list(5, ["a.ts", "b.ts"]), after: first.update.cursor)
        #expect(same.update.entries.isEmpty && same.update.reloadSeconds == 2)
        // An older copy of a cache.
        let older = try Self.read(Self.list(4, ["z.ts", "a.ts"]), after: same.update.cursor)
        #expect(older.update.entries.isEmpty)
        let next = try Self.read(Self.list(6, ["b.ts", "c.ts"]), after: older.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [7])
        #expect(next.update.entries[0].missed == 0)
        let jump = try Self.read(Self.list(11, ["g.ts"]), after: next.update.cursor)
        #expect(jump.update.entries.map(\.sequence) == [11] && jump.update.entries[0].missed == 3)
        #expect(!jump.update.cursor.hasEnded)
        let end = try Self.read(
            Self.list(11, ["g.ts"]) + "#EXT-X-ENDLIST\n", after: jump.update.cursor)
        #expect(end.update.cursor.hasEnded && end.update.entries.isEmpty)
    }

    @Test func aPassIsBounded() throws {
        let names = (0..<4_000).map { "\($0).ts" }
        var cursor: RecordingCursor?
        var found: [Int64] = []
        repeat {
            let pass = try Self.read(Self.list(0, names), after: cursor)
            #expect(pass.update.entries.count <= RecordingPass.maxEntries)
            found += pass.update.entries.map(\.sequence)
            cursor = pass.update.cursor
            let isLast = found.count == names.count
            #expect((pass.update.reloadSeconds == 0) == !isLast, "\(found.count)")
            #expect((pass.update.behindSeconds > 0) == !isLast)
        } while found.count < names.count && cursor != nil
        #expect(found == Array(0..<4_000))
    }

    @Test(arguments: [
        ("nan", 1), ("-nan", 1), ("inf", 60), ("-inf", 1), ("-4", 1), ("1e300", 60),
        ("99999999999999999999", 60), ("4.2", 5), ("four", 1), ("", 1),
    ])
    func anOddTargetDurationIsBounded(stated: String, reloadSeconds: Double) throws {
        let text = Self.list(1, ["a.ts"]).replacing(
            "TARGETDURATION:4", with: "TARGETDURATION:\(stated)")
        let pass = try Self.read(text)
        #expect(pass.update.reloadSeconds == reloadSeconds)
        #expect((1...86_400).contains(pass.update.cursor.playlists[0].targetSeconds))
    }

    @Test func keysAndInitializationSectionsAreListedOnChanges() throws {
        let setup = "#EXT-X-KEY:METHOD=AES-128,URI=\"k1\"\n#EXT-X-MAP:URI=\"i.mp4\"\n"
        let first = try Self.read(Self.list(1, ["a.m4s", "b.m4s"], setup))
        #expect(first.update.entries[0].setup == setup && first.update.entries[1].setup == nil)
        #expect(first.objects.map(\.role) == [.key, .`init`, .media, .media])
        // The origin lists both again; the key is another one.
        let next = try Self.read(
            Self.list(2, ["b.m4s"], setup)
                + "#EXT-X-KEY:METHOD=AES-128,URI=\"k2\"\n#EXTINF:4,\nc.m4s\n",
            after: first.update.cursor)
        #expect(
            next.update.entries[0].setup
                == "#EXT-X-KEY:METHOD=AES-128,URI=\"k2\"\n#EXT-X-MAP:URI=\"i.mp4\"\n")
        #expect(next.objects.first?.key == "live.example/t/k2")
        let clear = try Self.read(
            Self.list(4, ["d.m4s"], "#EXT-X-MAP:URI=\"i.mp4\"\n"), after: next.update.cursor)
        #expect(clear.update.entries[0].setup?.hasPrefix("#EXT-X-KEY:METHOD=NONE\n") == true)
    }

    @Test func anInitializationSectionAfterADiscontinuityHasItsOwnName() throws {
        let map = "#EXT-X-MAP:URI=\"i.mp4\"\n"
        let restarted = "#EXT-X-DISCONTINUITY\n\(map)#EXTINF:4,\nc.m4s\n"
        let first = try Self.read(Self.list(1, ["a.m4s", "b.m4s"], map) + restarted)
        let keys = first.objects.filter { $0.role == .`init` }.map(\.key)
        #expect(keys == ["live.example/t/i.mp4", "live.example/t/i~d1.mp4"])
        // The window moves on: the same section, by the same name.
        let next = try Self.read(
            Self.list(2, ["b.m4s"], map) + restarted + "#EXTINF:4,\nd.m4s\n",
            after: first.update.cursor)
        #expect(next.update.entries.map(\.sequence) == [4])
        #expect(next.update.entries[0].setup == nil)
    }

    @Test func whatIsNotLiveIsNotRecorded() throws {
        #expect(
            try Self.read([Self.url: Self.list(1, ["a.ts"]) + "#EXT-X-ENDLIST\n"]) == nil)
    }

    /// Receives the requested playlists, which are those of `texts`.
    private static func receive(
        _ texts: [String: String], _ resolver: inout TitleResolver
    ) throws {
        let requests = resolver.next()
        #expect(Set(requests.map(\.url)) == Set(texts.keys))
        for request in requests {
            let text = try #require(texts[request.url])
            try resolver.receive(
                request, finalURL: request.url, body: Array(text.utf8), sha256: "")
        }
    }

    /// Reads a title with an I-frame playlist, up to its media playlist.
    private static func readWithIFrames(isLive: Bool) throws -> TitleResolver {
        var options = TitleOptions()
        options.records = true
        var resolver = try TitleResolver(url: url, kind: .hls, options: options)
        let manifest =
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\nv.m3u8\n"
            + "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\"\n"
        try receive([url: manifest], &resolver)
        let media = list(1, ["a.ts"]) + (isLive ? "" : "#EXT-X-ENDLIST\n")
        try receive(["https://live.example/t/v.m3u8": media], &resolver)
        #expect(resolver.isComplete)
        return resolver
    }

    private static let audio = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",LANGUAGE=\"en\",NAME="

    private static func offering(_ tags: String, session: Int = 1) -> String {
        "#EXTM3U\n\(audio)\"One\",URI=\"a.m3u8?s=\(session)\"\n\(tags)"
            + "#EXT-X-STREAM-INF:BANDWIDTH=\(session),AUDIO=\"a\"\nv.m3u8?s=\(session)\n"
    }

    /// Reads the playlists of a title; its manifest too if it is due.
    private static func look(
        _ manifest: String?, after cursor: RecordingCursor?, isDue: Bool = true
    ) throws -> RecordingPass {
        var cursor = cursor
        if isDue { cursor?.unreadSeconds = RecordingCursor.maxUnreadSeconds }
        var options = TitleOptions()
        options.records = true
        options.tracks.maximumHeight = 1_080
        var resolver = try TitleResolver(
            url: url, kind: .hls, options: options, following: cursor)
        while !resolver.isComplete {
            for request in resolver.next() {
                #expect(request.isOptional == (cursor != nil && request.url == url))
                let text = request.url == url ? manifest : list(1, ["a.ts"])
                if let text {
                    try resolver.receive(
                        request, finalURL: request.url, body: Array(text.utf8), sha256: "")
                } else {
                    resolver.receiveOptional(request, nil)
                }
            }
        }
        return try #require(try resolver.recordingPass(after: cursor))
    }

    /// It is named once, and not recorded: the stored title would lack its beginning.
    @Test func aRenditionThatJoinsIsNamed() throws {
        let first = try Self.look(Self.offering(""), after: nil)
        #expect(first.update.joined == nil && first.update.cursor.playlists.count == 2)
        // Between its readings.
        let early = try Self.look(
            "never read", after: first.update.cursor, isDue: false)
        #expect(early.update.cursor.unreadSeconds == 6)
        // Another session, with bit rates measured anew.
        let same = try Self.look(
            Self.offering("", session: 2), after: early.update.cursor)
        #expect(same.update.joined == nil && same.update.cursor.unreadSeconds == 2)
        let more =
            "\(Self.audio)\"Two\",URI=\"b.m3u8\"\n\(Self.audio)\"In band\"\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=9,RESOLUTION=1920x1080,AUDIO=\"a\"\nhd.m3u8\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=99,RESOLUTION=3840x2160,AUDIO=\"a\"\nuhd.m3u8\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=8,AUDIO=\"a\"\nagain.m3u8\n"
        let joined = try Self.look(Self.offering(more), after: same.update.cursor)
        let names = joined.update.joined ?? []
        #expect(names.count == 3, "\(names)")
        #expect(names.contains { $0.hasPrefix("audio rendition Two (en") }, "\(names)")
        #expect(names.contains { $0.hasPrefix("variant (1920x1080") }, "\(names)")
        #expect(joined.update.cursor.playlists.count == 2)
        let again = try Self.look(Self.offering(more), after: joined.update.cursor)
        #expect(again.update.joined == nil)
        // What cannot be read is no reason to stop.
        for manifest in [nil, "<html>", Self.list(1, ["a.ts"])] {
            let unread = try Self.look(manifest, after: again.update.cursor)
            #expect(unread.update.joined == nil && unread.update.cursor.unreadSeconds == 2)
        }
    }

    private static let frames =
        list(1, []) + "#EXT-X-I-FRAMES-ONLY\n#EXTINF:4,\n#EXT-X-BYTERANGE:100@0\na.ts\n"

    /// A recording has no use for it; a title that had ended before is stored with it.
    @Test(arguments: [false, true])
    func anIFramePlaylistIsReadIfTheTitleHadEnded(isLive: Bool) throws {
        var resolver = try Self.readWithIFrames(isLive: isLive)
        let pass = try resolver.recordingPass(after: nil)
        #expect((pass != nil) == isLive)
        guard pass == nil else { return }
        let isAny = try resolver.addPlaylistsLeftOut()
        #expect(isAny && !resolver.isComplete)
        try Self.receive(
            ["https://live.example/t/i.m3u8": Self.frames + "#EXT-X-ENDLIST\n"], &resolver)
        #expect(resolver.isComplete)
        let names = ["a.ts", "v.m3u8", "i.m3u8", "live.m3u8"]
        #expect(try resolver.segments().map(\.key) == names.map { "live.example/t/\($0)" })
    }

    /// It would be stored as if it were whole.
    @Test func anIFramePlaylistThatHasNotEndedIsReadAgainLater() throws {
        var resolver = try Self.readWithIFrames(isLive: false)
        #expect(try resolver.recordingPass(after: nil) == nil)
        #expect(try resolver.addPlaylistsLeftOut())
        try Self.receive(["https://live.example/t/i.m3u8": Self.frames], &resolver)
        let failure = #expect(throws: Failure.self) { try resolver.segments() }
        #expect(failure?.code == .manifestChanged)
        #expect(failure?.code.row.isRetryable == true)
        #expect(failure?.message.contains("i.m3u8") == true)
    }

    /// The file grows, and its window slides: each range is a file, which the playlist names.
    @Test func byteRangesAreFilesOfTheirOwn() throws {
        func range(_ text: String, _ name: String = "all.mp4") -> String {
            "#EXTINF:4,\n#EXT-X-BYTERANGE:\(text)\n\(name)\n"
        }
        let map = "#EXT-X-MAP:BYTERANGE=\"800@0\",URI=\"all.mp4\"\n"
        let first = try Self.read(Self.list(1, [], map) + range("100@800") + range("50"))
        let entries = first.update.entries
        #expect(entries.map(\.tags) == ["#EXTINF:4,\n", "#EXTINF:4,\n"])
        #expect(entries.map(\.uri) == ["all~b800-899.mp4", "all~b900-949.mp4"])
        #expect(
            entries.map(\.setup) == ["#EXT-X-MAP:URI=\"all~b0-799.mp4\"\n", nil])
        #expect(first.objects.map(\.objectOffset) == [0, 800, 900])
        #expect(first.objects.map(\.bytes) == [800, 100, 50])
        #expect(first.objects.map(\.role) == [.`init`, .media, .media])
        #expect(Set(first.objects.map(\.url)) == ["https://live.example/t/all.mp4"])
        #expect(Set(first.objects.map(\.key)).count == 3)
        let next = try Self.read(
            Self.list(2, [], map) + range("50@900") + range("70") + range("9@0", "b.mp4")
                + "#EXTINF:4,\nwhole.mp4\n",
            after: first.update.cursor)
        #expect(
            next.update.entries.map(\.uri)
                == ["all~b950-1019.mp4", "b~b0-8.mp4", "whole.mp4"])
        #expect(next.update.entries[0].setup == nil)
        #expect(next.objects.map(\.objectOffset) == [0, 950, 0, nil])
    }

    /// Names with marks are those of the stored files, whatever variables a later reading defines.
    @Test func variablesAreReplacedInNames() throws {
        func define(_ values: [(name: String, value: String)]) -> String {
            values.map { "#EXT-X-DEFINE:NAME=\"\($0.name)\",VALUE=\"\($0.value)\"\n" }.joined()
        }
        let setup = "#EXT-X-KEY:METHOD=AES-128,URI=\"{$k}\"\n#EXT-X-MAP:URI=\"{$i}\"\n"
        func text(_ first: Int, _ file: String, _ offset: Int) -> String {
            Self.list(
                first, [],
                define([("f", file), ("i", "i.mp4"), ("k", "/keys/k"), ("huge", long)]) + setup)
                + "#EXTINF:4,\n#EXT-X-BYTERANGE:100@\(offset)\n{$f}\n"
                + "#EXT-X-DISCONTINUITY\n\(setup)#EXTINF:4,\nv/{$i}\n"
                + "#EXTINF:4,\n#EXT-X-GAP\n{$f}\n"
                + "#EXTINF:4,\n#EXT-X-GAP\n\(String(repeating: "{$huge}", count: 100))\n"
        }
        let long = String(repeating: "x", count: WireLimits.urlBytes)
        let first = try Self.read(text(1, "all.ts", 0))
        #expect(
            first.update.entries.map { $0.uri.prefix(20) }
                == ["all~b0-99.ts", "v/i.mp4", "all.ts", "{$huge}{$huge}{$huge"])
        #expect(
            first.update.entries.map(\.setup) == [
                "#EXT-X-KEY:METHOD=AES-128,URI=\"../keys/k\"\n#EXT-X-MAP:URI=\"i.mp4\"\n",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"../keys/k\"\n#EXT-X-MAP:URI=\"i~d1.mp4\"\n",
                nil, nil,
            ])
        #expect(
            first.objects.map { $0.key.dropFirst("live.example/".count) } == [
                "keys/k", "t/i.mp4", "t/all~b0-99.ts", "t/i~d1.mp4", "t/v/i.mp4",
            ])
        let next = try Self.read(text(5, "b/all.ts", 100), after: first.update.cursor)
        #expect(next.update.entries.first?.uri == "b/all~b100-199.ts")
    }

    /// Bytes at a guess would be stored for good.
    @Test(arguments: ["100", "many", "100@"])
    func aByteRangeWithoutAPlaceIsRefused(range: String) {
        let text = Self.list(1, []) + "#EXTINF:4,\n#EXT-X-BYTERANGE:\(range)\nall.ts\n"
        let failure = #expect(throws: Failure.self) { try Self.read(text) }
        #expect(failure?.code == .manifestMalformed)
        #expect(failure?.message.contains("length@offset") == true)
    }

    @Test(arguments: [
        ("v/seg1.ts", "v/seg1~7.ts"), ("seg", "seg~7"), (".hidden", ".hidden~7"),
        ("v.d/seg", "v.d/seg~7"), ("seg.ts?a=1.5", "seg~7.ts?a=1.5"),
        ("a?b/c.ts", "a~7?b/c.ts"),
    ])
    func namesGetAMark(name: String, marked: String) {
        for form in [RecordedName.Form.uri, .key, .template] {
            #expect(RecordedName.marked(name, as: form, "7") == marked)
        }
    }

    /// The name of a key is that of its URI decoded.
    @Test(arguments: [
        ("seg.ts%3Fa=/b.c", "seg.ts?a=/b.c", "seg~7.ts?a=/b.c"),
        ("v/a.ts%3fb.c", "v/a.ts?b.c", "v/a~7.ts?b.c"),
        // The text `%3F` in a key is no query.
        ("v/a%253Fb.ts", "v/a%3Fb.ts", "v/a%3Fb~7.ts"),
        // A combining mark after a full stop or a slash.
        ("v/a.%CC%81ts", "v/a.\u{301}ts", "v/a~7.\u{301}ts"),
        ("v.d/%CC%81a", "v.d/\u{301}a", "v.d/\u{301}a~7"),
    ])
    func keysAndURIsGetTheSameName(uri: String, key: String, marked: String) {
        #expect(RecordedName.marked(key, as: .key, "7") == marked)
        for form in [RecordedName.Form.uri, .template] {
            #expect(RecordedName.marked(uri, as: form, "7").removingPercentEncoding == marked)
        }
    }

    /// `%+1` encodes nothing.
    @Test func onlyHexadecimalDigitsAreDecoded() {
        let name = String(repeating: "%+1", count: 84) + ".ts"
        let key = RecordedName.marked(name, as: .key, "7")
        #expect(key.utf8.count <= 255 && key.hasSuffix("~7.ts"))
        #expect(RecordedName.marked(name, as: .uri, "7") == key)
    }

    /// With its mark a file name has at most 255 bytes, as file systems allow, and the key is that of
    /// its URI.
    @Test(arguments: [
        (String(repeating: "s", count: 252), ".ts"), (String(repeating: "é", count: 126), ".ts"),
        (String(repeating: "s", count: 254), ""), (String(repeating: "a b%", count: 63), ".ts"),
        (String(repeating: "s", count: 247), ".ts?a=1"),
    ])
    func longNamesAreCutForTheirMark(stem: String, end: String) throws {
        let uri =
            "t/" + (try #require(stem.addingPercentEncoding(withAllowedCharacters: .alphanumerics)))
            + end.replacing("?", with: "%3F")
        var keys: Set<String> = []
        for other in ["1", "2"] {
            // They differ before the mark alone.
            let key = RecordedName.marked("t/\(stem.dropLast())\(other)\(end)", as: .key, "b0-99")
            #expect(key.dropFirst(2).utf8.count <= 255 && key.contains("~b0-99"))
            #expect(key.hasSuffix(end))
            keys.insert(key)
        }
        #expect(keys.count == 2)
        let key = RecordedName.marked("t/\(stem)\(end)", as: .key, "b0-99")
        let marked = RecordedName.marked(uri, as: .uri, "b0-99")
        #expect(marked.removingPercentEncoding == key)
        // A second mark too.
        let again = RecordedName.marked(key, as: .key, "123456789p2")
        #expect(again.dropFirst(2).utf8.count <= 255)
    }

    @Test func namesThatFitWithTheirMarkStay() {
        let stem = String(repeating: "s", count: 250)
        #expect(RecordedName.marked("t/\(stem).ts", as: .key, "7") == "t/\(stem)~7.ts")
    }
}
