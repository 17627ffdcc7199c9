import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray assets remove`, `dray prefetch --prune` and `--dry-run`, `dray catalog forget`.
    @Suite(.timeLimit(.minutes(2))) struct RemoveCommandTests {
        @Test func filesLeaveTheEdgeByTheCommandsAlone() async throws {
            let origin = try await FileOrigin(files: 4)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let urls = origin.paths.map { "\(origin.server.url)/\($0)" }
            let list = home.path("list.txt")
            func write(_ lines: ArraySlice<String>) throws {
                try lines.map { $0 + "\n" }.joined()
                    .write(toFile: list, atomically: false, encoding: .utf8)
            }
            try write(urls[0..<3])
            let options = ["prefetch", list, "--to", home.edge, "--name", "spring"]
            let preview = try await home.run(options + ["--dry-run"])
            #expect(preview.contains("Would add: 3 assets"), "\(preview)")
            #expect(!FileManager.default.fileExists(atPath: home.edge))
            _ = try await home.run(options)
            let site = "\(home.edge)/127.0.0.1:\(origin.server.port)"

            try write(urls[1..<4])
            let changes = try await home.run(options + ["--dry-run", "--prune"])
            #expect(changes.contains("Would add: 1 asset\n"), "\(changes)")
            #expect(changes.contains("Would remove: 1 asset\n"), "\(changes)")
            #expect(FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[0])"))
            _ = try await home.run(options + ["--prune"])
            #expect(!FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[0])"))
            #expect(FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[3])"))
            _ = try await EdgeTree.checkSums(beneath: site)

            let selected = ["assets", "remove", "spring", "--name", "*\(origin.paths[1])"]
            // Without a terminal nobody can be asked.
            let unasked = try await home.run(selected, exits: 2)
            #expect(unasked.contains("--yes"), "\(unasked)")
            #expect(FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[1])"))
            let removed = try await home.run(selected + ["--yes"])
            #expect(removed.contains("Removed: 1 asset; freed 1 file, "), "\(removed)")
            #expect(!FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[1])"))
            _ = try await EdgeTree.checkSums(beneath: site)
            let shown = try await home.run([
                "assets", "list", "spring", "--asset-state", "removed", "--json",
            ])
            #expect(shown.contains("\"freedFiles\" : 1"), "\(shown)")

            // A name that nothing has is found before anything is asked.
            for word in ["remove", "forget"] {
                let unknown = try await home.run(["catalog", word, "nosuch"], exits: 2)
                #expect(unknown.contains("input.notFound"), "\(unknown)")
            }
            let asked = try await home.run(["catalog", "remove", "spring"], exits: 2)
            #expect(asked.contains("--yes"), "\(asked)")
            #expect(FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[3])"))
            let all = try await home.run(["catalog", "remove", "spring", "--json", "--yes"])
            #expect(all.contains("\"freedFiles\" : 2"), "\(all)")
            #expect(!FileManager.default.fileExists(atPath: site))
            let shownState = try await home.run(["catalog", "list"])
            #expect(shownState.contains("  removed  "), "\(shownState)")
            let unsure = try await home.run(["catalog", "forget", "spring"], exits: 2)
            #expect(unsure.contains("--yes"), "\(unsure)")
            let forgotten = try await home.run(["catalog", "forget", "spring", "--yes"])
            #expect(forgotten.contains("no assets any more"), "\(forgotten)")
            #expect(!forgotten.contains("stay"), "\(forgotten)")
            _ = try await home.run(["catalog", "show", "spring"], exits: 2)
        }

        /// The private cluster deletes what has expired when it runs again.
        @Test func whatHasExpiredIsGoneAfterTheNextRun() async throws {
            let origin = try await FileOrigin(files: 2)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.json")
            let urls = origin.paths.map { "\(origin.server.url)/\($0)" }
            try "[{\"url\": \"\(urls[0])\", \"keepFor\": \"1s\"}]"
                .write(toFile: list, atomically: false, encoding: .utf8)
            let first = ["prefetch", list, "--to", home.edge, "--name", "rental"]
            _ = try await home.run(first)
            let site = "\(home.edge)/127.0.0.1:\(origin.server.port)"
            let up = try home.start(
                ["up", "--listen", "127.0.0.1:0", "--state", home.stateDirectory])
            try await waitUntil(deadlineSeconds: 60, "the file's end") {
                !FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[0])")
            }
            up.signal(SIGTERM)
            _ = try await up.wait()
        }
    }
}
