import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray adopt` over mirrors that wget, rclone and aria2 have made.
    @Suite(.timeLimit(.minutes(2))) struct MirrorToolTests {
        /// An origin with listings of its directories, and files that are older than any mirror.
        private struct Origin {
            static let names = ["0.bin", "1.bin", "sub/2.bin", "sub/large.bin"]
            let directory: TemporaryDirectory
            let server: NginxServer

            init() async throws {
                directory = try TemporaryDirectory("origin")
                for (number, name) in Self.names.enumerated() {
                    let file = try directory.write(
                        sampleBytes(number == 3 ? 200_000 : 3_000, seed: UInt64(number)),
                        to: "root/files/\(name)")
                    try FileManager.default.setAttributes(
                        [.modificationDate: Date(timeIntervalSince1970: 1_750_000_000)],
                        ofItemAtPath: file)
                }
                try directory.write("User-agent: *\n".utf8, to: "root/robots.txt")
                server = try await NginxServer(
                    root: directory.path("root"), configuration: "autoindex on;")
            }

            var host: String { "127.0.0.1:\(server.port)" }
            var urls: [String] { Self.names.map { "\(server.url)/files/\($0)" } }

            /// Returns what `body` returns, and the requests meanwhile.
            func watching(
                _ body: () async throws -> String
            ) async throws -> (output: String, requests: [NginxServer.Request]) {
                try await mark("before")
                let output = try await body()
                try await mark("after")
                let all = server.requests()
                let marks = all.indices.filter { all[$0].target.hasPrefix("/mark-") }
                return (output, Array(all[(marks[0] + 1)..<marks[1]]))
            }

            /// The log has a request after its answer was sent: this one comes last.
            private func mark(_ name: String) async throws {
                _ = try await ChildProcess.run(["curl", "-s", "\(server.url)/mark-\(name)"])
                try await waitUntil(deadlineSeconds: 60, "the access log") {
                    server.requests().contains { $0.target == "/mark-\(name)" }
                }
            }

            /// Each file lies at the site, as its SHA256SUMS say, and these list nothing else.
            func expectWhole(at site: String) async throws {
                let root = "\(site)/\(host)"
                for name in Self.names {
                    #expect(
                        FileManager.default.contents(atPath: "\(root)/files/\(name)")
                            == FileManager.default.contents(
                                atPath: directory.path("root/files/\(name)")), "\(name)")
                }
                let listed = try await EdgeTree.checkSums(beneath: root)
                #expect(listed == Set(Self.names.map { "files/\($0)" }))
            }
        }

        /// The listings and robots.txt that wget keeps are no files of the list. Without the directory of
        /// the host the files are copied by their digests.
        @Test(arguments: [true, false])
        func whatWgetMirroredIsNotDownloadedAgain(hasHost: Bool) async throws {
            let origin = try await Origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            try await ChildProcess.run(
                ["wget", "-q", "-m", "-P", mirror] + (hasHost ? [] : ["-nH"])
                    + ["\(origin.server.url)/files/"])
            let kept = try EdgeTree.files(beneath: mirror).filter { !$0.hasSuffix(".bin") }
            let prefix = hasHost ? "\(origin.host)/" : ""
            for name in ["files/index.html", "files/sub/index.html", "robots.txt"] {
                #expect(kept.contains(prefix + name))
            }
            let before = kept.map { FileManager.default.contents(atPath: "\(mirror)/\($0)") }
            let list = home.path("list.csv")
            var lines = [hasHost ? "url" : "url,sha256"]
            for (url, name) in zip(origin.urls, Origin.names) {
                let digest = try await ChildProcess.run([
                    "sha256sum", origin.directory.path("root/files/\(name)"),
                ]).prefix { $0 != " " }
                lines.append(hasHost ? url : "\(url),\(digest)")
            }
            try lines.map { $0 + "\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let site = hasHost ? mirror : home.edge
            let (output, requests) = try await origin.watching {
                try await home.run(
                    ["adopt", mirror, "--catalog", list, "--format", "csv", "--name", "mirror"]
                        + (hasHost ? [] : ["--to", site]))
            }
            #expect(output.contains(hasHost ? "4 by length and date" : "4 by digest"), "\(output)")
            #expect(requests.reduce(0) { $0 + $1.bytesSent } == 0)
            #expect(requests.map(\.method) == (hasHost ? Array(repeating: "HEAD", count: 4) : []))
            try await origin.expectWhole(at: site)
            let after = kept.map { FileManager.default.contents(atPath: "\(mirror)/\($0)") }
            #expect(before == after)
        }

        /// rclone makes no directory of the host, and writes no file of its own.
        @Test func whatRcloneCopiedIsNotDownloadedAgain() async throws {
            let origin = try await Origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            try await ChildProcess.run([
                "rclone", "copy", "--config", "", "--http-url", origin.server.url, ":http:files",
                "\(mirror)/\(origin.host)/files",
            ])
            #expect(
                try EdgeTree.files(beneath: mirror).sorted()
                    == Origin.names.map { "\(origin.host)/files/\($0)" }.sorted())
            let list = home.path("list.txt")
            try origin.urls.map { $0 + "\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let (output, requests) = try await origin.watching {
                try await home.run(["adopt", mirror, "--catalog", list, "--name", "mirror"])
            }
            #expect(output.contains("4 by length and date"), "\(output)")
            #expect(requests.map(\.method) == Array(repeating: "HEAD", count: 4))
            #expect(requests.reduce(0) { $0 + $1.bytesSent } == 0)
            try await origin.expectWhole(at: mirror)
        }

        /// aria2 reserves the whole length of a file first: until its control file is gone, neither length
        /// nor date say anything.
        @Test func whatAria2HasCompletedIsNotDownloadedAgain() async throws {
            let origin = try await Origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            let place = "\(mirror)/\(origin.host)/files"
            let input = home.path("input.txt")
            let list = home.path("list.txt")
            let lines = zip(origin.urls, Origin.names).map {
                "\($0)\n out=\(origin.host)/files/\($1)\n"
            }
            try lines.dropLast().joined()
                .write(toFile: input, atomically: false, encoding: .utf8)
            try origin.urls.map { $0 + "\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let aria2 = ["aria2c", "-q", "--no-conf", "-d"]
            try await ChildProcess.run(aria2 + [mirror, "-i", input])
            let stopped = try ChildProcess(
                aria2 + [
                    "\(place)/sub", "--file-allocation=trunc", "--no-file-allocation-limit=1K",
                    "--max-download-limit=20K", "--stop=1", origin.urls[3],
                ])
            // Its exit status for downloads that it did not complete.
            #expect(try await stopped.wait() == .exited(7), "\(stopped.output)")
            let large = "\(place)/sub/large.bin"
            let control = FileManager.default.contents(atPath: large + ".aria2")
            try #require(control != nil)
            #expect(FileManager.default.contents(atPath: large)?.count == 200_000)
            let (output, requests) = try await origin.watching {
                try await home.run([
                    "adopt", mirror, "--catalog", list, "--name", "mirror",
                ])
            }
            #expect(output.contains("3 by length and date; fetched: 1"), "\(output)")
            #expect(output.contains("1 file had to be fetched, because aria2"), "\(output)")
            #expect(output.contains("\(origin.host)/files/sub/large.bin"), "\(output)")
            #expect(requests.count { $0.method == "HEAD" } == 3)
            #expect(
                requests.filter { $0.method == "GET" }.map(\.target) == ["/files/sub/large.bin"])
            try await origin.expectWhole(at: mirror)
            #expect(FileManager.default.contents(atPath: large + ".aria2") == control)
        }
    }
}
