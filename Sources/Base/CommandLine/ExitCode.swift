/// The exit codes of `dray`.
package enum ExitCode: Int32, Sendable {
    /// All requested work is done.
    case success = 0
    /// The command ran, and at least one asset failed.
    case someFailed = 1
    /// Invalid usage or input; nothing was written.
    case usage = 2
    /// No coordinator or database, or it could not start: state in use, port in use.
    case noCluster = 3
    /// An operator cancelled the catalog, or a part of it.
    case cancelled = 4
    /// All work is done, but the catalog's deadline was missed.
    case deadlineMissed = 5
    /// A load test ran, and one of its thresholds was broken.
    case thresholdBroken = 99
    /// Stopped by a signal; the same command resumes.
    case interrupted = 130
}
