import Foundation
import Model
import TestSupport
import Testing
import Titles

/// Playlists of other projects, if available: the fixtures of Eyevinn/hls-m3u8. `DRAY_TEST_CORPORA`
/// is a directory with them in `hls/`.
@Suite struct HLSCorpusTests {
    private static let directory =
        ProcessInfo.processInfo.environment["DRAY_TEST_CORPORA"].map { $0 + "/hls" }

    /// Number of objects by role, or the code of a failure. Two have comments before `#EXTM3U`.
    private static let expected = [
        "bad-media-playlist-with-gap.m3u8": "manifest.empty",
        "master-groups-and-iframe.m3u8": "5 playlist",
        "master-playlist-with-custom-tags.m3u8": "5 playlist",
        "master-with-alternatives-b.m3u8": "10 playlist",
        "master-with-alternatives.m3u8": "10 playlist",
        "master-with-channels.m3u8": "5 playlist",
        "master-with-closed-captions-eq-none.m3u8": "8 playlist",
        "master-with-closed-captions.m3u8": "6 playlist",
        "master-with-defines-invalid.m3u8": "manifest.malformed",
        "master-with-defines.m3u8": "5 playlist",
        "master-with-hlsv7.m3u8": "18 playlist",
        "master-with-i-frame-stream-inf.m3u8": "7 playlist",
        "master-with-independent-segments.m3u8": "1 playlist",
        "master-with-multiple-codecs.m3u8": "5 playlist",
        "master-with-non-closed-captions-instream-id.m3u8": "4 playlist",
        "master-with-req-video-layout.m3u8": "1 playlist",
        "master-with-sessiondata.m3u8": "1 key, 1 playlist",
        "master-with-stream-inf-1.m3u8": "5 playlist",
        "master-with-stream-inf-name.m3u8": "4 playlist",
        "master.m3u8": "5 playlist",
        "media-playlist-fmp4.m3u8": "live: 2 init, 6 media",
        "media-playlist-large.m3u8": "live: 39875 media",
        "media-playlist-low-latency-initial-sequence-num-5.m3u8": "live: 1 init, 16 media",
        "media-playlist-low-latency.m3u8": "live: 1 init, 8 media",
        "media-playlist-trailing-scte35-daterange.m3u8": "live: 1 media",
        "media-playlist-with-byterange.m3u8": "live: 3 media",
        "media-playlist-with-cue-out-in-without-oatcls.m3u8": "live: 62 media",
        "media-playlist-with-custom-tags.m3u8": "live: 4 media",
        "media-playlist-with-defines.m3u8": "live: 1 media",
        "media-playlist-with-discontinuity-seq.m3u8": "live: 4 media",
        "media-playlist-with-discontinuity.m3u8": "live: 4 media",
        "media-playlist-with-gap.m3u8": "11 media",
        "media-playlist-with-iframes-only-and-map.m3u8": "live: 1 init, 1 media",
        "media-playlist-with-iframes-only.m3u8": "live: 1 media",
        "media-playlist-with-interstitial.m3u8": "1 media",
        "media-playlist-with-key.m3u8": "1 key, 3 media",
        "media-playlist-with-multiple-dateranges.m3u8": "live: 1 media",
        "media-playlist-with-oatcls-scte35.m3u8": "live: 3 media",
        "media-playlist-with-program-date-time.m3u8": "4 media",
        "media-playlist-with-queryparam.m3u8": "manifest.malformed",
        "media-playlist-with-scte35-1.m3u8": "live: 3 media",
        "media-playlist-with-scte35-and-cue.m3u8": "live: 1 init, 1 media",
        "media-playlist-with-scte35-daterange.m3u8": "7 media",
        "media-playlist-with-scte35.m3u8": "live: 3 media",
        "media-playlist-with-skip.m3u8": "manifest.unsupported",
        "media-playlist-with-start-time.m3u8": "live: 4 media",
        "wowza-master.m3u8": "5 playlist",
        "wowza-vod-chunklist.m3u8": "522 media",
    ]

    @Test(.enabled(if: directory != nil, "DRAY_TEST_CORPORA names no directory"))
    func everyPlaylistIsReadByTheStandardOrFailsWithACode() throws {
        let folder = Self.directory ?? ""
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".m3u8") }
        #expect(Set(Self.expected.keys) == Set(names))
        for name in names {
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
            #expect(Self.outcome(bytes) == Self.expected[name], "\(name)")
        }
    }

    private static func outcome(_ body: [UInt8]) -> String {
        var bytes = body
        var options = TitleOptions()
        options.takesSnapshots = true
        do throws(Failure) {
            let listing = try ManifestListing.read(
                // One of them has a variable from the query.
                &bytes, url: try PlaylistCase.url("http://h/d/m.m3u8?Define2=2"), kind: .hls,
                options: options)
            var counts: [String: Int] = [:]
            for segment in listing.segments { counts[segment.role.rawValue, default: 0] += 1 }
            return (listing.isLive ? "live: " : "")
                + counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                .joined(separator: ", ")
        } catch {
            return error.code.description
        }
    }
}
