import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Query parameters that an operator keeps in keys or leaves out, by origin.
    @Suite(.timeLimit(.minutes(2))) struct KeyQueryTests {
        @Test func aSessionThatRotatesIsFetchedOnce() async throws {
            let origin = try FaultOrigin()
            for path in ["/a.bin", "/t/0.ts"] { origin.serve(path, Array("bytes".utf8)) }
            origin.route("/v.bin") { $0.serve(Array("of \($0.target)".utf8)) }
            origin.route("/t/main.m3u8") { request in
                let session = request.target.split(separator: "=").last ?? ""
                return request.serve(
                    Array(
                        ("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts?session=\(session)\n"
                            + "#EXT-X-ENDLIST\n").utf8))
            }
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let settings = home.path("origins.json")
            let rule = #"{"keep": ["token"], "leaveOut": ["session"]}"#
            try #"{"\#(origin.url())": {"keyQuery": \#(rule)}}"#.write(
                toFile: settings, atomically: false, encoding: .utf8)
            let list = home.path("list.txt")
            for session in ["ROTATES1", "ROTATES2"] {
                let urls = [
                    "/a.bin?session=\(session)", "/t/main.m3u8?session=\(session)",
                    "/v.bin?session=\(session)&token=1080p", "/v.bin?token=720p",
                ]
                try urls.map { origin.url($0) }.joined(separator: "\n").write(
                    toFile: list, atomically: false, encoding: .utf8)
                let run = try home.prefetch(
                    list, ["--name", "rotating", "--origin-settings", settings])
                #expect(try await run.wait() == .exited(0), "\(run.errors)")
                try await home.expectQuiet()
                #expect(!run.errors.contains("differ only in an apparent token"))
            }
            for path in ["/a.bin", "/t/main.m3u8", "/t/0.ts"] {
                #expect(
                    origin.requests(for: path).filter { $0.method == "GET" }.count == 1, "\(path)")
            }
            #expect(
                Set(origin.requests(for: "/v.bin").map(\.target)) == [
                    "/v.bin?session=ROTATES1&token=1080p", "/v.bin?token=720p",
                ])

            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            for name in [
                "a.bin", "t/main.m3u8", "t/0.ts", "v.bin?token=1080p", "v.bin?token=720p",
                "SHA256SUMS",
            ] {
                #expect(FileManager.default.fileExists(atPath: "\(site)/\(name)"), "\(name)")
            }
            for name in try EdgeTree.files(beneath: home.edge) {
                #expect(!name.contains("session"))
                // What the origin made of a request's target is its own.
                if name.contains("v.bin") { continue }
                let data = FileManager.default.contents(atPath: "\(home.edge)/\(name)") ?? Data()
                let text = String(decoding: data, as: UTF8.self)
                #expect(!text.contains("session") && !text.contains("ROTATES"), "\(name)")
            }
            _ = try await EdgeTree.checkSums(beneath: site)
        }
    }
}
