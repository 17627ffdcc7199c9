import Foundation
import Model
import Testing

@testable import JobQueue

/// The texts of the files of SQL, as people read them.
@Suite struct SQLTextTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Sources/Cluster/JobQueue/SQL")

    /// A statement, fragment or template of a file, with its comments.
    private struct Entry {
        var path: String
        var lines: [Substring]

        /// The code and the comment of each line.
        var parts: [(code: Substring, comment: Substring)] {
            lines.map { line in
                guard let dashes = line.firstRange(of: "--") else { return (line, "") }
                return (line[..<dashes.lowerBound], line[dashes.lowerBound...])
            }
        }

        var code: String { parts.map(\.code).joined(separator: "\n") }
    }

    /// All entries of all files but migrations.
    private static func entries() throws -> [Entry] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".sql") && !$0.hasPrefix("migrations/") }
        #expect(!paths.isEmpty)
        return try paths.sorted().flatMap { path in
            let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
            var entries: [Entry] = []
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.starts(with: #/-- (?:name|unprepared|fragment|template): /#) {
                    entries.append(Entry(path: path, lines: []))
                }
                if !entries.isEmpty { entries[entries.count - 1].lines.append(line) }
            }
            return entries
        }
    }

    /// Decision 47 says why these stay, and how many.
    @Test func eachFenceHasItsReason() throws {
        var count = 0
        for entry in try Self.entries() {
            var hasReason = false
            for (code, comment) in entry.parts {
                hasReason = hasReason || comment.contains("OFFSET 0")
                guard code.contains("OFFSET 0") else { continue }
                count += 1
                #expect(hasReason, "\(entry.path): \(code)")
            }
        }
        #expect(count == 18)
    }

    /// A condition that is always true, and only fixes the order in which rows are locked.
    @Test func noConditionIsAlwaysTrue() throws {
        let pattern = #/\(SELECT count\(\*\)[^()]*\)\s*(?:>=\s*0|>\s*-)/#
        for entry in try Self.entries() {
            for match in entry.code.matches(of: pattern) {
                Issue.record("\(match.output) in \(entry.path)")
            }
        }
    }

    /// Lists of states and kinds are placeholders, which the tables of states and the kinds fill.
    @Test func noStatementListsStatesOrKinds() throws {
        let pattern = #/\b\w*(?:state|kind|breaker|repair|role)\s+(?:NOT\s+)?IN\s*\(\s*'\w/#
        for entry in try Self.entries() {
            for match in entry.code.matches(of: pattern) {
                Issue.record("\(match.output)… in \(entry.path)")
            }
        }
    }

    /// Pins the lists that the tables of states give: a change of a table that changes one is seen here.
    @Test func listsOfStatesFollowTheirTables() {
        let lists = [
            "assetUnderWay": "'ready', 'inProgress', 'verifying'",
            "assetInterrupted": "'new', 'interrupted'",
            "assetRetryable": "'failed', 'cancelled'",
            "assetRefreshing": "'refreshing', 'publishing'",
            "assetWhole": "'completed', 'refreshing', 'publishing'",
            "assetStored": "'completed', 'refreshing'",
            "assetEnded": "'completed', 'failed'",
            "catalogRefreshable": "'completed', 'failed'",
        ]
        for (name, list) in lists {
            #expect(SQL.common.placeholders.texts[name] == list, "\(name)")
        }
    }

    /// Failure codes are placeholders, which the table of failures fills: an unknown one cannot be parsed.
    @Test func noStatementSpellsAFailureCode() throws {
        let codes = FailureCode.table.map(\.code.rawValue)
        for entry in try Self.entries() {
            for code in codes where entry.code.contains("'\(code)'") {
                Issue.record("'\(code)' in \(entry.path): write {{\(code)}}")
            }
        }
        #expect(SQL.common.placeholders.texts["storage.full"] == "'storage.full'")
    }

    /// Statements store facts, of which readers compose sentences.
    @Test func noStatementComposesASentence() throws {
        // A text beside `||` with a space between two words.
        let pattern = #/(?:\|\|\s*'[^']*[a-z] [a-z][^']*'|'[^']*[a-z] [a-z][^']*'\s*\|\|)/#
        for entry in try Self.entries() {
            for match in entry.code.matches(of: pattern) {
                Issue.record("\(match.output) in \(entry.path)")
            }
        }
    }
}
