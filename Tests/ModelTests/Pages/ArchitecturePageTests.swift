import Foundation
import Testing

/// Compares `docs/architecture.md` with the sources that it names, and names of types with the
/// field's terms.
@Suite struct ArchitecturePageTests {
    /// Returns the texts in back-ticks.
    private static func named(in text: some StringProtocol) -> [Substring] {
        let parts = String(text).split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { parts[$0] }
    }

    @Test func namedFilesExist() throws {
        let files = try SourceTree.files(withExtensions: ["swift", "sql"])
        let names = Set(files.map(\.lastPathComponent))
        let named = Self.named(in: try SourceTree.text("docs/architecture.md")).filter {
            $0.hasSuffix(".swift") || $0.hasSuffix(".sql")
        }
        #expect(named.count > 100)
        for path in named {
            let name = String(path.split(separator: "/").last ?? path)
            if !names.contains(name) { Issue.record("\(path)") }
        }
    }

    /// The objects of each row have files of their names.
    @Test func handOversNameObjects() throws {
        let names = Set(
            try SourceTree.files(withExtensions: ["swift"]).map {
                $0.deletingPathExtension().lastPathComponent
            })
        let page = try SourceTree.text("docs/architecture.md")
        let section = try #require(page.components(separatedBy: "### Hand-overs\n").last)
        let rows = section.prefix { $0 != "#" }.split(separator: "\n").filter {
            $0.hasPrefix("| ")
        }
        #expect(rows.count == 14)
        for row in rows {
            for object in Self.named(in: row.split(separator: "|")[1])
            where !names.contains(String(object)) {
                Issue.record("\(object)")
            }
        }
    }

    @Test func typesAreNamedByTerms() throws {
        let kinds: Set<Substring> = ["actor", "class", "enum", "protocol", "struct", "typealias"]
        for file in try SourceTree.files(withExtensions: ["swift"]) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for suffix in ["Place", "Info", "Helper", "Manager"] where text.contains(suffix) {
                for line in text.split(separator: "\n") where line.contains(suffix) {
                    let words = line.split { !$0.isLetter }
                    for (kind, name) in zip(words, words.dropFirst())
                    where kinds.contains(kind) && name.hasSuffix(suffix) {
                        Issue.record("\(file.lastPathComponent): \(name)")
                    }
                }
            }
        }
    }
}
