import Foundation

/// The package's own files, as the tests read them.
enum SourceTree {
    /// The package's root folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every file under `Sources` with one of these extensions.
    static func files(withExtensions extensions: Set<String>) throws -> [URL] {
        let sources = root.appending(path: "Sources")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        return try require(files, of: sources)
            .filter { extensions.contains($0.pathExtension) }
    }

    private static func require(
        _ files: FileManager.DirectoryEnumerator?, of folder: URL
    ) throws -> [URL] {
        guard let files else { throw CocoaError(.fileReadNoSuchFile) }
        return files.compactMap { $0 as? URL }
    }

    /// The doc comment of each case of an enum, by the case's name; lines joined by a space.
    static func caseComments(of name: String, in path: String) throws -> [String: String] {
        var comments: [String: String] = [:]
        var comment: [String] = []
        var isInside = false
        for line in try text(path).split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.trimmingPrefix { $0 == " " }
            if line.hasPrefix("package enum \(name):") {
                isInside = true
                comment = []
            } else if line == "}" {
                isInside = false
            } else if text.hasPrefix("/// ") {
                comment.append(String(text.dropFirst(4)))
            } else {
                // A declaration, not the pattern of a switch.
                if isInside, text.hasPrefix("case "), !text.contains(".") {
                    let name = text.dropFirst(5).filter { $0 != "`" }
                    comments[String(name)] = comment.joined(separator: " ")
                }
                comment = []
            }
        }
        return comments
    }
}
