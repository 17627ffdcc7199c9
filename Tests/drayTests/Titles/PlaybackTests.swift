import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A title plays from the edge with ffmpeg, whatever Dray does meanwhile to its site.
    @Suite(.timeLimit(.minutes(3))) struct PlaybackTests {
        private static let names = ["played", "changed", "removed", "damaged"]

        /// Six seconds at 25 frames a second, in three segments; a hue of its own for each title.
        private static let make = """
            cd "$0"
            mkdir -p "$1"
            ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 \\
                -vf hue=h="$2" -c:v libx264 -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 \\
                -f hls -hls_time 2 -hls_playlist_type vod -hls_segment_filename "$1/%d.ts" \\
                "$1/main.m3u8"
            """

        /// Starts to decode all frames of a title.
        private static func startPlayer(_ edge: String, _ name: String) throws -> ChildProcess {
            try ChildProcess([
                "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
                "-show_entries", "stream=nb_read_frames", "-of", "default=nw=1:nk=1",
                "\(edge)/\(name)/main.m3u8",
            ])
        }

        /// No frame may be missing or broken.
        private static func expectPlayed(_ player: ChildProcess, _ name: String) async throws {
            #expect(try await player.wait() == .exited(0), "\(name): \(player.errors)")
            #expect(player.errors.isEmpty, "\(name): \(player.errors)")
            // A program's streams are listed twice.
            let frames = Set(player.output.split(separator: "\n"))
            #expect(frames == ["150"], "\(name): \(frames)")
        }

        private static func play(_ edge: NginxServer, _ name: String) async throws {
            try await expectPlayed(try startPlayer(edge.url, name), name)
        }

        /// Plays the title before a command, while it runs, and after it.
        ///
        /// The second playback has begun when the command starts, and waits for its second segment
        /// until the command has ended and `end` has returned.
        private static func playing(
            _ edge: NginxServer, _ home: EmbeddedHome, _ arguments: [String],
            until end: () async throws -> Void = {}
        ) async throws -> String {
            try await play(edge, "played")
            let gate = Gate()
            defer { gate.open() }
            let proxy = try RequestProxy(to: Int(edge.port)) { request in
                request.path.hasSuffix("/played/1.ts") ? .hold(gate) : .forward
            }
            let player = try startPlayer("http://127.0.0.1:\(proxy.port)", "played")
            try await gate.waitUntilReached()
            let command = try home.start(arguments + ["--state", home.stateDirectory])
            #expect(try await command.wait() == .exited(0), "\(command.errors)")
            try await end()
            #expect(player.ending == nil && gate.waiting == 1)
            gate.open()
            try await expectPlayed(player, "played")
            try await play(edge, "played")
            return command.output + command.errors
        }

        @Test func aTitlePlaysDuringChangesOfOthers() async throws {
            let source = try TemporaryDirectory("titles")
            func make(_ name: String, hue: Int) async throws {
                _ = try await ChildProcess.run([
                    "sh", "-ec", Self.make, source.path, name, "\(hue)",
                ])
            }
            for (number, name) in Self.names.enumerated() {
                try await make(name, hue: number * 40)
            }
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try Self.names.map { "\(origin.url)/\($0)/main.m3u8\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let prefetch = try home.prefetch(list, ["--name", "films"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            func stored(_ path: String) -> Data? {
                FileManager.default.contents(atPath: "\(site)/\(path)")
            }
            func original(_ path: String) -> Data? {
                FileManager.default.contents(atPath: source.path(path))
            }
            let edge = try await NginxServer(root: site)
            for name in Self.names { try await Self.play(edge, name) }

            // Another title was packaged again.
            try await make("changed", hue: 200)
            #expect(stored("changed/1.ts") != original("changed/1.ts"))
            let refreshed = try await Self.playing(edge, home, ["refresh", "films"])
            #expect(refreshed.contains("1 changed, 0 failed"), "\(refreshed)")
            #expect(stored("changed/1.ts") == original("changed/1.ts"))
            try await Self.play(edge, "changed")

            let removed = try await Self.playing(
                edge, home, ["assets", "remove", "films", "--name", "*/removed/*", "--yes"])
            #expect(removed.contains("Removed: 1 asset"), "\(removed)")
            #expect(stored("removed/main.m3u8") == nil && stored("removed/0.ts") == nil)

            // Bytes of another title are lost and cut at the edge.
            try FileManager.default.removeItem(atPath: "\(site)/damaged/0.ts")
            try Data((stored("damaged/1.ts") ?? Data()).prefix(1_000))
                .write(to: URL(filePath: "\(site)/damaged/1.ts"))
            let audited = try await Self.playing(
                edge, home, ["audit", "file://\(home.edge)", "--deep", "--repair"])
            #expect(audited.contains("missing"), "\(audited)")
            for name in ["damaged/0.ts", "damaged/1.ts"] {
                #expect(stored(name) == original(name), "\(name)")
            }
            try await Self.play(edge, "damaged")
            try await Self.play(edge, "changed")
        }

        @Test func aTitlePlaysWhileAnotherOneIsEvicted() async throws {
            let source = try TemporaryDirectory("titles")
            for (number, name) in ["played", "evicted"].enumerated() {
                _ = try await ChildProcess.run([
                    "sh", "-ec", Self.make, source.path, name, "\(number * 40)",
                ])
            }
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try ["evicted", "played"].map { "\(origin.url)/\($0)/main.m3u8\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let prefetch = try home.prefetch(list, ["--name", "films"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let edge = try await NginxServer(root: site)
            let up = try home.start(
                ["up", "--listen", "127.0.0.1:0", "--state", home.stateDirectory])
            try await waitUntil(deadlineSeconds: 60, "the cluster") {
                up.output.contains("DRAY_COORDINATOR")
            }
            let evicted = try await Self.playing(
                edge, home, ["site", "evict", "file://\(home.edge)", "--bytes", "1", "--yes"]
            ) {
                try await waitUntil(deadlineSeconds: 60, "the end of the evicted title") {
                    !FileManager.default.fileExists(atPath: "\(site)/evicted/0.ts")
                }
            }
            #expect(evicted.contains("Evicting: 1 asset"), "\(evicted)")
            #expect(!FileManager.default.fileExists(atPath: "\(site)/evicted/main.m3u8"))
            up.signal(SIGTERM)
            #expect(try await up.wait() == .exited(0), "\(up.errors)")
        }
    }
}
