import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Live titles are recorded by the commands of an operator.
    @Suite(.timeLimit(.minutes(3))) struct RecordingTests {
        /// Twelve seconds in real time, in segments of a second: the origin keeps the last four.
        private static let package = [
            "ffmpeg", "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i",
            "testsrc2=size=160x90:rate=25:duration=12", "-c:v", "libx264", "-preset", "ultrafast",
            "-tune", "zerolatency", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-f",
            "hls", "-hls_time", "1", "-hls_list_size", "4", "-hls_flags",
            "delete_segments+temp_file", "-hls_segment_filename", "%d.ts", "live.m3u8",
        ]

        /// The same as an MPD.
        private static let packageMPD = [
            "ffmpeg", "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i",
            "testsrc2=size=160x90:rate=25:duration=12", "-c:v", "libx264", "-preset", "ultrafast",
            "-tune", "zerolatency", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-f",
            "dash", "-seg_duration", "1", "-use_timeline", "1", "-window_size", "4",
            "-extra_window_size", "2", "-media_seg_name", "$Time$.m4s", "-init_seg_name",
            "init.mp4", "live.mpd",
        ]

        /// The same as byte ranges of one file, which grows.
        private static func packageRanges(_ type: String) -> [String] {
            let end = ["-hls_list_size", "0", "-hls_flags", "single_file"]
            return package.prefix { $0 != "-hls_list_size" } + end
                + ["-hls_segment_type", type, "live.m3u8"]
        }

        @Test(arguments: [
            ("live.m3u8", Self.package), ("live.m3u8", Self.packageRanges("mpegts")),
            ("live.m3u8", Self.packageRanges("fmp4")), ("live.mpd", Self.packageMPD),
        ])
        func everyFrameOfALiveTitlePlays(manifest: String, command: [String]) async throws {
            let source = try TemporaryDirectory("live")
            let packager = try ChildProcess(
                command, workingDirectory: source.path, deathSignal: "KILL")
            try await waitUntil(deadlineSeconds: 30, "the first segment") {
                FileManager.default.fileExists(atPath: source.path(manifest))
            }
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(
                "\(origin.url)/\(manifest)", ["--live", "record", "--name", "live"])
            #expect(try await packager.wait(deadlineSeconds: 60) == .exited(0))
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let edge = try await NginxServer(root: site)
            let player = try ChildProcess([
                "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
                "-show_entries", "stream=nb_read_frames", "-of", "default=nw=1:nk=1",
                "\(edge.url)/\(manifest)",
            ])
            #expect(try await player.wait() == .exited(0), "\(player.errors)")
            let frames = Set(player.output.split(separator: "\n"))
            #expect(frames == ["300"], "\(frames), \(player.errors)")
            let text = try String(contentsOfFile: "\(site)/\(manifest)", encoding: .utf8)
            if manifest == "live.mpd" {
                #expect(text.contains("type=\"static\" mediaPresentationDuration=\"PT12S\""))
                #expect(text.contains("<S t=\"0\" d=\"12800\" r=\"11\"/>"), "\(text)")
            } else {
                #expect(text.contains("#EXT-X-PLAYLIST-TYPE:VOD"))
                #expect(!text.contains("#EXT-X-GAP") && text.hasSuffix("#EXT-X-ENDLIST\n"))
                #expect(!text.contains("BYTERANGE"), "\(text)")
            }
            let assets = try home.start(["assets", "list", "live", "--state", home.stateDirectory])
            #expect(try await assets.wait() == .exited(0), "\(assets.errors)")
            #expect(assets.output.contains("recorded until its end: 12 segments, 0 gaps"))
        }

        /// A title that does not end is recorded until a time, without the segment that is missing.
        @Test func aTitleIsRecordedUntilATimeWithItsGap() async throws {
            let origin = try FaultOrigin()
            for number in 0..<40 where number != 2 {
                origin.route("/t/\(number).ts", .init(text: "segment \(number)"))
            }
            origin.route("/t/2.ts", .init(404, text: "deleted"))
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let began = Date()
            origin.route("/t/live.m3u8") { _ in
                let shown = min(Int(Date().timeIntervalSince(began)) + 4, 39)
                return .init(text: Self.manifest("live.m3u8", shown: shown))
            }
            let until = Date().addingTimeInterval(15).formatted(.iso8601)
            let prefetch = try home.prefetch(
                origin.url("/t/live.m3u8"),
                ["--live", "record", "--until", until, "--name", "live"])
            #expect(
                try await prefetch.wait(deadlineSeconds: 90) == .exited(0), "\(prefetch.errors)")
            #expect(prefetch.output.contains("\nrecorded 1 title: "), "\(prefetch.output)")
            #expect(
                prefetch.output.contains(
                    " segments, 1 gap\n    Segment 2, 127.0.0.1:\(origin.port)/t/2.ts, could not be "
                        + "fetched: "), "\(prefetch.output)")
            #expect(prefetch.output.contains(" (origin.http.404)\n"), "\(prefetch.output)")
            let path = "\(home.edge)/127.0.0.1:\(origin.port)/t/live.m3u8"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.hasSuffix("#EXT-X-ENDLIST\n"), "\(text)")
            let lines = text.split(separator: "\n").map(String.init)
            let names = lines.filter { !$0.hasPrefix("#") }
            // All that was listed by then, in order; the time is before the title's end.
            #expect(names.count >= 4 && names.count < 40, "\(text)")
            #expect(names == names.indices.map { "\($0).ts" }, "\(text)")
            let gap = try #require(lines.firstIndex(of: "#EXT-X-GAP"), "\(text)")
            #expect(lines.count { $0 == "#EXT-X-GAP" } == 1)
            #expect(lines[gap...].first { !$0.hasPrefix("#") } == "2.ts")
            let assets = try home.start(["assets", "list", "live", "--state", home.stateDirectory])
            #expect(try await assets.wait() == .exited(0), "\(assets.errors)")
            #expect(
                assets.output.contains("recorded until the time of --until: "), "\(assets.output)")
            #expect(assets.output.contains(" segments, 1 gap\n"), "\(assets.output)")
        }

        /// Returns a live title of 40 segments of a second, of which so many have been published. The
        /// window is longer than a lease.
        private static func manifest(_ name: String, shown: Int) -> String {
            let first = max(0, shown - 25)
            guard name == "live.mpd" else {
                let lines = (first..<shown).map { "#EXTINF:1,\n\($0).ts\n" }.joined()
                return "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
                    + lines + (shown == 40 ? "#EXT-X-ENDLIST\n" : "")
            }
            return """
                <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" minimumUpdatePeriod="PT1S" \
                type="\(shown == 40 ? "static" : "dynamic")" \
                availabilityStartTime="2020-01-01T00:00:00Z"><Period id="p" start="PT0S">\
                <AdaptationSet contentType="video"><SegmentTemplate media="$Time$.ts">\
                <SegmentTimeline><S t="\(first)" d="1" r="\(shown - first - 1)"/>\
                </SegmentTimeline></SegmentTemplate><Representation id="v"/></AdaptationSet>\
                </Period></MPD>
                """
        }

        /// The worker that reads the manifest is killed; another one continues at its place.
        @Test(arguments: ["live.m3u8", "live.mpd"])
        func aKilledWorkerLosesNothing(name: String) async throws {
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 5)
            let origin = try FaultOrigin()
            let began = Date()
            origin.route("/t/\(name)") { _ in
                let shown = min(Int(Date().timeIntervalSince(began) * 2) + 3, 40)
                return .init(text: Self.manifest(name, shown: shown))
            }
            for number in 0..<40 {
                origin.route("/t/\(number).ts", .init(text: "segment \(number)"))
            }
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/t/\(name)"), "--to", edge.path, "--live", "record",
            ])
            try await waitUntil(deadlineSeconds: 60, "some segments") {
                origin.count("/t/8.ts") > 0
            }
            cluster.workers[0].signal(SIGKILL)
            _ = try await cluster.workers[0].wait()
            try cluster.startWorker(["--connections", "4", "--allow-addresses", "127.0.0.0/8"])
            #expect(
                try await prefetch.wait(deadlineSeconds: 120) == .exited(0), "\(prefetch.errors)")
            let site = "\(edge.path)/127.0.0.1:\(origin.port)/t"
            let text = try String(contentsOfFile: "\(site)/\(name)", encoding: .utf8)
            let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            if name == "live.mpd" {
                #expect(text.contains("<S t=\"0\" d=\"1\" r=\"39\"/>"), "\(text)")
            } else {
                #expect(names == (0..<40).map { "\($0).ts" }, "\(text)")
            }
            for number in 0..<40 {
                let stored = try String(contentsOfFile: "\(site)/\(number).ts", encoding: .utf8)
                #expect(stored == "segment \(number)")
            }
            let end = try await cluster.postgres.execute(
                "SELECT end_reason, gaps, is_written FROM recording")
            #expect(end == "ended|0|t\n", "\(end)")
            try await cluster.stop()
        }
    }
}
