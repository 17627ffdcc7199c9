import API
import Foundation
import Glibc
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Invariant 9: secrets of lists, tokens, the database and origins, while and after a catalog is
    /// fetched in which some assets fail.
    @Suite(.timeLimit(.minutes(3))) struct CanaryTests {
        /// Columns of the database that have URLs as they were submitted, because workers need them; those
        /// that security.md lists.
        private static let columnsOfURLs: Set<String> = [
            "asset.url", "asset.sidecars", "mirror.urls", "segment.url", "segment.mirrors",
            "previous_file.url", "refreshed_file.url", "refreshed_file.mirrors",
        ]

        @Test func everySecretStaysWhereItIsKept() async throws {
            let cluster = try await CanaryCluster()
            defer { cluster.gate.open() }
            try await cluster.addWebhooks()
            let worker = try cluster.startWorker()
            let metrics = try await MetricsPage.port(of: worker)
            let report = cluster.directory.path("report.json")
            let prefetch = try cluster.start(
                [
                    "prefetch", try cluster.writeList(), "--to", cluster.directory.path("edge"),
                    "--name", "canaries", "--report", report,
                ], as: "submitter")
            try await waitUntil(deadlineSeconds: 30, "the file that waits") {
                guard prefetch.ending == nil else { throw POSIXFailure(prefetch.errors) }
                return cluster.gate.waiting > 0
            }
            // Besides, a private cluster with the administrators' token.
            let home = try await EmbeddedHome(.current)
            let (up, _) = try await UpTests.up(
                home,
                environment: [
                    "DRAY_TOKEN": "", "DRAY_TOKEN_FILE": cluster.directory.path("admin"),
                ])
            Self.expectNone(
                of: cluster.secrets,
                in: try Self.commandLines(including: "postgres", "prefetch", "up"))
            up.signal(SIGTERM)
            #expect(try await up.wait() == .exited(0), "\(up.errors)")

            cluster.gate.open()
            #expect(try await prefetch.wait() == .exited(1), "\(prefetch.errors)")
            #expect(prefetch.errors.contains("lost.bin"), "\(prefetch.errors)")
            let catalog = try #require(
                try JSONDecoder().decode(
                    ClusterStatus.self,
                    from: Data(try await cluster.run(["status", "--json"]).output.utf8)
                ).catalogs.first)
            #expect(catalog.totals.completed == 3 && catalog.totals.failed == 4)

            try await cluster.waitForDeadDeliveries()
            var texts = try await cluster.answers(of: catalog.id)
            let page = try await Wire.exchange(port: metrics, "GET", "/metrics")
            texts.append(("the worker's metrics", page.body))
            texts.append(("the database's log", cluster.database.log))
            texts.append(("the report", try String(contentsOfFile: report, encoding: .utf8)))
            for words in [
                ["assets", "list", "canaries"], ["token", "log"], ["token"], ["origins"],
                ["webhook"],
                ["webhook", "list", "--json"],
                ["webhook", "deliveries", "--delivery-state", "dead"],
                ["webhook", "deliveries", "--json"],
            ] {
                texts.append((words[0], try await cluster.run(words).output))
            }
            texts += try await Self.bundle(of: cluster)
            let refused = try cluster.start([
                "prefetch", cluster.withUserinfo("/a"), "--to", cluster.directory.path("edge"),
            ])
            #expect(try await refused.wait() == .exited(2))
            let refusedHook = try cluster.start([
                "webhook", "add", "\(cluster.withUserinfo("/hook"))?key=\(cluster.hookQuery)",
                "--secret-file", cluster.directory.path("hook-secret"),
            ])
            #expect(try await refusedHook.wait() == .exited(2))
            let deniedHook = try cluster.start([
                "webhook", "add", "http://169.254.169.254/hook?key=\(cluster.hookQuery)",
                "--secret-file", cluster.directory.path("hook-secret"),
            ])
            #expect(try await deniedHook.wait() == .exited(1))
            #expect(deniedHook.errors.contains("origin.addressForbidden"), "\(deniedHook.errors)")
            let watched = try cluster.start(["watch", "canaries", "--since", "1h"])
            #expect(try await watched.wait() == .exited(1))
            for process in [
                prefetch, refused, refusedHook, deniedHook, watched, worker, cluster.coordinator,
                up,
            ] {
                texts.append(("a process", process.output + process.errors))
            }
            Self.expectNone(of: cluster.secrets, in: texts)

            for secret in cluster.foreignSecrets {
                #expect(try await cluster.columns(with: secret).isEmpty, "\(secret)")
            }
            for secret in cluster.urlSecrets {
                let found = try await cluster.columns(with: secret)
                #expect(!found.isEmpty && found.isSubset(of: Self.columnsOfURLs), "\(found)")
            }
            // They are signed and sent, and nothing else.
            #expect(try await cluster.columns(with: cluster.hookSecret) == ["webhook.secret"])
            #expect(try await cluster.columns(with: cluster.hookQuery) == ["webhook.url"])
            #expect(cluster.origin.requests.contains { $0.headers["x-key"] == cluster.header })
            let sent = cluster.origin.requests(for: "/hook")
            #expect(sent.contains { $0.headers["dray-signature"] != nil })
            Self.expectNone(
                of: [cluster.hookSecret], in: sent.map { ("a delivery", "\($0.headers)") })
            for process in [worker, cluster.coordinator] {
                process.signal(SIGTERM)
                #expect(try await process.wait() == .exited(0), "\(process.errors)")
            }
            try await cluster.database.stop()
            try await home.expectQuiet()
        }

        private static func expectNone(
            of secrets: [String], in texts: [(name: String, text: String)]
        ) {
            for (name, text) in texts {
                for secret in secrets {
                    #expect(!text.contains(secret), "\(name): \(secret)")
                }
            }
        }

        /// The command lines of all processes of the machine, among them those with these words.
        private static func commandLines(
            including words: String...
        ) throws -> [(name: String, text: String)] {
            let pids = try FileManager.default.contentsOfDirectory(atPath: "/proc")
                .filter { Int($0) != nil }
            let lines = pids.compactMap { pid -> (name: String, text: String)? in
                guard let bytes = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline"),
                    !bytes.isEmpty
                else { return nil }
                let line = String(decoding: bytes.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
                return ("process \(pid)", line)
            }
            for word in words {
                #expect(lines.contains { $0.text.contains(word) }, "\(word)")
            }
            return lines
        }

        /// The files of a support bundle.
        private static func bundle(
            of cluster: CanaryCluster
        ) async throws -> [(name: String, text: String)] {
            let directory = cluster.directory
            let path = directory.path("bundle.tar.gz")
            let bundle = try await cluster.run([
                "support-bundle", "-o", path, "--database-file", directory.path("database-url"),
                "--origin-settings", directory.path("origins.json"),
            ])
            try await ChildProcess.run(["tar", "-xzf", path, "-C", directory.path])
            let files = try FileManager.default.contentsOfDirectory(
                atPath: directory.path("dray-support"))
            #expect(files.contains("status.json"))
            return [("the bundle", bundle.errors)]
                + (try files.map { file in
                    let bytes = try directory.read("dray-support/\(file)")
                    return ("\(file) of the bundle", String(decoding: bytes, as: UTF8.self))
                })
        }
    }
}
