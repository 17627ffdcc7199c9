import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A catalog that is submitted and left to the cluster.
    @Suite(.timeLimit(.minutes(2))) struct DetachTests {
        private let coordinator: ChildProcess
        private let url: String
        private let edge: TemporaryDirectory

        /// Without workers nothing ends.
        init() async throws {
            let process = try DrayProcess.start([
                "coordinator", "--database",
                try await PostgresServer.shared().databaseURL("detach"), "--listen", "127.0.0.1:0",
            ])
            try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
                guard process.ending == nil else { throw POSIXFailure(process.errors) }
                return process.output.hasSuffix("\n")
            }
            coordinator = process
            url = String(process.output.dropFirst("export DRAY_COORDINATOR=".count).dropLast())
            edge = try TemporaryDirectory("edge")
        }

        private func start(
            _ words: [String], _ environment: [String: String] = [:]
        ) throws -> ChildProcess {
            try DrayProcess.start(
                words, environment: ["DRAY_COORDINATOR": url].merging(environment) { $1 })
        }

        private func catalogs() async throws -> [CatalogStatus] {
            let status = try start(["status", "--json"])
            #expect(try await status.wait() == .exited(0), "\(status.errors)")
            return try JSONDecoder().decode(
                ClusterStatus.self, from: Data(status.output.utf8)
            ).catalogs
        }

        private func words(_ name: String, _ options: [String] = []) -> [String] {
            ["prefetch", "http://127.0.0.1:1/a", "--to", edge.path(name), "--name", name]
                + options
        }

        private func state(_ name: String) async throws -> CatalogState? {
            try await catalogs().first { $0.name == name }?.state
        }

        private func follow(_ name: String, _ options: [String] = []) async throws -> ChildProcess {
            let follower = try start(words(name, options))
            try await waitUntil(deadlineSeconds: 30, "the catalog \(name)") {
                // Noted once it follows.
                follower.errors.contains("\(name): 1 asset to")
            }
            return follower
        }

        @Test func aCatalogIsLeftToTheCluster() async throws {
            // At once.
            let submitted = try start(words("left", ["--detach"]))
            #expect(try await submitted.wait() == .exited(0), "\(submitted.errors)")
            let lines = submitted.output.split(separator: "\n").map(String.init)
            let number = try #require(
                try await catalogs().first { $0.name == "left" }?.id)
            #expect(lines.first == "left is catalog \(number); the cluster continues.")
            #expect(lines.last == "  cancel:     dray catalog cancel \(number)")
            #expect(try await state("left") == .running)
            // What it prints works.
            let shown = try start(["catalog", "show", "\(number)"])
            #expect(try await shown.wait() == .exited(0), "\(shown.errors)")

            // By a signal: as it was before without a terminal, or as an option sets.
            let interrupted = try await follow("interrupted")
            interrupted.signal(SIGINT)
            #expect(try await interrupted.wait() == .exited(130), "\(interrupted.errors)")
            #expect(try await state("interrupted") == .interrupted)
            let detached = try await follow("detached", ["--on-interrupt", "detach"])
            detached.signal(SIGTERM)
            #expect(try await detached.wait() == .exited(0), "\(detached.errors)")
            #expect(detached.output.contains("dray watch "))
            #expect(!detached.errors.contains("stopping"), "\(detached.errors)")
            #expect(try await state("detached") == .running)
        }

        @Test func whatCannotBeLeftIsRefused() async throws {
            let home = try await EmbeddedHome(.current)
            let alone = try home.start([
                "prefetch", "http://127.0.0.1:1/a", "--to", edge.path("alone"), "--detach",
                "--state", home.path("state"),
            ])
            #expect(try await alone.wait() == .exited(2))
            #expect(alone.errors.contains("(input.usage)\nStart a cluster with `dray up`"))
            #expect(!FileManager.default.fileExists(atPath: home.path("state")))
            for option in [["--report", edge.path("r.json")], ["--check-media"]] {
                let both = try start(words("both", ["--detach"] + option))
                #expect(try await both.wait() == .exited(2))
                #expect(both.errors.contains("which \(option[0]) needs"), "\(both.errors)")
            }
            let wrong = try start(words("wrong"), ["DRAY_ON_INTERRUPT": "stop"])
            #expect(try await wrong.wait() == .exited(2))
            #expect(wrong.errors.contains("DRAY_ON_INTERRUPT is 'stop'"), "\(wrong.errors)")
            #expect(try await catalogs().isEmpty)
        }

        /// A person at a terminal: keys typed, the question seen. Without an answer another signal
        /// stops it: not a second SIGINT, which may count as the first one (`SignalRepeatTests`).
        @Test func ctrlCAsksOnATerminal() async throws {
            for (answers, name, ending, state) in [
                (["?\n", "d\n"], "d", Int32(0), CatalogState.running),
                (["i\n"], "i", 130, .interrupted), ([], "signal", 130, .interrupted),
            ] {
                let process = edge.path("process-\(name)")
                let program = [
                    "sh", "-c", "echo $$ >\(process); exec \"$0\" \"$@\"",
                    try DrayProcess.binary(),
                ]
                let terminal = try TypedTerminal(
                    program + words(name),
                    environment: [
                        "DRAY_COORDINATOR": url, "DRAY_TOKEN": AccessToken.test.text,
                        "DRAY_CONFIG": "/dev/null",
                    ])
                try await terminal.wait(for: "1 asset to")
                try await terminal.type("\u{3}", after: "0/1")
                try await terminal.wait(for: "dray detaches. ")
                for (count, answer) in answers.enumerated() {
                    try await terminal.type(
                        answer, after: count == 0 ? "dray detaches. " : "d, i or c? ")
                }
                if answers.isEmpty {
                    let text = try String(contentsOfFile: process, encoding: .utf8)
                    let pid = try #require(Int32(text.split(separator: "\n").first ?? ""))
                    #expect(kill(pid, SIGTERM) == 0)
                }
                #expect(
                    try await terminal.process.wait() == .exited(ending), "\(terminal.shown)")
                #expect(terminal.shown.contains("dray watch ") == (name == "d"))
                #expect(try await self.state(name) == state)
            }
        }
    }
}
