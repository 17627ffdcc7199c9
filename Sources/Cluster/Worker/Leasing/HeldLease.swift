import API
import Model
import Transfer

/// A lease of `HeldWork`, with its jobs.
struct HeldLease {
    /// The earliest time at which the coordinator may lease the jobs to another worker.
    var deadline: HeldWork.Instant
    var grantedAt: HeldWork.Instant
    let site: SiteID
    var entries: [JobID: HeldJob]

    var length: Duration { deadline - grantedAt }

    /// Time reserved for writes and reports before the lease counts as lost.
    var margin: Duration { min(length / 5, .seconds(2)) }

    /// Time at which it counts as lost.
    var end: HeldWork.Instant { deadline - margin }
}

/// A job of such a lease.
struct HeldJob {
    var asset: AssetID
    var transfer: Transfer?
    var expectedBytes: Int64?
    /// True if the job is a part of a file that the coordinator counts as a whole.
    var isPart: Bool
    /// Bytes reserved at the site until they are reported; nil if received bytes count instead.
    var begunBytes: Int64? = 0
    /// True until the download ends; storing and reporting may follow.
    var isPending = true
    /// True while a pending job has or needs a connection to its origin: a fetch until its body
    /// is received.
    var needsConnection: Bool
    /// True until the engine has its transfer, while a connection is needed.
    var isStarting: Bool { needsConnection && transfer == nil }
    /// True if the job was cancelled: it is stopped, and its end is not reported.
    var isCancelled = false

    /// Bytes that the job uses of its site's space.
    var takenBytes: Int64 { begunBytes ?? transfer?.receivedBytes ?? 0 }
}
