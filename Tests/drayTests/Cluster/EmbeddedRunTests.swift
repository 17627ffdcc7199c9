import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray prefetch` with nothing running: the example catalog to a directory, and again.
    @Suite(.timeLimit(.minutes(2))) struct EmbeddedRunTests {
        @Test func theExampleCatalogArrivesAndPlays() async throws {
            try await prefetchTheExample(.current)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func theExampleCatalogArrivesForAnOrdinaryUser() async throws {
            try await prefetchTheExample(.ordinary)
        }

        private func prefetchTheExample(_ account: Account) async throws {
            let root = SourceTree.path("examples/origin")
            let origin = try await NginxServer(root: root)
            let home = try await EmbeddedHome(account)
            let list = home.path("catalog.json")
            let catalog = try String(
                contentsOfFile: SourceTree.path("examples/catalog.json"), encoding: .utf8)
            let local = catalog.replacingOccurrences(of: "http://127.0.0.1:8480", with: origin.url)
            try local.write(toFile: list, atomically: false, encoding: .utf8)

            let first = try home.prefetch(list)
            #expect(try await first.wait() == .exited(0), "\(first.errors)")
            try await home.expectQuiet()
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let served = try EdgeTree.files(beneath: root)
            try expectEqualFiles(served, root, site)
            #expect(try await EdgeTree.checkSums(beneath: site) == served)
            try expectReport(try Report(home.report), home, of: served, at: origin)
            let manifest = "\(site)/titles/clockwork/master.m3u8"
            try await expectPlays(manifest)
            let requests = origin.requests()
            #expect(Set(requests.map(\.target)) == Set(served.map { "/\($0)" }))

            let second = try home.prefetch(list)
            #expect(try await second.wait() == .exited(0), "\(second.errors)")
            try await home.expectQuiet()
            #expect(origin.requests().filter { $0.method == "GET" }.count == requests.count)
            let report = try Report(home.report)
            #expect(report.total("fetchedBytes") == 0)
            #expect(report.total("bytes") == (try Self.bytes(of: served, root)))
            #expect(second.output.contains("Already there"))
            #expect(second.output.contains(" 0 B/s "))

            // What was lost or spoilt at the edge is fetched again, and nothing else.
            try FileManager.default.removeItem(atPath: "\(site)/images/poster.jpg")
            let spoilt = try FileHandle(forWritingTo: URL(filePath: "\(site)/files/trailer.mp4"))
            try spoilt.write(contentsOf: Data([0xFF]))
            try spoilt.close()
            let third = try home.prefetch(list)
            #expect(try await third.wait() == .exited(0), "\(third.errors)")
            try await home.expectQuiet()
            let fetched = origin.requests().dropFirst(requests.count).map(\.target)
            #expect(Set(fetched) == ["/images/poster.jpg", "/files/trailer.mp4"])
            try expectEqualFiles(served, root, site)
        }

        @Test func aListMayComeFromAPipeAndNamesMayHoldQueries() async throws {
            let origin = try FaultOrigin()
            let targets = ["/a?x=1&y=%2F", "/a?x=2", "/sp%20ace", "/%C3%BC/"]
            for target in targets {
                origin.route(String(target.prefix { $0 != "?" })) { request in
                    FaultOrigin.Response(text: request.target)
                }
            }
            let home = try await EmbeddedHome(.current)
            let urls = targets.map { "'\(origin.url($0))'" }.joined(separator: " ")
            let binary = try DrayProcess.binary()
            let process = try ChildProcess([
                "sh", "-c",
                "printf '%s\\n' \(urls) | \(binary) prefetch - --to \(home.edge)"
                    + " --state \(home.path("state")) --quiet",
            ])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            #expect(process.output.isEmpty && process.errors.isEmpty)
            try await home.expectQuiet()
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            let keys = ["a?x=1&y=%2F", "a?x=2", "sp ace", "ü/index.html"]
            for (key, target) in zip(keys, targets) {
                let stored = FileManager.default.contents(atPath: "\(site)/\(key)")
                #expect(stored == Data(target.utf8), "\(key)")
            }
            #expect(try await EdgeTree.checkSums(beneath: site) == Set(keys))
        }

        @Test func aReportMayGoToAPipeOrThroughALink() async throws {
            let origin = try FaultOrigin()
            origin.route("/a", FaultOrigin.Response(text: "a"))
            let home = try await EmbeddedHome(.current)
            let (piped, linked, link) = (home.path("piped"), home.path("linked"), home.path("link"))
            try Data().write(to: URL(filePath: linked))
            symlink(linked, link)
            let command =
                "\(try DrayProcess.binary()) prefetch \(origin.url("/a")) --to \(home.edge)"
                + " --state \(home.path("state")) --quiet --report"
            let process = try ChildProcess([
                "sh", "-c", "\(command) /dev/stdout | cat >\(piped); \(command) \(link)",
            ])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            #expect(try Report(piped).state == "completed")
            #expect(try Report(linked).state == "completed")
            let attributes = try FileManager.default.attributesOfItem(atPath: link)
            #expect(attributes[.type] as? FileAttributeType == .typeSymbolicLink)
        }

        private static func bytes(of files: Set<String>, _ root: String) throws -> Int {
            try files.reduce(0) { sum, file in
                sum + (try Data(contentsOf: URL(filePath: "\(root)/\(file)"))).count
            }
        }

        private func expectEqualFiles(
            _ files: Set<String>, _ root: String, _ site: String
        ) throws {
            for file in files {
                let ours = FileManager.default.contents(atPath: "\(site)/\(file)")
                #expect(ours == FileManager.default.contents(atPath: "\(root)/\(file)"))
            }
            let others = try EdgeTree.files(beneath: site).subtracting(files)
            #expect(others.allSatisfy { $0.hasSuffix("SHA256SUMS") }, "\(others)")
        }

        /// The report's form is fixed: these keys, these types.
        private func expectReport(
            _ report: Report, _ home: EmbeddedHome, of served: Set<String>, at origin: NginxServer
        ) throws {
            #expect(
                Set(report.root.keys)
                    == ["assets", "catalog", "state", "totals", "traceID", "waited", "waits"])
            #expect(report.root["catalog"] as? String == "example")
            #expect(report.state == "completed")
            let totals: Set = [
                "assets", "bytes", "completed", "failed", "fetchedBytes", "retries", "seconds",
                "segments", "settings", "unverified", "waitSeconds",
            ]
            // A run of less than a second has no report of its workers yet.
            #expect(Set(report.totals.keys).subtracting(["work"]) == totals)
            let waits = report.totals["waitSeconds"] as? [String: Double] ?? [:]
            #expect(waits["p50"] ?? -1 >= 0 && waits["p95"] ?? -1 <= waits["p99"] ?? -1)
            #expect(report.total("assets") == 3)
            #expect(report.total("completed") == 3)
            #expect(report.total("failed") == 0)
            #expect(report.total("segments") == served.count)
            #expect((report.totals["seconds"] as? NSNumber)?.doubleValue ?? 0 > 0)
            let keys: Set = ["failure", "files", "kind", "name", "path", "state", "url"]
            for asset in report.assets {
                #expect(Set(asset.keys) == keys)
                // Here the served file of its URL.
                let url = try #require(asset["url"] as? String)
                #expect("http://\(asset["path"] as? String ?? "")" == url)
                #expect(asset["failure"] is NSNull)
                #expect(asset["state"] as? String == "completed")
            }
            #expect(
                report.assets.compactMap { $0["name"] as? String }
                    == ["clockwork", "trailer", "poster"])
            #expect(report.assets.compactMap { $0["kind"] as? String } == ["hls", "file", "file"])
            #expect(report.files.count == served.count)
            for file in report.files {
                #expect(Set(file.keys) == ["bytes", "path", "sha256", "url", "verified"])
                let path = try #require(file["path"] as? String)
                let prefix = "127.0.0.1:\(origin.port)/"
                try #require(path.hasPrefix(prefix))
                #expect(file["url"] as? String == "\(origin.url)/\(path.dropFirst(prefix.count))")
                let stored = try Data(contentsOf: URL(filePath: "\(home.edge)/\(path)"))
                #expect((file["bytes"] as? NSNumber)?.intValue == stored.count)
            }
        }

        /// Media tools read the title from the edge directory without complaints.
        private func expectPlays(_ manifest: String) async throws {
            let probe = try await ChildProcess.run([
                "ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0",
                manifest,
            ])
            #expect(probe.contains("video") && probe.contains("audio"))
            let player = try ChildProcess([
                "ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-f", "null", "-",
            ])
            #expect(try await player.wait() == .exited(0))
            #expect(player.errors.isEmpty, "\(player.errors)")
        }
    }
}
