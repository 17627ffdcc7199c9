import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray site popularity`, `dray site set --evict` and `dray site evict`.
    @Suite(.timeLimit(.minutes(2))) struct EvictionCommandTests {
        @Test func theLeastPopularMakesRoomAndIsFetchedAgain() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try origin.paths.map { "\(origin.server.url)/\($0)\n" }.joined()
                .write(toFile: list, atomically: false, encoding: .utf8)
            let prefetch = ["prefetch", list, "--to", home.edge, "--name", "movies"]
            _ = try await home.run(prefetch)
            let host = "127.0.0.1:\(origin.server.port)"
            func isThere(_ path: String) -> Bool {
                FileManager.default.fileExists(atPath: "\(home.edge)/\(host)/\(path)")
            }
            let up = try home.start(
                ["up", "--listen", "127.0.0.1:0", "--state", home.stateDirectory])
            try await waitUntil(deadlineSeconds: 60, "the cluster") {
                up.output.contains("DRAY_COORDINATOR")
            }
            let site = "file://\(home.edge)"

            let access = home.path("access.log")
            try [0, 0, 2].map {
                "h - - [10/Oct/2026:13:55:36 +0200] \"GET /edge/\(host)/\(origin.paths[$0])?t=1 "
                    + "HTTP/1.1\" 200 5000 \"-\" \"player\"\n"
            }.joined().write(toFile: access, atomically: false, encoding: .utf8)
            let added = try await home.run([
                "site", "popularity", site, "--from-access-log", access, "--prefix", "/edge",
                "--json",
            ])
            #expect(added.contains("\"requests\" : 3"), "\(added)")
            #expect(added.contains("\"unknownFiles\" : 0"), "\(added)")
            // A directory names its site, as everywhere.
            let least = try await home.run([
                "site", "popularity", home.edge, "--least", "--limit", "1",
            ])
            #expect(least.contains(origin.paths[1]), "\(least)")

            let set = try await home.run(["site", "set", site, "--evict", "least-popular"])
            #expect(set.contains("evicts: least-popular"), "\(set)")
            let preview = try await home.run(["site", "evict", site, "--bytes", "1", "--dry-run"])
            #expect(preview.contains("Would evict: 1 asset"), "\(preview)")
            #expect(preview.contains(origin.paths[1]) && isThere(origin.paths[1]), "\(preview)")
            // Without a terminal nobody can be asked.
            let unasked = try await home.run(["site", "evict", site, "--bytes", "1"], exits: 2)
            #expect(unasked.contains("--yes") && isThere(origin.paths[1]), "\(unasked)")
            let evicted = try await home.run(["site", "evict", site, "--bytes", "1", "--yes"])
            #expect(evicted.contains("Evicting: 1 asset"), "\(evicted)")
            try await waitUntil(deadlineSeconds: 60, "the file's end") {
                !isThere(origin.paths[1])
            }
            #expect(isThere(origin.paths[0]) && isThere(origin.paths[2]))
            up.signal(SIGTERM)
            #expect(try await up.wait() == .exited(0), "\(up.errors)")

            _ = try await home.run(prefetch)
            #expect(isThere(origin.paths[1]))
            // A private cluster has no workers for the time of a call.
            let later = try await home.run(["site", "evict", site, "--bytes", "1", "--yes"])
            #expect(later.contains("the files are deleted by the next `dray prefetch`"), "\(later)")
        }
    }
}
