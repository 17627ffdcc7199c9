import Foundation
import Model
import TestSupport
import Testing

@testable import Titles

/// Manifests of other projects, if available: the fixtures of Eyevinn/dash-mpd, which include those
/// of the standard's Annex G. `DRAY_TEST_CORPORA` is a directory with them in `dash/`.
@Suite struct DASHCorpusTests {
    private static let directory =
        ProcessInfo.processInfo.environment["DRAY_TEST_CORPORA"].map { $0 + "/dash" }

    /// Number of segments by role, or the code of a failure; all other manifests are live. Two list
    /// no segment: their representations have neither a URL nor an addressing.
    private static let expected = [
        "go-dash-fixtures_adaptationset_switching.mpd":
            "3 init, 3 media",
        "go-dash-fixtures_audio_channel_configuration.mpd":
            "2 init, 2 media",
        "go-dash-fixtures_hbbtv_profile.mpd":
            "5 init, 960 media, 1 subtitles",
        "go-dash-fixtures_inband_event_stream.mpd":
            "",
        "go-dash-fixtures_invalid.mpd":
            "manifest.malformed",
        "go-dash-fixtures_live_profile.mpd":
            "5 init, 960 media, 1 subtitles",
        "go-dash-fixtures_live_profile_multi_base_url.mpd":
            "5 init, 960 media, 1 subtitles",
        "go-dash-fixtures_multiple_supplementals.mpd":
            "3 init, 3 media",
        "go-dash-fixtures_newperiod.mpd":
            "manifest.malformed",
        "go-dash-fixtures_ondemand_profile.mpd":
            "3 index, 3 init, 3 media, 1 subtitles",
        "go-dash-fixtures_segment_list.mpd":
            "2 init, 8 media",
        "go-dash-fixtures_segment_timeline.mpd":
            "2 init, 18 media",
        "go-dash-fixtures_segment_timeline_multi_period.mpd":
            "12 init, 192 media",
        "hbbtv_manifest_wvcenc_1080p.mpd":
            "5 init, 500 media",
        "livesim_multi-drm.mpd":
            "1 init, 3 media",
        "other_dolby_ec3.mpd":
            "2 init, 77 media",
        "other_fraunhofer_iis_mpegh.mpd":
            "2 init, 122 media",
        "schema-mpds_example_G1.mpd":
            "10 media, 1 subtitles",
        "schema-mpds_example_G11.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G13-1.mpd":
            "2 init, 1696 media",
        "schema-mpds_example_G13-2.mpd":
            "manifest.uriRefused",
        "schema-mpds_example_G19.mpd":
            "5 init, 30 media",
        "schema-mpds_example_G28-1.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G28-2.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G28-3.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G28-4.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G29-2.mpd":
            "manifest.unsupported",
        "schema-mpds_example_G3.mpd":
            "6 index, 12 init, 9240 media",
        "schema-mpds_example_G30-1.mpd":
            "1 index, 1 init, 1 media",
        "schema-mpds_example_G30-2.mpd":
            "3256 media",
        "schema-mpds_example_G4.mpd":
            "6 init, 16 media",
        "schema-mpds_example_G5.mpd":
            "3 index, 3 media",
        "schema-mpds_example_G6.mpd":
            "5 index, 5 media",
        "schema-mpds_example_G7.mpd":
            "5 media, 1 subtitles",
        "schema-mpds_example_G8.mpd":
            "",
        "schema-mpds_example_H1.mpd":
            "2 index, 2 media",
        "schema-mpds_example_H2.mpd":
            "6 index, 6 media",
        "schema-mpds_example_H3.mpd":
            "4 media",
        "scte214_asset_id_upid.mpd":
            "1 init, 60 media",
        "scte214_supplemental_codecs_adaptation_set.mpd":
            "1 init, 15 media",
        "scte214_supplemental_codecs_representation.mpd":
            "2 media",
        "scte35_splice_schedule.mpd":
            "1 init, 1 media",
    ]

    @Test(.enabled(if: directory != nil, "DRAY_TEST_CORPORA names no directory"))
    func everyManifestIsReadByTheStandardOrFailsWithACode() throws {
        let folder = Self.directory ?? ""
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".mpd") }
        #expect(Set(Self.expected.keys).isSubset(of: names))
        for name in names {
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
            let outcome = try Self.outcome(bytes, .refused)
            #expect(outcome == Self.expected[name] ?? "manifest.live", "\(name)")
            // Half an hour after 2026 began; live ones begin in 2010 and later, most of them.
            let snapshot = LiveManifests.snapshot(atSeconds: 1_767_227_400)
            _ = try Self.outcome(bytes, snapshot)
            if outcome == "manifest.live" { try Self.compareAtTheEdge(bytes, snapshot, name) }
        }
    }

    /// The snapshot of a live manifest lists the same segments, except tracks without media.
    private static func compareAtTheEdge(
        _ bytes: [UInt8], _ snapshot: LiveManifests, _ name: String
    ) throws {
        let url = try PlaylistCase.url("http://h/d/m.mpd")
        let live = try? DASHManifest.parse(bytes, url: url, live: snapshot)
        guard let live, let listed = try? lines(live) else { return }
        do throws(Failure) {
            let body = try DASHLiveSnapshot(bytes, live).body()
            #expect(try lines(try DASHManifest.parse(body, url: url)) == listed, "\(name)")
        } catch {
            #expect(
                ["manifest.empty", "manifest.unsupported"].contains(error.code), "\(name): \(error)"
            )
        }
    }

    private static func lines(_ manifest: DASHManifest) throws(Failure) -> [String] {
        var tracks: [Int: [ManifestSegment]] = [:]
        try manifest.forEachSegment { tracks[$0.rendition ?? -1, default: []].append($0) }
        return tracks.sorted { $0.key < $1.key }.map(\.value)
            .filter { $0.contains { $0.role != .`init` && $0.role != .index } }
            .flatMap { $0.map(MPDCase.line) }
    }

    private static func outcome(_ bytes: [UInt8], _ live: LiveManifests) throws -> String {
        do throws(Failure) {
            let manifest = try DASHManifest.parse(
                bytes, url: try PlaylistCase.url("http://h/d/m.mpd"), live: live)
            var counts: [String: Int] = [:]
            try manifest.forEachSegment { counts[$0.role.rawValue, default: 0] += 1 }
            return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                .joined(separator: ", ")
        } catch {
            return error.code.description
        }
    }
}
