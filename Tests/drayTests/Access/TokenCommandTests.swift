import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Tokens of roles, as an administrator makes them for a cluster.
    @Suite(.timeLimit(.minutes(3))) struct TokenCommandTests {
        /// Runs a command with a token, and returns what it prints.
        private static func run(
            _ cluster: ProcessCluster, _ words: [String], token: String = AccessToken.test.text,
            exits code: Int32 = 0
        ) async throws -> (output: String, errors: String) {
            let process = try start(cluster, words, token: token)
            #expect(try await process.wait() == .exited(code), "\(words): \(process.errors)")
            return (process.output, process.errors)
        }

        private static func start(
            _ cluster: ProcessCluster, _ words: [String], token: String
        ) throws -> ChildProcess {
            try DrayProcess.start(
                words, environment: ["DRAY_COORDINATOR": cluster.urls, "DRAY_TOKEN": token])
        }

        private static func create(
            _ cluster: ProcessCluster, _ words: [String]
        ) async throws -> String {
            let (output, errors) = try await run(cluster, ["token", "create"] + words)
            // Alone, to be piped into a file.
            #expect(output.wholeMatch(of: /dray_[0-9a-f]{64}\n/) != nil, "\(output)")
            #expect(!errors.contains(output.dropFirst(5).dropLast()))
            return String(output.dropLast())
        }

        @Test func eachProcessHasATokenOfItsRole() async throws {
            let origin = try await FileOrigin(files: 3)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let submitter = try await Self.create(
                cluster, ["--role", "submitter", "--name", "nightly", "--site", edge.path])
            let prefetch = try Self.start(
                cluster, ["prefetch", origin.list, "--to", edge.path, "--name", "movies"],
                token: submitter)
            try await waitUntil(deadlineSeconds: 30, "the catalog") {
                try await cluster.status().catalogs.first?.state == .running
            }
            let queue = try #require(try await cluster.status().queues.first?.name)
            let bound = try await Self.create(
                cluster, ["--role", "worker", "--queue", queue, "--expires", "90d"])
            let worker = try Self.start(
                cluster,
                [
                    "worker", "--root", "/tmp", "--root", "/dev/shm", "--allow-addresses",
                    "127.0.0.0/8",
                ],
                token: bound)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await origin.expectCopied(to: edge.path)

            let reader = try await Self.create(cluster, ["--role", "reader"])
            let status = try await Self.run(cluster, ["status"], token: reader)
            #expect(status.output.contains("movies"))
            let refused = try await Self.run(
                cluster, ["queue", "pause", queue], token: reader, exits: 3)
            #expect(refused.errors.contains("needs one of: admin, operator; the token is from"))
            #expect(refused.errors.contains("(cluster.forbidden)"), "\(refused.errors)")
            let elsewhere = try await Self.run(
                cluster, ["prefetch", origin.list, "--to", "/srv/elsewhere"], token: submitter,
                exits: 3)
            #expect(elsewhere.errors.contains("(cluster.outOfScope)"), "\(elsewhere.errors)")

            let csv = try await Self.run(cluster, ["token", "list", "--csv"]).output
            #expect(csv.hasPrefix("id,name,role,state,queues,sites,created,"), "\(csv)")
            #expect(csv.contains("nightly,submitter,active,,file://\(edge.path),"), "\(csv)")
            let list = try JSONDecoder().decode(
                TokenList.self,
                from: Data(try await Self.run(cluster, ["token", "--json"]).output.utf8))
            #expect(list.tokens.map(\.role) == [.reader, .worker, .submitter])
            #expect(list.tokens[1].queues == [queue] && list.tokens[1].expires != nil)
            let table = try await Self.run(cluster, ["token"]).output
            #expect(table.contains("nightly") && table.contains("active"), "\(table)")

            let revoked = try await Self.run(cluster, ["token", "revoke", "\(list.tokens[0].id)"])
            #expect(revoked.output.hasSuffix("is revoked.\n"))
            let gone = try await Self.run(cluster, ["status"], token: reader, exits: 3)
            #expect(gone.errors.contains("(cluster.unauthorized)"), "\(gone.errors)")

            let log = try await Self.run(cluster, ["token", "log"]).output
            #expect(log.contains("nightly") && log.contains("catalog movies at file://"), "\(log)")
            let first = try await Self.run(cluster, ["token", "log", "--limit", "1", "--json"])
            let page = try JSONDecoder().decode(AuditPage.self, from: Data(first.output.utf8))
            #expect(page.entries.map(\.action) == ["POST /v1/tokens/{token}/revoke"])
            let rest = try await Self.run(
                cluster, ["token", "log", "--csv", "--after", try #require(page.next)])
            #expect(rest.output.hasPrefix("id,time,token,name,role,action,object,status,"))
            #expect(!rest.output.contains("revoke"))
            _ = try await Self.run(cluster, ["token", "log"], token: bound, exits: 3)

            worker.signal(SIGTERM)
            #expect(try await worker.wait() == .exited(0), "\(worker.errors)")
            try await cluster.stop()
        }

        @Test(arguments: [
            (["--role", "root"], "--role"), ([], "--role"),
            (["--role", "reader", "--queue", "a"], "--queue is for the role worker"),
            (["--role", "worker", "--site", "/a"], "--site is for the role submitter"),
            (["--role", "reader", "--expires", "soon"], "--expires is 'soon'"),
        ])
        func whatATokenCannotBeIsNamed(_ words: [String], _ message: String) async throws {
            let process = try DrayProcess.start(
                ["token", "create"] + words, environment: ["DRAY_COORDINATOR": "http://127.0.0.1:9"]
            )
            #expect(try await process.wait() == .exited(2))
            #expect(process.errors.contains(message), "\(process.errors)")
        }
    }
}
