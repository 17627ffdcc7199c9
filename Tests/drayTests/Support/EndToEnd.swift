import Foundation
import Testing

/// The built binary as a user runs it: separate processes, a real PostgreSQL, a real nginx.
///
/// Their tests mostly wait, so `scripts/test` runs a few of them at once, beside all others.
@Suite enum EndToEnd {}

/// The package's own files.
enum SourceTree {
    static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    static func path(_ relative: String) -> String { root.appending(path: relative).path }
}
