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

        @Test func everyFrameOfALiveTitlePlays() async throws {
            let source = try TemporaryDirectory("live")
            let packager = try ChildProcess(
                Self.package, workingDirectory: source.path, deathSignal: "KILL")
            try await waitUntil(deadlineSeconds: 30, "the first segment") {
                FileManager.default.fileExists(atPath: source.path("live.m3u8"))
            }
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(
                "\(origin.url)/live.m3u8", ["--live", "record", "--name", "live"])
            #expect(try await packager.wait(deadlineSeconds: 60) == .exited(0))
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let edge = try await NginxServer(root: site)
            let player = try ChildProcess([
                "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
                "-show_entries", "stream=nb_read_frames", "-of", "default=nw=1:nk=1",
                "\(edge.url)/live.m3u8",
            ])
            #expect(try await player.wait() == .exited(0), "\(player.errors)")
            let frames = Set(player.output.split(separator: "\n"))
            #expect(frames == ["300"], "\(frames), \(player.errors)")
            let text = try String(contentsOfFile: "\(site)/live.m3u8", encoding: .utf8)
            #expect(text.contains("#EXT-X-PLAYLIST-TYPE:VOD") && !text.contains("#EXT-X-GAP"))
            #expect(text.hasSuffix("#EXT-X-ENDLIST\n"))
            let assets = try home.start(["assets", "list", "live", "--state", home.stateDirectory])
            #expect(try await assets.wait() == .exited(0), "\(assets.errors)")
            #expect(assets.output.contains("recorded until its end: 12 segments, 0 gaps"))
        }

        /// The worker that reads the playlists is killed; another one continues at its place.
        @Test func aKilledWorkerLosesNothing() async throws {
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 5)
            let origin = try FaultOrigin()
            // 40 segments of a second; the window is longer than a lease.
            let began = Date()
            origin.route("/t/live.m3u8") { _ in
                let shown = min(Int(Date().timeIntervalSince(began) * 2) + 3, 40)
                let first = max(0, shown - 25)
                let lines = (first..<shown).map { "#EXTINF:1,\n\($0).ts\n" }.joined()
                return .init(
                    text: "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
                        + lines + (shown == 40 ? "#EXT-X-ENDLIST\n" : ""))
            }
            for number in 0..<40 {
                origin.route("/t/\(number).ts", .init(text: "segment \(number)"))
            }
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/t/live.m3u8"), "--to", edge.path, "--live", "record",
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
            let text = try String(contentsOfFile: "\(site)/live.m3u8", encoding: .utf8)
            #expect(
                text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                    == (0..<40).map { "\($0).ts" }, "\(text)")
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
