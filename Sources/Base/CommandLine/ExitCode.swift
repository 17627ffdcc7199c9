/// What `dray` answers its caller with.
package enum ExitCode: Int32, Sendable {
    /// Everything that was asked for is done.
    case success = 0
    /// The command ran, and at least one asset failed.
    case someFailed = 1
    /// Bad usage or input; nothing was written.
    case usage = 2
    /// No coordinator or database, or none could be started: state in use, port in use.
    case noCluster = 3
    /// An operator cancelled the catalog, or some of it.
    case cancelled = 4
    /// Everything is done, and the catalog's deadline was missed.
    case deadlineMissed = 5
    /// A load test ran, and one of its thresholds does not hold.
    case thresholdBroken = 99
    /// Stopped by a signal; running it again goes on where it stopped.
    case interrupted = 130
}
