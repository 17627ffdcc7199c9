/// The durability of a committed object.
package enum Durability: String, CaseIterable, Sendable {
    /// One barrier for the whole batch: syncfs(2), or fdatasync(2) of one or two files.
    case batch
    /// fdatasync(2) of every file; for a file system shared with heavy writers.
    case file
    /// None: a power cut may lose objects that were reported as done. For benchmarks and disposable
    /// sites.
    case none
}
