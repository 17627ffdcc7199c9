import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What an origin that answers wrongly gets: a code a bad asset, and all good ones complete.
    @Suite(.timeLimit(.minutes(2))) struct BadOriginTests {
        private static let body = Array("0123456789".utf8)
        private static let bodySHA256 =
            "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"

        /// Name, path, other members in the list, and the expected code.
        private static let bad: [(name: String, path: String, extra: String, code: String)] = [
            ("absent", "/absent.bin", "", "origin.http.404"),
            ("digest", "/digest.bin", digest, "integrity.digestMismatch"),
            ("length", "/length.bin", #", "bytes": 11"#, "content.lengthMismatch"),
            ("truncated", "/truncated.bin", "", "origin.truncated"),
            ("page", "/page.mp4", "", "content.unexpectedType"),
            ("title-page", "/page.m3u8", "", "manifest.html"),
            ("title-empty", "/empty.m3u8", "", "manifest.empty"),
            ("title-hollow", "/hollow.m3u8", "", "manifest.empty"),
            ("title-live", "/live.m3u8", "", "manifest.live"),
            ("title-text", "/text.m3u8", "", "manifest.malformed"),
            ("title-escape", "/escape.m3u8", "", "storage.pathRefused"),
            ("title-local", "/local.m3u8", "", "manifest.uriRefused"),
            ("title-gap", "/holed.m3u8", "", "origin.http.404"),
            ("linked", "/linked/x.bin", "", "storage.pathRefused"),
        ]
        private static let digest =
            #", "sha256": "0000000000000000000000000000000000000000000000000000000000000000""#

        private static let good = [
            ("plain", "/plain.bin", ""), ("checked", "/checked.bin", checks),
            ("dots", "/a/../../../dots.bin", ""), ("slashes", "//etc//passwd", ""),
            ("title", "/title.m3u8", ""),
        ]
        private static let checks = #", "bytes": 10, "sha256": "\#(bodySHA256)""#

        @Test func oneBadAssetNeverStopsTheRest() async throws {
            let origin = try FaultOrigin()
            Self.route(origin)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let outside = try TemporaryDirectory("outside")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            try FileManager.default.createDirectory(
                atPath: site, withIntermediateDirectories: true)
            symlink(outside.path, "\(site)/linked")
            let list = home.path("catalog.json")
            try Self.catalog(origin).write(toFile: list, atomically: false, encoding: .utf8)

            let process = try home.prefetch(list)
            #expect(try await process.wait() == .exited(1), "\(process.errors)")
            try await home.expectQuiet()
            let report = try Report(home.report)
            for bad in Self.bad {
                #expect(report.failureCode(of: bad.name) == bad.code, "\(bad.name)")
                #expect(report.asset(named: bad.name)?["state"] as? String == "failed")
                #expect(process.errors.contains("failed: \(bad.name)\n    \(bad.code): "))
            }
            // What was wrong is not there; of a title with a hole, the other files may be.
            for bad in Self.bad where bad.name != "title-gap" {
                #expect(!FileManager.default.fileExists(atPath: "\(site)\(bad.path)"))
            }
            for (name, _, _) in Self.good {
                #expect(report.asset(named: name)?["state"] as? String == "completed", "\(name)")
            }
            // One URL's file is the other's folder: whichever came first is there.
            let codes = ["file", "folder"].map { report.failureCode(of: $0) }
            #expect(codes.contains(nil) && codes.contains("storage.pathConflict"))
            #expect(report.state == "failed")
            #expect(report.total("failed") == Self.bad.count + 1)
            #expect(report.total("completed") == Self.good.count + 1)
            #expect(try EdgeTree.files(beneath: outside.path).isEmpty)

            for path in ["/plain.bin", "/checked.bin", "/dots.bin", "/etc/passwd", "/1.ts"] {
                #expect(FileManager.default.contents(atPath: site + path) == Data(Self.body))
            }
            let sums = try await EdgeTree.checkSums(beneath: site)
            let files = report.assets.filter { $0["state"] as? String == "completed" }
                .flatMap { $0["files"] as? [[String: Any]] ?? [] }
                .compactMap { $0["path"] as? String }
            #expect(Set(sums.map { "127.0.0.1:\(origin.port)/\($0)" }) == Set(files))

            // A failed asset is tried again by the next run, and completes once its origin is well.
            let healed = ["absent", "truncated"]
            for name in healed { origin.serve("/\(name).bin", Self.body) }
            let again = try home.prefetch(list)
            #expect(try await again.wait() == .exited(1))
            try await home.expectQuiet()
            let second = try Report(home.report)
            for name in healed {
                #expect(second.asset(named: name)?["state"] as? String == "completed")
                let stored = FileManager.default.contents(atPath: "\(site)/\(name).bin")
                #expect(stored == Data(Self.body))
            }
            #expect(second.total("failed") == Self.bad.count + 1 - healed.count)
            #expect(origin.count("/plain.bin") == 1)
        }

        private static func catalog(_ origin: FaultOrigin) -> String {
            let assets =
                bad.map { ($0.name, $0.path, $0.extra) } + good
                + [("file", "/clash", ""), ("folder", "/clash/inner", "")]
            let lines = assets.map { name, path, extra in
                #"{"name": "\#(name)", "url": "\#(origin.url(path))"\#(extra)}"#
            }
            return #"{"name": "mixed", "assets": [\#(lines.joined(separator: ",\n"))]}"#
        }

        private static func route(_ origin: FaultOrigin) {
            for path in [
                "/plain.bin", "/checked.bin", "/digest.bin", "/length.bin", "/dots.bin",
                "//etc//passwd", "/1.ts", "/linked/x.bin", "/clash", "/clash/inner",
            ] {
                origin.serve(path, body)
            }
            origin.route("/truncated.bin", FaultOrigin.Response(body: body).cut(after: 4))
            origin.route("/page.mp4", .htmlPage())
            origin.route("/page.m3u8", .htmlPage())
            playlist(origin, "/empty.m3u8", "")
            playlist(origin, "/hollow.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-ENDLIST\n")
            playlist(origin, "/text.m3u8", "this is no playlist\n")
            playlist(origin, "/title.m3u8", media(["1.ts"]))
            playlist(origin, "/live.m3u8", media(["1.ts"], end: ""))
            playlist(origin, "/escape.m3u8", media(["1.ts", "..%2f..%2f..%2fetc%2fpasswd"]))
            playlist(origin, "/local.m3u8", media(["1.ts", "file:///etc/passwd"]))
            playlist(origin, "/holed.m3u8", media(["1.ts", "missing.ts"]))
        }

        private static func playlist(_ origin: FaultOrigin, _ path: String, _ text: String) {
            origin.route(
                path,
                FaultOrigin.Response(
                    headers: [("Content-Type", "application/vnd.apple.mpegurl")], text: text))
        }

        private static func media(_ segments: [String], end: String = "#EXT-X-ENDLIST\n") -> String
        {
            "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n"
                + segments.map { "#EXTINF:4,\n\($0)\n" }.joined() + end
        }
    }
}
