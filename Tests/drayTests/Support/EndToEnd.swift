import Foundation
import Testing

/// The built binary as a user runs it: separate processes, a real PostgreSQL, a real nginx.
///
/// One suite at a time: each starts a cluster of its own, and several at once would measure the
/// machine's patience and not Dray's.
@Suite(.serialized) enum EndToEnd {}

/// The package's own files.
enum SourceTree {
    static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    static func path(_ relative: String) -> String { root.appending(path: relative).path }
}
