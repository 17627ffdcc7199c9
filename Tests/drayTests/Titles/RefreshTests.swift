import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// What was changed at a web server since, by the command alone.
    @Suite(.timeLimit(.minutes(2))) struct RefreshTests {
        private static func refresh(
            _ home: EmbeddedHome, _ options: [String] = []
        ) throws -> ChildProcess {
            try home.start(
                ["refresh", "spring", "--state", home.path("own/state/dray")] + options)
        }

        /// A file of some days ago: a date of this second may stand for two versions.
        private static func put(
            _ bytes: [UInt8], _ name: String, in source: TemporaryDirectory, days: Double = 2
        ) throws {
            let path = try source.write(bytes, to: name)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -86_400 * days)],
                ofItemAtPath: path)
        }

        @Test(arguments: ["etag on;", "etag off;"])
        func aChangedPosterComesAndNothingElse(configuration: String) async throws {
            let source = try TemporaryDirectory("refresh")
            for number in 1...5 {
                try Self.put(
                    [UInt8](repeating: 7, count: 1_000 * number), "f\(number).bin", in: source)
            }
            try Self.put([1, 2, 3], "poster.jpg", in: source)
            let origin = try await NginxServer(root: source.path, configuration: configuration)
            let list = try source.write(
                (1...5).map { "\(origin.url)/f\($0).bin\n" }.joined()
                    + "\(origin.url)/poster.jpg\n", to: "list.txt")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(list, ["--name", "spring"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await waitUntil(deadlineSeconds: 60, "the server's log") {
                origin.requests().count == 6
            }

            try Self.put([4, 5, 6, 7], "poster.jpg", in: source, days: 1)
            let refresh = try Self.refresh(home, ["--report", home.report])
            #expect(try await refresh.wait() == .exited(0), "\(refresh.errors)")
            #expect(refresh.output == "spring: 5 unchanged, 1 changed, 0 failed\n")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            #expect(
                FileManager.default.contents(atPath: "\(site)/poster.jpg") == Data([4, 5, 6, 7]))
            try await waitUntil(deadlineSeconds: 60, "the server's log") {
                origin.requests().count == 12
            }
            let asked = origin.requests().dropFirst(6)
            #expect(asked.filter { $0.status == 304 && $0.bytesSent == 0 }.count == 5)
            #expect(asked.filter { $0.status == 200 }.map(\.target) == ["/poster.jpg"])
            let report = try Report(home.report)
            #expect(
                report.assets.filter { $0["refreshed"] as? String == "changed" }.count == 1)
            _ = try await EdgeTree.checkSums(beneath: site)

            // Removed files stay at the edge, and are reported.
            try FileManager.default.removeItem(atPath: source.path("f1.bin"))
            let lacking = try Self.refresh(home, ["--json"])
            #expect(try await lacking.wait() == .exited(1))
            #expect(lacking.output.contains("\"failed\" : 1"))
            #expect(lacking.errors.contains("origin.http.404"))
            #expect(FileManager.default.fileExists(atPath: "\(site)/f1.bin"))
            try await home.expectQuiet()
            withExtendedLifetime(source) {}
        }

        @Test func absentFilesAreReported() async throws {
            let home = try await EmbeddedHome(.current)
            try FileManager.default.createDirectory(
                atPath: home.path("own"), withIntermediateDirectories: true)
            let refresh = try Self.refresh(home)
            #expect(try await refresh.wait() == .exited(2))
            #expect(refresh.errors.contains("where no private cluster exists"), "\(refresh.errors)")
            // Nothing is made for it.
            #expect(!FileManager.default.fileExists(atPath: home.path("own/state/dray")))
        }
    }
}
