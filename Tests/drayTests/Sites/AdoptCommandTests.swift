import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray adopt` over mirrors that other tools made.
    @Suite(.timeLimit(.minutes(2))) struct AdoptCommandTests {
        /// Writes the origin's files below a directory.
        private static func mirror(_ origin: FileOrigin, to directory: String) throws {
            for (number, path) in origin.paths.enumerated() {
                let file = URL(filePath: "\(directory)/\(path)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try #require(origin.content(number)).write(to: file)
            }
        }

        private static func expectWhole(_ origin: FileOrigin, at site: String) async throws {
            for (number, path) in origin.paths.enumerated() {
                let stored = FileManager.default.contents(atPath: "\(site)/\(path)")
                #expect(stored == origin.content(number), "\(path)")
            }
            _ = try await EdgeTree.checkSums(beneath: site)
        }

        /// As `wget -x` leaves it: the origin is asked for lengths and dates.
        @Test func aMirrorBecomesTheSiteAndOnlyWhatIsWrongIsDownloaded() async throws {
            let origin = try await FileOrigin(files: 9)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            let site = "\(mirror)/127.0.0.1:\(origin.server.port)"
            try Self.mirror(origin, to: site)
            let cut = origin.paths[7]
            try Data([1]).write(to: URL(filePath: "\(site)/\(cut)"))
            try Data([2]).write(to: URL(filePath: "\(mirror)/foreign"))
            try await home.run(["adopt", mirror, "--catalog", origin.list, "--name", "mirror"])
            try await Self.expectWhole(origin, at: site)
            #expect(FileManager.default.contents(atPath: "\(mirror)/foreign") == Data([2]))
            try await waitUntil(deadlineSeconds: 60, "the access log") {
                origin.server.requests().contains { $0.method == "GET" }
            }
            let requests = origin.server.requests()
            #expect(requests.filter { $0.method == "GET" }.map(\.target) == ["/\(cut)"])
            #expect(requests.count { $0.method == "HEAD" } == origin.paths.count)
        }

        /// By the digests of the list, from files that lie elsewhere: the origin is asked nothing.
        @Test func filesWithTheDigestsOfTheListAreCopied() async throws {
            let origin = try await FileOrigin(files: 9)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            try Self.mirror(origin, to: mirror)
            let digests = try await origin.digests("sha256sum")
            let list = home.path("list.csv")
            let lines = zip(origin.paths, digests).map { "\(origin.server.url)/\($0),\($1)\n" }
            try ("url,sha256\n" + lines.joined())
                .write(toFile: list, atomically: false, encoding: .utf8)
            try await home.run([
                "adopt", mirror, "--catalog", list, "--format", "csv", "--to", home.edge,
                "--name", "mirror",
            ])
            try await Self.expectWhole(
                origin, at: "\(home.edge)/127.0.0.1:\(origin.server.port)")
            #expect(origin.server.requests().isEmpty)
            // The mirror stays as it is.
            for (number, path) in origin.paths.enumerated() {
                #expect(
                    FileManager.default.contents(atPath: "\(mirror)/\(path)")
                        == origin.content(number))
            }
        }

        /// A mirror of a title: its manifests are read, and of the rest only what is wrong is downloaded.
        @Test(arguments: [nil, "video/180p/segment-001.m4s"])
        func aMirroredTitleBecomesTheSites(wrong: String?) async throws {
            let source = try TemporaryDirectory("titles")
            try await ChildProcess.run([
                "cp", "-r", "\(SourceTree.path("examples/origin"))/.", source.path,
            ])
            let origin = try await NginxServer(root: source.path)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let mirror = home.path("mirror")
            let title = "titles/clockwork"
            let site = "\(mirror)/127.0.0.1:\(origin.port)"
            try FileManager.default.createDirectory(
                atPath: "\(site)/titles", withIntermediateDirectories: true)
            try await ChildProcess.run([
                "cp", "-a", source.path(title), "\(site)/\(title)",
            ])
            if let wrong { try Data([1]).write(to: URL(filePath: "\(site)/\(title)/\(wrong)")) }
            let output = try await home.run([
                "adopt", mirror, "--catalog", "\(origin.url)/\(title)/master.m3u8", "--name", "t",
            ])
            #expect(output.contains("1 title: "), "\(output)")
            let files = try EdgeTree.files(beneath: source.path(title))
            for file in files {
                #expect(
                    FileManager.default.contents(atPath: "\(site)/\(title)/\(file)")
                        == FileManager.default.contents(atPath: source.path("\(title)/\(file)")))
            }
            _ = try await EdgeTree.checkSums(beneath: site)
            let media = files.filter { !$0.hasSuffix(".m3u8") }
            // The log has a request after its answer was sent: this one comes last.
            _ = try await ChildProcess.run(["curl", "-s", "\(origin.url)/mark"])
            try await waitUntil(deadlineSeconds: 60, "the access log") {
                origin.requests().contains { $0.target == "/mark" }
            }
            let requests = origin.requests().filter {
                !$0.target.hasSuffix(".m3u8") && $0.target != "/mark"
            }
            #expect(requests.count { $0.method == "HEAD" } == media.count)
            let fetched = requests.filter { $0.method != "HEAD" }.map(\.target)
            #expect(fetched == (wrong.map { ["/\(title)/\($0)"] } ?? []))
            #expect(wrong != nil || requests.allSatisfy { $0.bytesSent == 0 })
        }
    }
}
