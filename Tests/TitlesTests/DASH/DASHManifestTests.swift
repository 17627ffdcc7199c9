import Model
import TestSupport
import Testing
import Titles
import WebURL

@Suite struct DASHManifestTests {
    private static let good =
        MPDCase.templates + MPDCase.timelines + MPDCase.ranges + MPDCase.levels + MPDCase.forms
        + MPDCase.snapshots

    @Test(arguments: good)
    func segmentsAreThoseOfTheStandard(_ manifest: MPDCase) {
        #expect(manifest.outcome() == manifest.expected)
        #expect(manifest.outcome(.strict) == manifest.expected)
        #expect((try? manifest.manifest().warnings.isEmpty) == true)
    }

    @Test(arguments: MPDCase.refused)
    func whatCannotBeTakenFailsWithACode(_ manifest: MPDCase) {
        let outcome = manifest.outcome(.strict)
        #expect(outcome.first == manifest.expected[0])
        #expect(outcome.last?.contains(manifest.expected[1]) == true, "\(outcome)")
        #expect(outcome.last?.hasPrefix("http://h/d/m.mpd") == true, "\(outcome)")
    }

    @Test func aFailureShowsNoSecret() throws {
        let text = MPDCase.one("<BaseURL>http://a:b@h/?signature=secret</BaseURL>")
        #expect {
            let manifest = try DASHManifest.parse(
                [UInt8]("<MPD>\(text)</MPD>".utf8), url: WebURL("http://h/m.mpd?token=secret"))
            try manifest.forEachSegment { _ in }
        } throws: {
            let message = ($0 as? Failure)?.message ?? ""
            return message.contains("BaseURL") && !message.contains("secret")
        }
    }

    @Test func elementsOfNoUseAreCounted() {
        let many = String(repeating: "<Location/>", count: 500_001)
        let failure = #expect(throws: Failure.self) {
            try DASHManifest.parse(
                [UInt8]("<MPD><Foo>\(many)</Foo></MPD>".utf8),
                url: try PlaylistCase.url("http://h/m.mpd"))
        }
        #expect(failure?.code == "manifest.tooMany")
    }

    @Test func whatIsTooLargeIsRefusedUnread() throws {
        let bytes = [UInt8](repeating: 0x20, count: DASHManifest.maximumBytes + 1)
        #expect {
            try DASHManifest.parse(bytes, url: WebURL("http://h/m.mpd"))
        } throws: {
            ($0 as? Failure)?.code == "manifest.tooLarge"
        }
    }

    /// Each representation visits all entries of its set: the sum is bounded.
    @Test func manyRepresentationsOfALongTimelineAreCountedInTime() throws {
        let entries = String(repeating: "<S d='1'/>", count: 500_000)
        let text =
            "<MPD><Period><AdaptationSet><SegmentTemplate media='$Time$'><SegmentTimeline>"
            + entries + "</SegmentTimeline></SegmentTemplate>"
            + String(repeating: "<Representation/>", count: 20_000)
            + "</AdaptationSet></Period></MPD>"
        #expect {
            try DASHManifest.parse([UInt8](text.utf8), url: WebURL("http://h/m.mpd"))
        } throws: {
            ($0 as? Failure)?.code == "manifest.tooMany"
        }
    }

    @Test func renditionsSayWhatTheyAre() throws {
        let manifest = try MPDCase(
            "",
            """
            <Period><AdaptationSet contentType="video" width="1920"><EssentialProperty \
            schemeIdUri="http://dashif.org/guidelines/trickmode" value="1"/>
            <Representation id="v1" bandwidth="300" height="1080" codecs="avc1.64"><BaseURL>a</BaseURL>
            </Representation></AdaptationSet>
            <AdaptationSet lang="de" mimeType="audio/mp4" codecs="mp4a.40.2">
            <Representation id="a1" bandwidth="96"><BaseURL>b</BaseURL></Representation>
            </AdaptationSet></Period>
            """
        ).manifest()
        #expect(
            manifest.renditions == [
                Rendition(
                    id: "v1", kind: .video, bandwidth: 300, width: 1920, height: 1080,
                    codecs: "avc1.64", isTrickMode: true),
                Rendition(
                    id: "a1", kind: .audio, bandwidth: 96, codecs: "mp4a.40.2", language: "de"),
            ])
        var places: [Int?] = []
        try manifest.forEachSegment { places.append($0.rendition) }
        #expect(places == [0, 1])
    }

    @Test func brokenManifestsEndInAFailure() throws {
        // Every manifest above, truncated at every byte and with changed bytes: an outcome, never a
        // crash.
        let replacements: [UInt8] = [0, 0x0A, 0x22, 0x24, 0x26, 0x2D, 0x2F, 0x39, 0x3C, 0xFF]
        let url = try WebURL("http://h/a.mpd?q=1")
        for manifest in Self.good {
            let bytes = [UInt8](manifest.text.utf8)
            for index in bytes.indices {
                Self.list(Array(bytes[..<index]), url)
                var changed = bytes
                changed[index] = replacements[index % replacements.count]
                Self.list(changed, url)
            }
        }
    }

    private static func list(_ bytes: [UInt8], _ url: WebURL) {
        guard let manifest = try? DASHManifest.parse(bytes, url: url) else { return }
        var count = 0
        try? manifest.forEachSegment { (_) throws(Failure) in
            count += 1
            if count > 100 { throw Failure("manifest.tooMany", "") }
        }
    }
}
