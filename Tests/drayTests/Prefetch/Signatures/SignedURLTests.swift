import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Signed URLs from a list to a site: no way out shows or keeps what opens the origin.
    @Suite(.timeLimit(.minutes(2))) struct SignedURLTests {
        private static let secret = "S3CRET"

        @Test func noSignatureIsShownOrKept() async throws {
            let origin = try FaultOrigin()
            let body = Array("bytes".utf8)
            for path in [
                "/a.bin", "/b.bin", "/t/0.ts", "/e.bin", "/exp=1~hmac=\(Self.secret)/p.bin",
            ] { origin.serve(path, body) }
            let playlist =
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts?Signature=\(Self.secret)&Expires=9\n"
                + "#EXT-X-ENDLIST\n"
            origin.serve("/t/main.m3u8", Array(playlist.utf8))
            let many = (1...3).map { "/get.php?token=\(Self.secret)\($0)" }
            origin.serve("/get.php", body)
            let urls =
                many + [
                    "/exp=1~hmac=\(Self.secret)/p.bin", "/e.bin?X%2DAmz%2DSignature=\(Self.secret)",
                    "/a.bin?token=\(Self.secret)", "/b.bin?v=1&X-Amz-Signature=\(Self.secret)",
                    "/t/main.m3u8?hdnts=exp=1~hmac=\(Self.secret)",
                    "/lost.bin?token=\(Self.secret)",
                ]
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try urls.map { origin.url($0) }.joined(separator: "\n").write(
                toFile: list, atomically: false, encoding: .utf8)
            let run = try home.prefetch(list, ["--name", "signed"])
            #expect(try await run.wait() == .exited(1))
            try await home.expectQuiet()
            #expect(run.errors.contains("lost.bin"))
            #expect(run.errors.contains("3 URLs from here on differ only in an apparent token"))
            var shown = [run.output, run.errors]
            shown.append(try String(contentsOfFile: home.report, encoding: .utf8))
            for words in [["assets", "list", "signed"], ["assets", "list", "signed", "--json"]] {
                let assets = try home.start(
                    words + ["--state", home.path("own/state/dray")])
                #expect(try await assets.wait() == .exited(0), "\(assets.errors)")
                #expect(assets.output.contains("a.bin"))
                shown += [assets.output, assets.errors]
            }
            for text in shown { #expect(!text.contains(Self.secret), "\(text)") }

            // Neither in names nor in what is stored, the list of checksums and the manifest included.
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let shared = try EdgeTree.files(beneath: home.edge).filter { $0.contains("get.php?~=") }
            #expect(shared.count == 3)
            for name in [
                "e.bin", "~/p.bin", "a.bin", "b.bin?v=1", "t/0.ts", "t/main.m3u8", "SHA256SUMS",
            ] {
                #expect(FileManager.default.fileExists(atPath: "\(site)/\(name)"), "\(name)")
            }
            for name in try EdgeTree.files(beneath: home.edge) {
                #expect(!name.contains(Self.secret))
                let data = FileManager.default.contents(atPath: "\(home.edge)/\(name)") ?? Data()
                #expect(!String(decoding: data, as: UTF8.self).contains(Self.secret), "\(name)")
            }
            #expect(origin.requests(for: "/t/0.ts").allSatisfy { $0.target.contains(Self.secret) })
        }

        @Test func ofTwoObjectsUnderOneKeyTheSecondIsNotAskedFor() async throws {
            let origin = try FaultOrigin()
            for path in ["/m/n", "/m//n", "/x/", "/x/index.html", "/q"] {
                origin.serve(path, Array(path.utf8))
            }
            let pairs = [("/m/n", "/m//n"), ("/x/index.html", "/x/"), ("/q?a=%2F", "/q?a=/")]
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.json")
            let assets = pairs.enumerated().flatMap { number, pair in
                [("first\(number)", pair.0), ("second\(number)", pair.1)]
            }
            try
                ("["
                + assets.map { #"{"name": "\#($0)", "url": "\#(origin.url($1))"}"# }
                .joined(separator: ",") + "]")
                .write(toFile: list, atomically: false, encoding: .utf8)
            let run = try home.prefetch(list)
            #expect(try await run.wait() == .exited(1))
            let report = try Report(home.report)
            for number in pairs.indices {
                #expect(report.asset(named: "first\(number)")?["state"] as? String == "completed")
                #expect(report.failureCode(of: "second\(number)") == "storage.pathConflict")
            }
            let targets = Set(origin.requests.map(\.target))
            #expect(targets == Set(pairs.map(\.0)))
            _ = try await EdgeTree.checkSums(
                beneath: "\(home.edge)/127.0.0.1:\(origin.port)")
        }
    }
}
