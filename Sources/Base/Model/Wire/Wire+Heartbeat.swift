/// How far one asset's transfers at one worker are.
package struct TransferProgress: Codable, Hashable, Sendable {
    package var receivedBytes: Int64
    /// What they will come to; of one whose length is not known, what has come.
    package var expectedBytes: Int64
    /// Those of which bytes have come.
    package var transfers: Int
    /// Those that wait for their first byte; nil for none. Nothing else is known of them.
    package var waiting: Int?
    /// What of `expectedBytes` is of files in parts, which are known otherwise; nil for nothing.
    package var partBytes: Int64?

    package init(receivedBytes: Int64 = 0, expectedBytes: Int64 = 0, transfers: Int = 0) {
        self.receivedBytes = receivedBytes
        self.expectedBytes = expectedBytes
        self.transfers = transfers
    }
}

/// `POST /v1/heartbeats`: extends a worker's leases and says what it is doing.
package struct Heartbeat: Codable, Sendable {
    package var worker: WorkerID
    package var leases: [LeaseID]
    /// Transfers that have begun and have no result yet, by asset number.
    package var progress: [String: TransferProgress]
    /// Human-readable place of the worker, host and process id.
    package var name: String
    package var activeTransfers: Int
    /// What it does at which origin; nil for nothing to say.
    package var origins: [OriginReport]?
    /// What it uses of its shares of origins' limits, one an origin; nil for none.
    package var originShares: [OriginShareUse]?
    /// The shares of sites that it keeps to, one a site; nil for none.
    package var siteShares: [SiteShareUse]?
    /// What it sees of the sites that it holds jobs of; nil for nothing to say.
    package var sites: [SiteSighting]?
    /// Why it gets no work although a coordinator answers; nil while it gets work, or none is there.
    package var trouble: Failure?
    /// What it has done since it began; nil for no more than a coordinator has been told.
    package var done: WorkDone?
    /// As in `LeaseRequest`.
    package var roots: [String]?
    package var refusedSites: [SiteID]?
    /// The queues that it takes jobs of; nil for all of them.
    package var queues: [String]?

    package init(
        worker: WorkerID, leases: [LeaseID], progress: [String: TransferProgress], name: String,
        activeTransfers: Int, origins: [OriginReport]? = nil, siteShares: [SiteShareUse]? = nil
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
    /// The leases that hold for `seconds` more; one that is missing is lost.
    package var leases: [LeaseID]
    package var seconds: Double
    /// The worker's shares of the limits of origins; nil for none.
    package var shares: [OriginShare]?
    /// Jobs of the worker's leases that were cancelled: it stops them at once, drops what it has of
    /// them and reports nothing. Nil for none.
    package var cancelled: [JobID]?
    /// Origins that are left alone now; nil for none.
    package var cooling: [OriginCooldown]?
    /// The worker's shares of the sites that it holds jobs of; nil for none.
    package var siteShares: [SiteShare]?
    /// Load tests that want workers; nil for none.
    package var loadTests: [LoadTestCall]?

    package init(leases: [LeaseID], seconds: Double) {
        self.leases = leases
        self.seconds = seconds
    }
}
