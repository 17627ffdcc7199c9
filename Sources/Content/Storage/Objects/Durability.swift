/// When a committed object counts as durable.
package enum Durability: String, CaseIterable, Sendable {
    /// One barrier for all of a batch: syncfs(2), or fdatasync(2) of one or two files.
    case batch
    /// fdatasync(2) of every file; for a file system shared with heavy writers.
    case file
    /// None: a power cut may lose what was reported done. For benchmarks and throw-away sites.
    case none
}
