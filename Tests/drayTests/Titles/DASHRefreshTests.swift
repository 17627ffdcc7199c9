import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A DASH title that was repackaged, or grows, at its origin: by the command alone.
    @Suite(.timeLimit(.minutes(2))) struct DASHRefreshTests {
        /// Six seconds at 25 frames a second in three segments.
        private static let make = """
            mkdir "$0/t" && cd "$0/t"
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 -c:v libx264 \\
                -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 -f dash -seg_duration 2 \\
                -use_template 1 -use_timeline 1 -init_seg_name i.mp4 -media_seg_name '$Number$.m4s' m.mpd
            rm m.mpd
            touch -d '-3 days' *
            """

        /// The title's first segments, as a packager lists them that has come so far.
        private static func put(
            _ segments: Int, base: String, in source: TemporaryDirectory, days: Double
        ) throws {
            let path = try source.write(
                """
                <?xml version="1.0"?>
                <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT2S"
                profiles="urn:mpeg:dash:profile:isoff-live:2011"
                mediaPresentationDuration="PT\(2 * segments)S">\(base)<Period><AdaptationSet mimeType="video/mp4">
                <SegmentTemplate timescale="1" startNumber="1" initialization="i.mp4"
                media="$Number$.m4s"><SegmentTimeline><S t="0" d="2" r="\(segments - 1)"/>
                </SegmentTimeline></SegmentTemplate><Representation id="v" bandwidth="300000"
                codecs="avc1.42c00b" width="160" height="90"/></AdaptationSet></Period></MPD>
                """, to: "t/m.mpd")
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -86_400 * days)],
                ofItemAtPath: path)
        }

        /// As it is served, and written for the edge.
        @Test(arguments: [false, true])
        func aGrowingTitleIsFetchedFurther(isWritten: Bool) async throws {
            let source = try TemporaryDirectory("refresh")
            _ = try await ChildProcess.run(["sh", "-ec", Self.make, source.path])
            let origin = try await NginxServer(root: source.path)
            let base = isWritten ? "<BaseURL>\(origin.url)/t/</BaseURL>" : ""
            try Self.put(2, base: base, in: source, days: 2)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch("\(origin.url)/t/m.mpd", ["--name", "spring"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            #expect(
                try EdgeTree.files(beneath: "\(site)/t").subtracting(["SHA256SUMS"])
                    == ["m.mpd", "i.mp4", "1.m4s", "2.m4s"])
            func refresh() async throws -> (output: String, asked: [NginxServer.Request]) {
                // The server writes its log when an answer has gone.
                let before = try await Self.logged(origin)
                let refresh = try home.start(
                    ["refresh", "spring", "--state", home.path("own/state/dray")])
                #expect(try await refresh.wait() == .exited(0), "\(refresh.errors)")
                return (
                    refresh.output, Array(try await Self.logged(origin).dropFirst(before.count))
                )
            }
            let first = try await refresh()
            #expect(first.output == "spring: 1 unchanged, 0 changed, 0 failed\n")
            #expect(!first.asked.contains { $0.status == 200 && $0.target.hasSuffix(".m4s") })

            // It grows, and its second segment was replaced.
            try Self.put(3, base: base, in: source, days: 1)
            _ = try await ChildProcess.run([
                "sh", "-ec", "printf '\\0\\0\\0\\010free' >>\"$0\"; touch -d '-1 days' \"$0\"",
                source.path("t/2.m4s"),
            ])
            let second = try await refresh()
            #expect(second.output == "spring: 0 unchanged, 1 changed, 0 failed\n")
            let fetched = second.asked.filter { $0.status == 200 }.map(\.target)
            #expect(Set(fetched) == ["/t/m.mpd", "/t/2.m4s", "/t/3.m4s"])
            let kept = second.asked.filter { $0.status == 304 }.map(\.target)
            #expect(Set(kept).isSuperset(of: ["/t/i.mp4", "/t/1.m4s"]))
            #expect(
                try await EdgeTree.checkSums(beneath: site)
                    == ["t/m.mpd", "t/i.mp4", "t/1.m4s", "t/2.m4s", "t/3.m4s"])
            for name in ["i.mp4", "1.m4s", "2.m4s", "3.m4s"] {
                #expect(
                    FileManager.default.contents(atPath: "\(site)/t/\(name)")
                        == FileManager.default.contents(atPath: source.path("t/\(name)")))
            }

            try await origin.stop()
            let edge = try await NginxServer(root: site)
            let frames = try await ChildProcess.run([
                "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_frames",
                "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", "\(edge.url)/t/m.mpd",
            ])
            #expect(frames.split(separator: "\n").first == "150")
            try await home.expectQuiet()
        }

        /// What the server has logged, when it has nothing more to write.
        private static func logged(_ origin: NginxServer) async throws -> [NginxServer.Request] {
            // This request is answered and logged after all others.
            let mark = "/mark-\(UUID().uuidString)"
            _ = try? await ChildProcess.run(["curl", "-s", "-o", "/dev/null", origin.url + mark])
            try await waitUntil(deadlineSeconds: 60, "the server's log") {
                origin.requests().contains { $0.target == mark }
            }
            return origin.requests().filter { !$0.target.hasPrefix("/mark-") }
        }
    }
}
