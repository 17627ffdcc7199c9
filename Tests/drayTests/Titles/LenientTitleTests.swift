import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Titles whose manifests break rules and that play all the same: pre-fetched with a warning, and played from
    /// the edge; rejected where the list is read strictly.
    @Suite(.timeLimit(.minutes(2))) struct LenientTitleTests {
        /// The rules that each title's manifests break.
        private static let titles = [
            "d/m.mpd": ["dash.prefix", "dash.period"],
            "d/late.mpd": ["dash.order", "dash.identifier"],
            "h/m.m3u8": ["hls.mixedTags", "hls.duration", "hls.rangeOffset"],
        ]

        @Test func titlesThatBreakRulesArriveWholeAndPlay() async throws {
            let source = try TemporaryDirectory("lenient")
            _ = try await ChildProcess.run(["sh", "-ec", Self.make, source.path])
            let origin = try await NginxServer(root: source.path)
            // Rooted and absolute URLs, so that manifests are rewritten for the edge.
            try source.write(Self.dash(Self.template), to: "d/m.mpd")
            try source.write(Self.late, to: "d/late.mpd")
            try source.write(Self.multivariant(origin.url), to: "h/m.m3u8")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try source.write(
                Self.titles.keys.sorted().map { "\(origin.url)/\($0)\n" }.joined(), to: "list.txt")

            let strict = try home.prefetch(list, ["--strict"])
            #expect(try await strict.wait() == .exited(1))
            #expect(strict.errors.contains("manifest.malformed"), "\(strict.errors)")
            #expect(try Self.warnings(home) == [:])

            let prefetch = try home.prefetch(list)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            #expect(prefetch.output.contains("3 titles with manifests that break rules"))
            #expect(prefetch.output.contains("hls.mixedTags; RFC 8216, 4.1"))
            #expect(prefetch.output.contains("and 4 more warnings"))
            #expect(try Self.warnings(home) == Self.titles)

            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            for file in try FileManager.default.contentsOfDirectory(atPath: source.path("d"))
            where file.hasSuffix(".m4s") {
                let ours = FileManager.default.contents(atPath: "\(site)/d/\(file)")
                #expect(
                    ours == FileManager.default.contents(atPath: source.path("d/\(file)")),
                    "\(file)")
            }
            // With the origin gone nothing can come from there.
            try await origin.stop()
            let edge = try await NginxServer(root: site)
            for title in ["d/m.mpd", "h/m.m3u8"] {
                let text = try String(contentsOfFile: "\(site)/\(title)", encoding: .utf8)
                #expect(!text.contains("http://127"), "\(title)")
                #expect(try await Self.frames("\(edge.url)/\(title)") == "150", "\(title)")
            }
        }

        /// Of each title the rules that the report names.
        private static func warnings(_ home: EmbeddedHome) throws -> [String: [String]] {
            struct Report: Decodable {
                struct Warning: Decodable { var rule: String }
                struct Warnings: Decodable { var first: [Warning] }
                struct Asset: Decodable {
                    var url: String
                    var warnings: Warnings?
                }
                var assets: [Asset]
            }
            let report = try JSONDecoder().decode(
                Report.self, from: Data(contentsOf: URL(fileURLWithPath: home.report)))
            var rules: [String: [String]] = [:]
            for asset in report.assets {
                let name = asset.url.split(separator: "/").suffix(2).joined(separator: "/")
                rules[name] = asset.warnings?.first.map(\.rule)
            }
            return rules
        }

        private static let make = """
            cd "$0"
            mkdir d h
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 -c:v libx264 \\
                -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 source.mp4
            (cd d && ffmpeg -nostdin -v error -i ../source.mp4 -c copy -f dash -seg_duration 2 m.mpd)
            cp d/init-stream0.m4s 'd/init-$Number$.m4s'
            (cd h && ffmpeg -nostdin -v error -i ../source.mp4 -c copy -f hls -hls_time 2 \\
                -hls_playlist_type vod -hls_flags single_file v.m3u8)
            sed -i 's/\\(BYTERANGE:[0-9]*\\)@[0-9]*/\\1/; s/EXTINF:[0-9.]*,/EXTINF:,/' h/v.m3u8
            rm source.mp4
            """

        /// It starts when it is over, and nothing declares `foo`.
        private static func dash(_ set: String) -> String {
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S" \
            profiles="urn:mpeg:dash:profile:isoff-live:2011" mediaPresentationDuration="PT6S">
            <Period start="PT6S" foo:bar="1"><AdaptationSet contentType="video">
            \(set)
            </AdaptationSet></Period></MPD>
            """
        }

        private static let representation =
            "<Representation id=\"0\" mimeType=\"video/mp4\" bandwidth=\"300000\" codecs=\"avc1.42c00b\"/>"

        private static let template = """
            <SegmentTemplate timescale="1" initialization="/d/init-stream0.m4s" startNumber="1"
            media="/d/chunk-stream0-$Number%05d$.m4s"><SegmentTimeline><S t="0" d="2" r="2"/>
            </SegmentTimeline></SegmentTemplate>\(representation)
            """

        private static let late = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT6S"><Period>
            <AdaptationSet>\(representation)
            <SegmentTemplate duration="2" initialization="init-$Number$.m4s"
            media="chunk-stream0-$Number%05d$.m4s"/></AdaptationSet></Period></MPD>
            """

        private static func multivariant(_ origin: String) -> String {
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:2
            #EXT-X-STREAM-INF:BANDWIDTH=300000
            \(origin)/h/v.m3u8
            #EXT-X-ENDLIST

            """
        }

        /// Of the video, as a player counts them.
        private static func frames(_ manifest: String) async throws -> String {
            let output = try await ChildProcess.run([
                "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_frames",
                "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", manifest,
            ])
            return output.split(separator: "\n").first.map(String.init) ?? ""
        }
    }
}
