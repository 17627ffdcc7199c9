import Foundation
import Testing

/// The built binary as a user runs it: separate processes, a real PostgreSQL, a real nginx.
///
/// One test of each group at a time: each starts a cluster of its own, and more at once would
/// measure the machine and not Dray.
@Suite enum EndToEnd {
    /// What `dray prefetch` and `dray fetch` download.
    @Suite(.serialized) enum Downloads {}

    /// Clusters, their processes and their load tests.
    @Suite(.serialized) enum Clusters {}
}

/// The package's own files.
enum SourceTree {
    static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    static func path(_ relative: String) -> String { root.appending(path: relative).path }
}
