import Foundation
import Model
import TestSupport
import Testing
import Titles
import WebURL

@Suite struct DASHResolverTests {
    typealias Title = HLSResolverTests

    private static let manifest = "http://h/t/m.mpd"

    private static func mpd(_ body: String) -> String {
        "<?xml version=\"1.0\"?>\n<MPD mediaPresentationDuration=\"PT10S\">\(body)</MPD>"
    }

    @Test func aTitleIsListedInTheOrderOfFetching() throws {
        let sets =
            MPDCase.sets(
                (
                    MPDCase.template(
                        "media='$RepresentationID$/$Number$' initialization='i' duration='5'")
                        + MPDCase.representation("", id: "a")
                        + MPDCase.representation("", id: "b"), ""
                ), (MPDCase.representation("<BaseURL>s.vtt</BaseURL>"), "contentType='text'"))
        let segments = try Title.resolve(Self.manifest, [Self.manifest: Self.mpd(sets)])
        #expect(
            segments.map { "\($0.role) \($0.key)" } == [
                "init h/t/i", "media h/t/a/1", "media h/t/a/2", "media h/t/b/1", "media h/t/b/2",
                "subtitles h/t/s.vtt", "playlist h/t/m.mpd",
            ])
        #expect(segments.map(\.ordinal) == Array(0..<7))
        #expect(segments.last?.sha256 == "sha-of-\(Self.manifest)")
        #expect(segments.last?.bytes == Int64(Self.mpd(sets).utf8.count))
    }

    @Test func aFileWithAnIndexIsOneObject() throws {
        let set = MPDCase.one(
            "<BaseURL>a.mp4</BaseURL><SegmentBase indexRange='9-19'><Initialization range='0-8'/>"
                + "</SegmentBase>")
        let segments = try Title.resolve(Self.manifest, [Self.manifest: Self.mpd(set)])
        #expect(
            segments.map { "\($0.role) \($0.key)" } == ["media h/t/a.mp4", "playlist h/t/m.mpd"])
    }

    @Test func anIndexListsTheSegmentsOfItsFile() throws {
        func file(_ name: String, _ range: String) -> String {
            MPDCase.representation(
                "<BaseURL>\(name)</BaseURL><SegmentBase indexRange='\(range)'>"
                    + "<Initialization range='0-8'/></SegmentBase>", id: name)
        }
        let set = MPDCase.set(file("a", "9-64") + file("b", "20-30") + file("a", "9-64"))
        var resolver = try TitleResolver(url: Self.manifest, kind: .dash, readsIndexes: true)
        var asked: [String] = []
        while !resolver.isComplete {
            for request in resolver.next() {
                guard let range = request.range else {
                    try resolver.receive(
                        request, finalURL: Self.manifest, body: [UInt8](Self.mpd(set).utf8),
                        sha256: "")
                    continue
                }
                asked.append("\(request.url) \(range.offset)+\(range.length ?? -1)")
                let index = SegmentIndexTests.index([(500, 4_000), (0x8000_0064, 2_500)])
                try resolver.receiveIndex(request, request.url.hasSuffix("a") ? index : nil)
            }
        }
        #expect(asked == ["http://h/t/a 9+56", "http://h/t/b 20+11"])
        let listing = try resolver.listing()
        #expect(
            listing.segments.map(MPDCase.line) == [
                "init http://h/t/a 0+9", "index http://h/t/a 9+56", "media http://h/t/a 65+500 4s",
                "media http://h/t/a 565+100 2.5s", "init http://h/t/b 0+9",
                "index http://h/t/b 20+11", "media http://h/t/b 10s",
            ])
        #expect(listing.sums.map(\.estimatedBytes) == [665, 1_250, nil, nil])
        #expect(try resolver.segments().map(\.key) == ["h/t/a", "h/t/b", "h/t/m.mpd"])
    }

    /// Unselected tracks are not listed at the edge, whatever the MPD's encoding.
    @Test(arguments: [[0xFE, 0xFF], [0xFF, 0xFE], []] as [[UInt8]])
    func aChoiceFromWideTextIsWrittenInUTF8(mark: [UInt8]) throws {
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-16\" ?><MPD mediaPresentationDuration=\"PT1S\">"
            + MPDCase.sets(
                (MPDCase.representation("<BaseURL>en</BaseURL>"), "contentType='audio' lang='en'"),
                (MPDCase.representation("<BaseURL>ü</BaseURL>"), "contentType='audio' lang='de'"))
            + "</MPD>"
        let isBig = mark.first != 0xFF
        let body = text.utf16.flatMap { unit in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBig ? bytes : bytes.reversed()
        }
        func stored(_ audio: [String]?) throws -> [ResolvedSegment] {
            var options = TitleOptions()
            options.tracks.audio = audio
            var resolver = try TitleResolver(url: Self.manifest, kind: .dash, options: options)
            for request in resolver.next() {
                try resolver.receive(
                    request, finalURL: Self.manifest, body: mark + body, sha256: "")
            }
            return Array(try resolver.segments())
        }
        let chosen = try stored(["de"])
        #expect(chosen.map(\.key) == ["h/t/ü", "h/t/m.mpd"])
        let content = try #require(chosen.last?.content)
        #expect(content.hasPrefix("<MPD") && content.contains("ü") && !content.contains("en</"))
        // Unchanged if all tracks are selected.
        #expect(try stored(nil).last?.content == nil)
    }

    /// A player at the edge reads the same segments.
    @Test(
        arguments: [
            ("ISO-8859-1", "a", nil), ("utf-8", "\u{FC}", nil),
            ("ISO-8859-1", "\u{FC}", "manifest.unsupported"),
            ("windows-1252", "\u{FC}", "manifest.unsupported"),
            ("UTF-7", "+AOQ-", "manifest.unsupported"),
            ("ISO-2022-JP", "a", "manifest.unsupported"), ("US-ASCII", "a", nil),
        ] as [(String, String, FailureCode?)])
    func textInOtherEncodingsIsASCII(encoding: String, name: String, code: FailureCode?) throws {
        let text =
            "<?xml version='1.0' encoding='\(encoding)'?><MPD mediaPresentationDuration='PT1S'>"
            + MPDCase.sets((MPDCase.representation("<BaseURL>\(name)</BaseURL>"), "")) + "</MPD>"
        var body =
            encoding == "utf-8"
            ? Array(text.utf8) : text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let read = Result { () throws(Failure) in
            try ManifestListing.read(&body, url: try Self.url(), kind: .dash).segments.count
        }
        switch read {
        case .success(let count): #expect(code == nil && count == 1)
        case .failure(let failure): #expect(failure.code == code)
        }
    }

    @Test func anEncodingMayBeDeclaredLate() throws {
        let blanks = String(repeating: " ", count: 300)
        let text =
            "<?xml version='1.0'\(blanks)encoding='ISO-8859-1'?><MPD mediaPresentationDuration='PT1S'>"
            + MPDCase.sets((MPDCase.representation("<BaseURL>\u{FC}</BaseURL>"), "")) + "</MPD>"
        var body = Array(text.utf8)
        let failure = #expect(throws: Failure.self) {
            try ManifestListing.read(&body, url: try Self.url(), kind: .dash)
        }
        #expect(failure?.code == "manifest.unsupported")
    }

    private static func url() throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL(manifest)
        } catch {
            throw error.failure(given: manifest)
        }
    }

    /// Byte ranges of one object count its URL once.
    @Test func byteRangesOfALongURLAreTaken() throws {
        let folder = String(repeating: String(repeating: "b", count: 200) + "/", count: 9)
        let entries = (0..<40_000).map { "<SegmentURL mediaRange='\($0)-\($0)'/>" }.joined()
        let text =
            "<MPD mediaPresentationDuration='PT1S'><Period><AdaptationSet>"
            + "<Representation id='a' bandwidth='1'><BaseURL>\(folder)f.mp4</BaseURL>"
            + "<SegmentList duration='1'>\(entries)</SegmentList></Representation></AdaptationSet>"
            + "</Period></MPD>"
        var body = Array(text.utf8)
        #expect(
            try ManifestListing.read(&body, url: try Self.url(), kind: .dash).segments.count
                == 40_000)
        #expect(body.isEmpty)
    }

    /// Sixteen long base URLs around each of many.
    @Test func theProductOfBaseURLsIsBounded() throws {
        let long = String(repeating: "a/", count: 3_900)
        let outer = (0..<16).map { "<BaseURL>http://h\($0)/\(long)</BaseURL>" }.joined()
        let inner = (0..<1_500).map {
            MPDCase.representation("<BaseURL>\($0).mp4</BaseURL>", id: "r\($0)")
        }.joined()
        let text =
            "<MPD mediaPresentationDuration='PT1S'><Period><AdaptationSet>\(outer)\(inner)"
            + "</AdaptationSet></Period></MPD>"
        var body = Array(text.utf8)
        let failure = #expect(throws: Failure.self) {
            try ManifestListing.read(&body, url: try Self.url(), kind: .dash)
        }
        #expect(failure?.code == "manifest.tooMany")
        #expect(failure?.message.contains("exceed 16777216 bytes") == true)
    }

    @Test func furtherBaseURLsAreMirrors() throws {
        let text =
            "<BaseURL>http://one/</BaseURL><BaseURL>http://two/x/</BaseURL><BaseURL>ftp://no/</BaseURL>"
            + "<BaseURL>http://one</BaseURL>"
            + MPDCase.set(
                MPDCase.representation("<BaseURL>v</BaseURL>")
                    + MPDCase.representation("<BaseURL>w</BaseURL><BaseURL>y</BaseURL>")
                    + MPDCase.representation("<BaseURL>http://three/z</BaseURL>")
                    + MPDCase.representation(
                        MPDCase.template("media='http://four/$RepresentationID$'")))
        let segments = try Title.resolve(Self.manifest, [Self.manifest: Self.mpd(text)])
        #expect(
            segments.map { "\($0.url) \(($0.mirrors ?? []).joined(separator: " "))" } == [
                "http://one/v http://two/x/v",
                "http://one/w http://two/x/w http://one/y http://two/x/y", "http://three/z ",
                "http://four/v ", "http://h/t/m.mpd ",
            ])
        #expect(segments.map(\.key).prefix(2) == ["one/v", "one/w"])
    }

    @Test func redirectsMoveTheBytesButNotTheKeys() throws {
        let sets =
            MPDCase.set(
                "<BaseURL>v/</BaseURL>" + MPDCase.representation("<BaseURL>1</BaseURL>")
                    + MPDCase.representation("<BaseURL>/2</BaseURL>")
                    + MPDCase.representation("<BaseURL>http://abs/3</BaseURL>"))
        let segments = try Title.resolve(
            Self.manifest,
            [Self.manifest: "→http://far/x/m.mpd", "http://far/x/m.mpd": Self.mpd(sets)])
        #expect(
            segments.map { "\($0.url) → \($0.key)" } == [
                "http://far/x/v/1 → h/t/v/1", "http://far/2 → h/2", "http://abs/3 → abs/3",
                "http://h/t/m.mpd → h/t/m.mpd",
            ])
    }

    /// Returns the file that a web server over the site looks up for a URL: `try_files "$uri?$args"
    /// $uri`.
    private static func lookedUp(_ url: WebURL) -> String {
        url.authority + (url.path.removingPercentEncoding ?? "")
            + (url.query.map { "?\($0)" } ?? "")
    }

    @Test func whatTheManifestAtTheEdgeNamesIsThere() throws {
        let long = "Policy=" + String(repeating: "k", count: 300) + "/x"
        let sets =
            MPDCase.sets(
                (
                    MPDCase.template(
                        "media='$RepresentationID$/s $Number$.m4s?\(long)&amp;n=$Number$' "
                            + "initialization='i.mp4?\(long)' duration='5'")
                        + MPDCase.representation("<BaseURL>v/</BaseURL>", id: "a b")
                        + MPDCase.representation("<BaseURL>http://cdn/v/</BaseURL>", id: "b"), ""
                ),
                (
                    MPDCase.template("media='$Number%03d$?acl=/*~id=1' duration='5'")
                        + MPDCase.representation(""), ""
                ), (MPDCase.representation("<BaseURL>my title.vtt?\(long)</BaseURL>"), ""))
        let segments = try Title.resolve(Self.manifest, [Self.manifest: Self.mpd(sets)])
        #expect(segments.count == 10)
        let content = try #require(segments.last?.content)
        let edge = try DASHManifest.parse([UInt8](content.utf8), url: WebURL(Self.manifest))
        var found: Set<String> = []
        // The other host's folder is next to this one's.
        try edge.forEachSegment { segment in
            found.insert(Self.lookedUp(segment.reference.url).replacing("h/cdn/", with: "cdn/"))
        }
        #expect(found == Set(segments.dropLast().map(\.key)))
        // A name that no template can express is rejected.
        let bad = MPDCase.set(
            MPDCase.template("media='$Number$?r=$RepresentationID$' duration='5'")
                + MPDCase.representation("", id: "a/b"))
        #expect(
            Title.failure(Self.manifest, [Self.manifest: Self.mpd(bad)])?.code
                == "manifest.unsupported")
    }

    @Test func whatCannotBeStoredIsRefused() {
        func code(_ set: String) -> FailureCode? {
            Title.failure(Self.manifest, [Self.manifest: Self.mpd(set)])?.code
        }
        #expect(code(MPDCase.one("")) == "manifest.empty", "it names itself")
        #expect(code(MPDCase.one("<BaseURL>m.mpd</BaseURL>")) == "manifest.empty")
        #expect(code(MPDCase.one("<BaseURL>..%2F..%2Fetc</BaseURL>")) == "storage.pathRefused")
        #expect(
            code(
                MPDCase.set(
                    MPDCase.representation("<BaseURL>a</BaseURL>")
                        + MPDCase.representation("<BaseURL>a/b</BaseURL>")))
                == "storage.pathConflict")
        #expect(code(MPDCase.set("")) == "manifest.empty")
        #expect(code(MPDCase.set("") + "<Period><Pe") == "manifest.malformed")
    }

    @Test func aManifestHasAKind() throws {
        let mpd = Self.mpd(MPDCase.one("<BaseURL>a</BaseURL>"))
        let playlist = "#EXTM3U\n#EXTINF:1,\na\n#EXT-X-ENDLIST\n"
        let form = { (body: String, type: String?) in
            ManifestForm.kind(of: [UInt8](body.utf8), contentType: type, otherwise: .file)
        }
        #expect(form(mpd, nil) == .dash)
        #expect(form("\u{FEFF}\n<!-- an <MPDX> --><x:MPD>", "text/plain") == .dash)
        #expect(form(playlist, "application/dash+xml") == .hls)
        #expect(form("?", "application/dash+xml; charset=utf-8") == .dash)
        #expect(form("?", "Application/X-mpegURL") == .hls)
        #expect(form("<html><a>MPD</a>", "text/html") == .file)
        #expect(form("", nil) == .file)
        // A list may confuse the two because of the name.
        #expect(try Title.resolve("http://h/a.m3u8", ["http://h/a.m3u8": mpd]).count == 2)
        var resolver = try TitleResolver(url: Self.manifest, kind: .dash)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: request.url, body: [UInt8](playlist.utf8), sha256: "")
        }
        #expect(try resolver.segments().map(\.key) == ["h/t/a", "h/t/m.mpd"])
    }
}
