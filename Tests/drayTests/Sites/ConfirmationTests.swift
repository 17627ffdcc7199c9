import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Answers at a terminal to the commands that ask before they delete files.
    @Suite(.timeLimit(.minutes(3))) struct ConfirmationTests {
        /// All answers but a yes: Return alone, Ctrl-D, and words that look like one.
        private static let noes = ["n\n", "\n", "\u{4}", "no\n", "yess\n", "Y n\n"]

        /// A cluster with two files at an edge.
        private struct Setup {
            let origin: FileOrigin
            let edge: TemporaryDirectory
            let cluster: ProcessCluster

            init() async throws {
                origin = try await FileOrigin(files: 2)
                edge = try TemporaryDirectory("confirmed")
                cluster = try await ProcessCluster(
                    coordinators: 1, workers: 1, connections: 2, leaseSeconds: 10)
                try await run(["prefetch", origin.list, "--to", edge.path, "--name", "spring"])
            }

            /// The number of files that are stored.
            var stored: Int {
                origin.paths.count {
                    FileManager.default.fileExists(
                        atPath: edge.path("127.0.0.1:\(origin.server.port)/\($0)"))
                }
            }

            /// Runs a command without a terminal; returns all that it printed.
            @discardableResult
            func run(_ words: [String], exits code: Int32 = 0) async throws -> String {
                let process = try cluster.start(words)
                #expect(
                    try await process.wait() == .exited(code),
                    "\(words): \(process.output)\(process.errors)")
                return process.output + process.errors
            }

            /// Types an answer at the question; returns all that was shown.
            func answer(
                _ command: [String], _ keys: String, to question: String, exits code: Int32
            ) async throws -> String {
                let terminal = try TypedTerminal(
                    [try DrayProcess.binary()] + command,
                    environment: [
                        "DRAY_COORDINATOR": cluster.urls, "DRAY_TOKEN": AccessToken.test.text,
                        "DRAY_CONFIG": "/dev/null",
                    ])
                try await terminal.type(keys, after: question)
                #expect(
                    try await terminal.process.wait() == .exited(code),
                    "\(keys.debugDescription): \(terminal.shown)")
                return terminal.shown
            }
        }

        @Test func anEvictionIsConfirmed() async throws {
            let setup = try await Setup()
            let evict = ["site", "evict", setup.edge.path, "--bytes", "1"]
            let question = "dray: delete 1 asset, "
            for keys in Self.noes {
                let shown = try await setup.answer(evict, keys, to: question, exits: 2)
                let lines = TerminalScreen(shown).lines
                #expect(
                    lines.contains { $0.hasPrefix("dray: nothing was evicted (input.usage)") },
                    "\(keys.debugDescription): \(lines)")
            }
            _ = try await setup.answer(evict, "\u{3}", to: question, exits: 130)
            let before = try await setup.run(evict + ["--dry-run"])
            #expect(before.contains("Would evict: 1 asset"), "\(before)")
            #expect(setup.stored == 2)
            let shown = try await setup.answer(evict, " Yes \n", to: question, exits: 0)
            #expect(shown.contains("Evicting: 1 asset"), "\(shown)")
            try await waitUntil(deadlineSeconds: 60, "the file's end") { setup.stored == 1 }
            // Nobody is asked where there is nothing to evict, or nothing would be.
            for options in [["--dry-run"], ["--yes"]] {
                let unasked = try await setup.run(evict + options)
                #expect(!unasked.contains("(y or n)"), "\(unasked)")
            }
            try await setup.cluster.stop()
        }

        @Test func aRemovalIsConfirmed() async throws {
            let setup = try await Setup()
            let name = "*/\(setup.origin.paths[1])"
            for (command, question, left) in [
                (
                    ["assets", "remove", "spring", "--match", name],
                    "dray: delete the files of the selected assets of catalog spring", 1
                ),
                (["catalog", "remove", "spring"], "dray: delete all files of catalog spring", 0),
            ] {
                for keys in Self.noes {
                    let shown = try await setup.answer(command, keys, to: question, exits: 2)
                    let lines = TerminalScreen(shown).lines
                    #expect(
                        lines.contains { $0.hasPrefix("dray: nothing was removed") },
                        "\(keys.debugDescription): \(lines)")
                }
                let stopped = try await setup.answer(command, "\u{3}", to: question, exits: 130)
                #expect(!stopped.contains("Removed"), "\(stopped)")
                #expect(setup.stored == left + 1)
                let shown = try await setup.answer(command, "y\n", to: question, exits: 0)
                #expect(shown.contains("Removed: 1 asset; freed 1 file"), "\(shown)")
                #expect(setup.stored == left)
            }
            try await setup.cluster.stop()
        }
    }
}
