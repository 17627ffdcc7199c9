import Model
import Statistics
import Testing

@testable import Titles
@testable import WebURL

/// Most URLs of a title are never stored as separate texts; similar ones are stored as differences.
@Suite struct ManifestURLTests {
    /// Returns references of all kinds, several in a row to one object, in many groups.
    private func references(seed: UInt64) -> [String] {
        var random = SeededRandom(seed: seed)
        let folders = ["", "video/", "video/1080p/", "../up/", "/root/", "./", "./a:b/", "x/./y/"]
        let tails = [
            ".ts", ".m4s?token=a&b=/c", "", "?", "?q", "#part", ".ts#x", "%20.ts", " .ts", "ü",
        ]
        var all: [String] = []
        while all.count < 700 {
            let number = random.next(upperBound: UInt64(2_000))
            let name =
                "\(folders.randomElement(using: &random) ?? "")segment-\(number)"
                + (tails.randomElement(using: &random) ?? "")
            let times = random.next(upperBound: UInt64(8)) == 0 ? 3 : 1
            all += Array(repeating: name, count: times)
        }
        return all
    }

    @Test(arguments: [UInt64](1...8)) func eachIsWhatItsReferenceResolvesTo(seed: UInt64) throws {
        let base = try WebURL("https://cdn.example:8443/catalog/title/master.m3u8?session=1")
        let references = references(seed: seed)
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n"
        for (index, reference) in references.enumerated() {
            text += "#EXTINF:\(index % 7).5,\n\(reference)\n"
        }
        let playlist = try HLSPlaylist.parse([UInt8]((text + "#EXT-X-ENDLIST\n").utf8), url: base)
        try #require(playlist.segments.count == references.count)
        for (index, (segment, reference)) in zip(playlist.segments, references).enumerated() {
            let url = try base.resolve(reference)
            #expect(segment.reference.url == url, "\(reference)")
            #expect(segment.reference.url.path == url.path, "\(reference)")
            #expect(segment.reference.url.query == url.query, "\(reference)")
            #expect(segment.reference.named == nil)
            #expect(segment.reference.line == Int32(4 + 2 * index))
            #expect(segment.durationSeconds == Double(index % 7) + 0.5)
        }
    }

    @Test func whatARedirectLedToIsNamedByWhereItWas() throws {
        let base = try WebURL("http://edge.example/moved/index.m3u8")
        let named = try WebURL("http://origin.example/title/index.m3u8")
        let text =
            "#EXTM3U\n#EXTINF:6,\n#EXT-X-BYTERANGE:10@0\none.ts\n"
            + "#EXTINF:6,\n#EXT-X-BYTERANGE:10\none.ts\n#EXTINF:6,\ntwo.ts\n#EXT-X-ENDLIST\n"
        let playlist = try HLSPlaylist.parse([UInt8](text.utf8), url: base, named: named)
        #expect(
            playlist.segments.map(\.reference.url.text) == [
                "http://edge.example/moved/one.ts", "http://edge.example/moved/one.ts",
                "http://edge.example/moved/two.ts",
            ])
        #expect(
            playlist.segments.map(\.reference.keyURL.text) == [
                "http://origin.example/title/one.ts", "http://origin.example/title/one.ts",
                "http://origin.example/title/two.ts",
            ])
        #expect(playlist.segments.map { $0.range?.offset } == [0, 10, nil])
    }
}
