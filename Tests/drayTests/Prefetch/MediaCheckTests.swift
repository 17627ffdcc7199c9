import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `--check-media`: what arrived whole may still not play.
    @Suite(.timeLimit(.minutes(2))) struct MediaCheckTests {
        /// Titles and files that play, and of each kind one that cannot.
        private static func origin() async throws -> (TemporaryDirectory, NginxServer) {
            let source = try TemporaryDirectory("media")
            _ = try await ChildProcess.run([
                "sh", "-ec",
                """
                cd "$0"; cp -r "$1" good; cp -r "$1" torn
                # Of one of its renditions nothing but the header is left.
                for f in torn/video/180p/segment-*.m4s; do head -c 4000 /dev/urandom >"$f"; done
                mkdir 'a b' files
                ffmpeg -nostdin -v error -f lavfi -i testsrc=s=64x48:d=1 -f lavfi -i sine=d=1 \
                    -c:v libx264 -c:a aac files/film.mp4
                head -c 9000 /dev/urandom >files/torn.mp4; cp files/torn.mp4 files/poster.jpg
                ffmpeg -nostdin -v error -i files/film.mp4 -c copy -f dash good/m.mpd
                ffmpeg -nostdin -v error -i files/film.mp4 -c copy -f hls -hls_list_size 0 \
                    -hls_segment_filename 'a b/s %d.ts' 'a b/m.m3u8'
                sed -i 's/^s /s%20/' 'a b/m.m3u8'
                """, source.path, SourceTree.path("examples/origin/titles/clockwork"),
            ])
            return (source, try await NginxServer(root: source.path))
        }

        private static func asset(_ report: Report, _ url: String) -> [String: Any]? {
            report.assets.first { $0["url"] as? String == url }
        }

        @Test func unplayableTitlesAreReported() async throws {
            let (source, origin) = try await Self.origin()
            let names = [
                "good/master.m3u8", "good/m.mpd", "torn/master.m3u8", "a%20b/m.m3u8",
                "files/film.mp4",
                "files/torn.mp4", "files/poster.jpg",
            ]
            let urls = names.map { "\(origin.url)/\($0)" }
            let list = try source.write(urls.map { "\($0)\n" }.joined(), to: "list.txt")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(list, ["--name", "media", "--check-media"])
            #expect(try await prefetch.wait() == .exited(1), "\(prefetch.errors)")
            // Everything is there, byte for byte.
            let report = try Report(home.report)
            #expect(report.state == "completed" && report.total("failed") == 0)
            #expect(
                prefetch.output.contains(
                    "ffprobe: 3 can be played, 2 cannot, 1 could not be checked\n"),
                "\(prefetch.output)")
            #expect(prefetch.errors.contains("content.unplayable: "))
            #expect(prefetch.errors.contains("stream") && prefetch.errors.contains("torn.mp4"))

            for (name, url) in zip(names, urls) {
                let asset = try #require(Self.asset(report, url))
                let media = asset["media"] as? [String: Any]
                let result = media?["result"] as? String
                let code = (media?["failure"] as? [String: Any])?["code"] as? String
                switch name {
                case "torn/master.m3u8", "files/torn.mp4":
                    #expect(result == "unplayable" && code == "content.unplayable", "\(name)")
                case "a%20b/m.m3u8": #expect(result == "unchecked" && code == nil)
                case "files/poster.jpg": #expect(result == nil)
                default: #expect(result == "playable" && code == nil, "\(name)")
                }
                // Of a title, the entry to play.
                let path = asset["path"] as? String
                #expect(path == "127.0.0.1:\(origin.port)/" + (name.removingPercentEncoding ?? ""))
            }

            // A refresh looks again, and asks the origin for nothing to do so.
            let mended = "\(home.edge)/127.0.0.1:\(origin.port)/files/torn.mp4"
            try source.write(try source.read("files/film.mp4"), to: "files/torn.mp4")
            let refresh = try home.start([
                "refresh", "media", "--check-media", "--state", home.path("own/state/dray"),
            ])
            #expect(try await refresh.wait() == .exited(1), "\(refresh.errors)")
            #expect(
                refresh.output.contains(
                    "ffprobe: 4 can be played, 1 cannot, 1 could not be checked\n"))
            #expect(
                FileManager.default.contents(atPath: mended)
                    == FileManager.default.contents(atPath: source.path("files/film.mp4")))
            try await home.expectQuiet()
        }

        @Test func withoutFfprobeTheRunIsTheSame() async throws {
            let source = try TemporaryDirectory("media")
            try source.write([1, 2, 3], to: "torn.mp4")
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let programs = try TemporaryDirectory("programs")
            // What a private cluster starts under root.
            for name in ["setpriv", "test"] {
                try FileManager.default.createSymbolicLink(
                    atPath: programs.path(name), withDestinationPath: "/usr/bin/\(name)")
            }
            let prefetch = try home.prefetch(
                "\(origin.url)/torn.mp4", ["--check-media"], environment: ["PATH": programs.path])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            #expect(prefetch.errors.contains("ffprobe cannot be run; install it"))
            #expect(!prefetch.output.contains("ffprobe"))
            let report = try Report(home.report)
            #expect(report.assets.first?["media"] == nil && report.assets.count == 1)
        }

        /// The workers of a cluster may write to what the machine of the command has not.
        @Test func aSiteElsewhereIsNotLookedAt() async throws {
            let source = try TemporaryDirectory("away")
            let origin = try await NginxServer(root: source.path)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 1, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let site = edge.path("site")
            let prefetch = try cluster.start([
                "prefetch", "\(origin.url)/a.mp4", "--to", site, "--name", "away",
            ])
            #expect(try await prefetch.wait() == .exited(1), "\(prefetch.errors)")
            // Nothing is requested again, so that no worker creates it again.
            try FileManager.default.moveItem(atPath: site, toPath: edge.path("elsewhere"))
            let refresh = try cluster.start(["refresh", "away", "--check-media"])
            #expect(try await refresh.wait() == .exited(0), "\(refresh.errors)")
            #expect(
                refresh.errors.contains(
                    "--check-media is skipped: \(site) is not on this machine"))
            #expect(!refresh.output.contains("ffprobe:"))
        }

        @Test func aCheckThatCouldNotBeDoneIsRefused() async throws {
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(
                "http://127.0.0.1:9/m.m3u8", ["--check-media", "--no-keys"])
            #expect(try await prefetch.wait() == .exited(2))
            #expect(prefetch.errors.contains("--check-media cannot be used with --no-keys"))
        }
    }
}
