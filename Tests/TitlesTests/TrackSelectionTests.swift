import Model
import TestSupport
import Testing

@testable import Titles

/// A selection keeps the same tracks for every kind of title.
@Suite struct TrackSelectionTests {
    private static func variant(
        _ bits: Int64, _ height: Int64? = nil, _ codecs: String = "avc1.64001f,mp4a.40.2",
        groups: Set<String> = ["audio:a", "subtitles:s"]
    ) -> Rendition {
        var track = Rendition(
            id: "", kind: .video, bandwidth: bits, height: height, codecs: codecs)
        track.groups = groups
        return track
    }

    private static func other(
        _ kind: Rendition.Kind, _ language: String?, _ group: String?
    ) -> Rendition {
        var track = Rendition(id: "", kind: kind, language: language)
        track.group = group
        return track
    }

    private static func trickPlay(_ height: Int64) -> Rendition {
        Rendition(id: "", kind: .video, height: height, isTrickMode: true)
    }

    static let title = [
        variant(800_000, 360), variant(2_000_000, 720), variant(5_000_000, 1_080),
        variant(4_000_000, 1_080, "hvc1.2.4.L120.B0,ec-3", groups: ["audio:b", "subtitles:s"]),
        other(.audio, "en-US", "audio:a"), other(.audio, "de", "audio:a"),
        other(.audio, "en", "audio:b"), other(.subtitles, "de", "subtitles:s"),
        other(.subtitles, nil, "subtitles:s"), trickPlay(360), trickPlay(1_080),
        other(.image, nil, nil),
    ]

    struct Case: Sendable {
        var name: String
        var places: [Int]
        var change: @Sendable (inout TrackSelection) -> Void
    }

    static let cases = [
        Case(name: "nothing said", places: Array(0...11)) { _ in },
        Case(name: "height", places: [0, 1, 4, 5, 7, 8, 9, 11]) { $0.maximumHeight = 720 },
        Case(name: "bit rate", places: [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]) {
            $0.maximumBitsPerSecond = 4_500_000
        },
        Case(name: "nearest", places: [1, 4, 5, 7, 8, 9, 11]) {
            $0.preferredBitsPerSecond = 2_900_000
        },
        Case(name: "nearest, the lower of two", places: [3, 6, 7, 8, 9, 10, 11]) {
            $0.preferredBitsPerSecond = 4_500_000
        },
        Case(name: "family", places: [3, 6, 7, 8, 9, 10, 11]) { $0.codecs = ["hevc"] },
        Case(name: "sound alone", places: [0, 1, 2, 4, 5, 7, 8, 9, 10, 11]) {
            $0.codecs = ["mp4a.40"]
        },
        Case(name: "picture and sound", places: [0, 1, 2, 4, 5, 7, 8, 9, 10, 11]) {
            $0.codecs = ["avc1", "aac"]
        },
        Case(name: "language", places: [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]) { $0.audio = ["EN"] },
        Case(name: "no sound of its own", places: [0, 1, 2, 3, 7, 8, 9, 10, 11]) { $0.audio = [] },
        Case(name: "subtitles", places: [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]) {
            $0.subtitles = ["fr"]
        },
        Case(name: "no subtitles", places: [0, 1, 2, 3, 4, 5, 6, 9, 10, 11]) { $0.subtitles = [] },
        Case(name: "any language", places: Array(0...11)) { $0.subtitles = ["*"] },
        Case(name: "all together", places: [1, 5, 7, 8, 9, 11]) {
            $0.maximumHeight = 720
            $0.preferredBitsPerSecond = 9_000_000
            $0.audio = ["de"]
            $0.subtitles = ["de"]
        },
    ]

    @Test(arguments: cases) func aChoiceLeaves(_ test: Case) throws {
        var selection = TrackSelection()
        test.change(&selection)
        let wanted = try selection.wanted(Self.title)
        #expect(wanted.indices.filter { wanted[$0] } == test.places, "\(test.name)")
    }

