package import Model

/// Progress of one asset's transfers at one worker.
package struct TransferProgress: Codable, Hashable, Sendable {
    package var receivedBytes: Int64
    /// Bytes of `receivedBytes` that earlier attempts received, and these transfers resumed; nil for none.
    package var resumedBytes: Int64?
    /// Expected total bytes; for a transfer of unknown length, the received bytes.
    package var expectedBytes: Int64
    /// Number of transfers that have received bytes.
    package var transfers: Int
    /// Number of transfers that wait for their first byte; nil for none. They count nowhere else.
    package var waiting: Int?
    /// Bytes of `expectedBytes` in multipart files, which are counted elsewhere; nil for none.
    package var partBytes: Int64?

    package init(receivedBytes: Int64 = 0, expectedBytes: Int64 = 0, transfers: Int = 0) {
        self.receivedBytes = receivedBytes
        self.expectedBytes = expectedBytes
        self.transfers = transfers
    }
}

/// `POST /v1/heartbeats`: extends a worker's leases and reports its activity.
package struct Heartbeat: Codable, Sendable {
    package var worker: WorkerID
    package var leases: [LeaseID]
    /// Running transfers without a result, by asset number.
    package var progress: [String: TransferProgress]
    /// Human-readable host and process id of the worker.
    package var name: String
    package var activeTransfers: Int
    /// Connections that jobs could use now, while it waits for some; nil for none.
    package var idleConnections: Int?
    /// Jobs that it holds and cannot begin soon; nil for none.
    package var surplusJobs: Int?
    /// Its activity by origin; nil for no report.
    package var origins: [OriginReport]?
    /// Its use of quotas of origins' limits, one per origin; nil for none.
    package var originShares: [OriginQuotaUse]?
    /// The quotas of sites that it keeps to, one per site; nil for none.
    package var siteShares: [SiteQuotaUse]?
    /// Its reports on the sites of its jobs; nil for no report.
    package var sites: [SiteReport]?
    /// The reason why it gets no work from a reachable coordinator; nil while it gets work, or none
    /// is reachable.
    package var issue: Failure?
    /// Its work since it started; nil if nothing changed since the last report.
    package var done: WorkDone?
    /// The same for runs of catalogs, up to `WireLimits.runsPerHeartbeat`; nil for none.
    package var runs: [RunWork]?
    /// The roots, as in `LeaseRequest`.
    package var roots: [String]?
    package var refusedSites: [SiteID]?
    /// The queues whose jobs it leases; nil for all of them.
    package var queues: [String]?
    /// Version of its binary; nil from a worker that does not report it.
    package var version: String?

    package init(
        worker: WorkerID, leases: [LeaseID], progress: [String: TransferProgress], name: String,
        activeTransfers: Int, origins: [OriginReport]? = nil, siteShares: [SiteQuotaUse]? = nil
    ) {
        self.origins = origins
        self.siteShares = siteShares
        self.worker = worker
        self.leases = leases
        self.progress = progress
        self.name = name
        self.activeTransfers = activeTransfers
    }
}

/// The answer to `Heartbeat`.
package struct HeartbeatAnswer: Codable, Sendable {
    /// The leases that hold for `seconds` more; a missing one is lost.
    package var leases: [LeaseID]
    package var seconds: Double
    /// The worker's quotas of origins' limits; nil for none.
    package var shares: [OriginQuota]?
    /// Cancelled jobs of the worker's leases: it stops them at once, discards their data and
    /// reports nothing. Nil for none.
    package var cancelled: [JobID]?
    /// Jobs of paused assets: the worker stops them, keeps what it has received, and returns them.
    /// Nil for none.
    package var paused: [JobID]?
    /// Number of surplus jobs to return, because other workers could begin them now; nil for none.
    package var wantedJobs: Int?
    /// Origins in cooldown; nil for none.
    package var cooldowns: [OriginCooldown]?
    /// The worker's quotas of the sites of its jobs; nil for none.
    package var siteShares: [SiteQuota]?
    /// Load tests that need workers; nil for none.
    package var loadTests: [LoadTestCall]?

    package init(leases: [LeaseID], seconds: Double) {
        self.leases = leases
        self.seconds = seconds
    }
}
