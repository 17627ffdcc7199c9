import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Files at the edge are not fetched again, whichever catalog had them first.
    @Suite(.timeLimit(.minutes(2))) struct KnownFilesTests {
        /// The example's origin, whose files a test may change.
        private static func origin() async throws -> (TemporaryDirectory, NginxServer) {
            let source = try TemporaryDirectory("known")
            _ = try await ChildProcess.run([
                "cp", "-r", "\(SourceTree.path("examples/origin"))/.", source.path,
            ])
            return (source, try await NginxServer(root: source.path))
        }

        private static func isManifest(_ target: String) -> Bool { target.hasSuffix(".m3u8") }

        /// Pre-fetches, and answers what came from the origin, and what lay there by the report.
        private static func prefetch(
            _ source: String, _ options: [String], _ home: EmbeddedHome, _ origin: NginxServer
        ) async throws -> (targets: [String], adoptedBytes: Int) {
            let before = origin.requests().count
            let run = try home.prefetch(source, options)
            #expect(try await run.wait() == .exited(0), "\(run.errors)")
            // The log has a request after its answer was sent: this one comes last.
            let mark = "/mark-\(UUID().uuidString)"
            _ = try await ChildProcess.run(["curl", "-s", "\(origin.url)\(mark)"])
            var requests: [NginxServer.Request] = []
            try await waitUntil(deadlineSeconds: 60) {
                requests = origin.requests()
                return requests.contains { $0.target == mark }
            }
            let report = try Report(home.report)
            return (
                requests.dropFirst(before).filter { $0.status != 304 }.map(\.target)
                    .filter { !$0.hasPrefix("/mark") },
                report.total("bytes") - report.total("fetchedBytes")
            )
        }

        @Test func anotherChoiceOfTracksFetchesWhatItLacks() async throws {
            let (source, origin) = try await Self.origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/titles/clockwork/master.m3u8"
            let low = [
                "--name", "t", "--max-height", "200", "--audio", "en", "--subtitles", "none",
            ]
            let first = try await Self.prefetch(url, low, home, origin)
            // Manifests that are written for an empty edge did not lie there.
            #expect(first.adoptedBytes == 0 && first.targets.contains { !Self.isManifest($0) })

            let whole = try await Self.prefetch(url, ["--name", "t"], home, origin)
            let again = Set(whole.targets).intersection(first.targets).filter {
                !Self.isManifest($0)
            }
            #expect(again.isEmpty, "\(again)")
            #expect(whole.targets.contains { $0.contains("video/360p/segment") })
            #expect(whole.adoptedBytes > 0)

            // Each selection is complete now: only manifests are requested.
            for options in [low, ["--name", "t"], ["--name", "another"]] {
                let next = try await Self.prefetch(url, options, home, origin)
                #expect(next.targets.allSatisfy(Self.isManifest), "\(next.targets)")
            }
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            _ = try await EdgeTree.checkSums(beneath: site)

            // What was lost meanwhile is fetched, and nothing else.
            let lost = "titles/clockwork/video/180p/segment-001.m4s"
            try FileManager.default.removeItem(atPath: "\(site)/\(lost)")
            let mended = try await Self.prefetch(url, low, home, origin)
            #expect(mended.targets.filter { !Self.isManifest($0) } == ["/\(lost)"])
            withExtendedLifetime(source) {}
        }

        @Test func aRepackagedTitleIsFetchedWhole() async throws {
            let (source, origin) = try await Self.origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/titles/clockwork/master.m3u8"
            _ = try await Self.prefetch(url, ["--name", "t", "--max-height", "200"], home, origin)
            let title = source.path("titles/clockwork")
            // The same URLs, other bytes.
            _ = try await ChildProcess.run([
                "sh", "-ec",
                "printf '# anew\\n' >>\"$0/video/180p/playlist.m3u8\"; printf x >>\"$0/video/180p/segment-001.m4s\"",
                title,
            ])
            _ = try await Self.prefetch(url, ["--name", "t"], home, origin)
            let file = "titles/clockwork/video/180p/segment-001.m4s"
            #expect(
                try Data(contentsOf: URL(filePath: source.path(file)))
                    == Data(
                        contentsOf: URL(filePath: "\(home.edge)/127.0.0.1:\(origin.port)/\(file)")))
        }

        @Test func filesOfAnotherCatalogAreNotFetchedAgain() async throws {
            let (source, origin) = try await Self.origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try source.write(
                ["files/trailer.mp4", "images/poster.jpg"].map { "\(origin.url)/\($0)\n" }.joined(),
                to: "list.txt")
            let first = try await Self.prefetch(list, ["--name", "one"], home, origin)
            #expect(Set(first.targets) == ["/files/trailer.mp4", "/images/poster.jpg"])
            let second = try await Self.prefetch(list, ["--name", "two"], home, origin)
            #expect(second.targets.isEmpty && second.adoptedBytes > 0)

            // What has changed at its origin meanwhile is fetched.
            let poster = "images/poster.jpg"
            try source.write([UInt8](repeating: 9, count: 77), to: poster)
            let third = try await Self.prefetch(list, ["--name", "three"], home, origin)
            #expect(third.targets == ["/\(poster)"])
            #expect(
                try Data(
                    contentsOf: URL(filePath: "\(home.edge)/127.0.0.1:\(origin.port)/\(poster)")
                ).count == 77)
        }

        /// Playlists do not show it: a key, and media encrypted with it, may change under their URLs.
        @Test func mediaThatChangedUnderTheSamePlaylistsIsFetchedWithWhatHasNot() async throws {
            let (source, origin) = try await Self.origin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = "\(origin.url)/titles/clockwork/master.m3u8"
            _ = try await Self.prefetch(url, ["--name", "t", "--max-height", "200"], home, origin)
            let file = "titles/clockwork/video/180p/segment-001.m4s"
            try source.write([UInt8](repeating: 5, count: 999), to: file)
            let whole = try await Self.prefetch(url, ["--name", "t"], home, origin)
            #expect(whole.targets.contains("/\(file)"))
            #expect(whole.adoptedBytes > 0)
            #expect(
                try Data(
                    contentsOf: URL(filePath: "\(home.edge)/127.0.0.1:\(origin.port)/\(file)")
                ).count == 999)
        }
    }
}