    @Test func aSelectionWithoutTracksReportsTheAvailableOnes() {
        var selection = TrackSelection()
        selection.maximumHeight = 240
        let low = #expect(throws: Failure.self) { try selection.wanted(Self.title) }
        #expect(low?.code == "manifest.noTrack")
        #expect(low?.message.contains("360 lines 800 kbit/s") == true)
        selection = TrackSelection()
        selection.audio = ["fr"]
        let silent = #expect(throws: Failure.self) { try selection.wanted(Self.title) }
        #expect(silent?.code == "manifest.noTrack")
        #expect(silent?.message.contains("en-US; de; en") == true)
        // A title without separate audio has it in its variants.
        #expect((try? selection.wanted([Self.variant(1, groups: [])])) == [true])
    }

    @Test func tracksWithoutAttributesAreKept() throws {
        var selection = TrackSelection()
        selection.maximumHeight = 1
        selection.maximumBitsPerSecond = 1
        selection.codecs = ["h264"]
        selection.audio = ["en"]
        #expect(
            try selection.wanted([Self.other(.video, nil, nil), Self.other(.audio, nil, nil)]) == [
                true, true,
            ])
    }

    /// An audio-only variant, for slow connections, does not replace unavailable video.
    @Test func droppedPicturesAreReported() {
        let ladder = [Self.variant(800_000, 360), Self.variant(64_000, nil, "mp4a.40.2")]
        var hevc = TrackSelection()
        hevc.codecs = ["h265"]
        var low = TrackSelection()
        low.maximumHeight = 200
        for selection in [hevc, low] {
            #expect {
                try selection.wanted(ladder)
            } throws: {
                ($0 as? Failure)?.message
                    == "no variant with pictures matches the selection; available: 360 lines 800 kbit/s "
                    + "avc1.64001f,mp4a.40.2"
            }
            // With audio only there is nothing to drop.
            #expect(throws: Never.self) { try selection.wanted([ladder[1]]) }
        }
    }

    /// The preferred bit rate selects a variant with video, if there is one.
    @Test func thePreferredBitRateHasPictures() throws {
        let ladder = [
            Self.variant(800_000, 360), Self.variant(64_000, nil, "mp4a.40.2"),
            Self.variant(2_000_000, 720),
        ]
        var selection = TrackSelection()
        selection.preferredBitsPerSecond = 200_000
        #expect(try selection.wanted(ladder) == [true, false, false])
        #expect(try selection.wanted([ladder[1]]) == [true])
    }

    /// A variant with only a bit rate may have video.
    @Test func aVariantWithFewAttributesIsKept() throws {
        var selection = TrackSelection()
        selection.maximumHeight = 480
        let ladder = [Self.variant(5_000_000, 1_080), Self.other(.other, nil, nil)]
        #expect(try selection.wanted(ladder) == [false, true])
    }

    @Test(arguments: [
        ("h265", true), ("EC3", true), ("mp4a.40.2", true), ("hvc1", true), ("av01.0.05M.08", true),
        ("vp9", true), ("lcev.1", true), ("foo", false), ("H.264", false), ("video", false),
    ]) func codecNames(name: String, isOne: Bool) {
        #expect(TrackSelection.isCodec(name) == isOne)
    }

    @Test(arguments: [
        ("en", "en", true), ("en-US", "en", true), ("en", "en-US", false), ("eng", "en", true),
        ("DE-at", "de", true), ("zh-Hant-TW", "zh-hant", true), ("x", "*", true),
        ("en", "ENG", true), ("ger", "deu", true), ("deu-AT", "ger", true), ("fre-CA", "fr", true),
        ("fr", "fra-CA", false), ("enm", "en", false), ("e", "en", false), ("", "en", false),
        ("zho-Hant", "chi", true), ("iw", "heb", true),
    ]) func languages(language: String, range: String, matches: Bool) {
        #expect(TrackSelection.matches(language, range) == matches)
    }
}
