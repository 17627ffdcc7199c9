import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray audit`, and what it has kept.
    @Suite(.timeLimit(.minutes(2))) struct AuditCommandTests {
        @Test func damageIsNamedKeptAndRepaired() async throws {
            let origin = try await FileOrigin(files: 4)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(origin.list, ["--name", "movies"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "file://\(home.edge)"
            let stored = "\(home.edge)/127.0.0.1:\(origin.server.port)"
            let (gone, flipped) = (origin.paths[1], origin.paths[2])
            try FileManager.default.removeItem(atPath: "\(stored)/\(gone)")
            var bytes = try #require(FileManager.default.contents(atPath: "\(stored)/\(flipped)"))
            bytes[bytes.startIndex] ^= 1
            try bytes.write(to: URL(filePath: "\(stored)/\(flipped)"))
            try Data([1]).write(to: URL(filePath: "\(home.edge)/foreign"))

            let found = try await home.run(["audit", site], exits: 1)
            #expect(found.contains("dray audit show 1") && found.contains("--repair"), "\(found)")
            let listed = try await home.run(["audit", "list", site])
            #expect(listed.contains("completed"), "\(listed)")
            let shown = try await home.run(["audit", "show", "1"])
            #expect(shown.contains(gone) && shown.contains("foreign"), "\(shown)")
            #expect(!shown.contains(flipped), "\(shown)")
            let missing = try await home.run(["audit", "show", "1", "--kind", "missing", "--csv"])
            #expect(missing.contains(gone) && !missing.contains("/foreign"), "\(missing)")
            // CSV has no line for the position of what was left out.
            for words in [["audit", "show", "1"], ["assets", "list", "movies"]] {
                let first = try await home.run(words + ["--limit", "1", "--csv"])
                #expect(first.contains("dray: there is more: --after '"), "\(first)")
            }
            let detached = try await home.run(["audit", site, "--detach"], exits: 2)
            #expect(detached.contains("--detach needs a cluster"), "\(detached)")

            _ = try await home.run([
                "audit", site, "--deep", "--repair", "--read-rate", "unlimited",
            ])
            for (number, path) in origin.paths.enumerated() {
                let content = FileManager.default.contents(atPath: "\(stored)/\(path)")
                #expect(content == origin.content(number), "\(path)")
            }
            #expect(
                FileManager.default.contents(atPath: "\(home.edge)/foreign") == Data([1]))
            let repaired = try await home.run(["audit", "show", "2"])
            #expect(repaired.contains(flipped), "\(repaired)")
            _ = try await home.run(["audit", site, "--deep"])
            _ = try await home.run(["audit", "show", "99"], exits: 2)
            let bad = try await home.run(["audit", site, "--read-rate", "1MB/s"], exits: 2)
            #expect(bad.contains("--read-rate needs --deep"), "\(bad)")
        }

        /// A line that is redrawn in place, and gone at the end.
        @Test func aTerminalShowsHowFarAnAuditIs() async throws {
            let origin = try await FileOrigin(files: 60)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(origin.list, ["--name", "movies"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let audit = try home.startOnTerminal([
                "audit", "file://\(home.edge)", "--deep", "--file-rate", "20",
            ])
            #expect(try await audit.process.wait() == .exited(0), "\(audit.shown)")
            let shown = audit.shown
            // Files are counted when their page is done; SHA256SUMS are recorded too.
            let progress = shown.matches(
                of: #/audit 1: 0 of (\d+) recorded files compared, [^\r\n]* read/#
            ).compactMap { Int($0.output.1) }
            #expect(progress.count > 1 && progress.allSatisfy { $0 >= 60 }, "\(shown)")
            let lines = TerminalScreen(shown).lines
            #expect(lines.contains { $0.hasPrefix("audit 1 of ") }, "\(lines)")
            #expect(!lines.contains { $0.contains("recorded files compared") }, "\(lines)")
        }
    }
}
