package import Model

/// Figures of the cluster at one time, for metrics.
package struct ClusterFigures: Sendable, Equatable {
    package var queues: [Queue] = []
    /// Workers that have reported, and those of them that get no work.
    package var workers = 0
    package var failingWorkers = 0
    /// Number of catalogs by state.
    package var catalogs: [Count] = []
    package var deadlines: [Deadline] = []
    /// Number of origins by state of the circuit breaker.
    package var origins: [Count] = []
    package var originsInCooldown: [OriginInCooldown] = []
    package var quotas: [OriginQuota] = []
    package var webhooks: [Webhook] = []
    package var audits: [Audit] = []

    /// Creates the figures of an empty cluster.
    package init() {}

    /// Findings of a site's last audit that were not repaired.
    package struct Audit: Sendable, Equatable {
        package var queue: String
        /// In seconds since 1970.
        package var endedAt: Double
        /// Missing, truncated and changed files.
        package var damaged: Int64
        package var foreign: Int64
        package var others: Int64
    }

    package struct Count: Sendable, Equatable {
        package var state: String
        package var count: Int64
    }

    /// A queue and its site.
    package struct Queue: Sendable, Equatable {
        package var name: String
        package var storageURL: String
        /// False while no job of it may be leased.
        package var isActive: Bool
        /// Waiting and leased jobs, and scheduled and delayed ones if there are any.
        package var jobs: [Jobs]
        package var leases: Int64
        /// Seconds until the first of its leases ends, negative after it; nil without leases.
        package var leaseLeftSeconds: Double?
        /// Workers that take its jobs.
        package var workers: Int64
        /// Free bytes of its file system, as a worker last found; nil if unknown.
        package var availableBytes: Int64?
        package var floorBytes: Int64?
        package var quotaBytes: Int64?
        /// Bytes that its catalogs hold.
        package var usedBytes: Int64
        /// The code of what keeps it from being written.
        package var failure: String?
        package var bytesPerSecond: Int64?
        /// Bytes per second that workers may use now.
        package var heldBytesPerSecond: Int64?
    }

    /// Jobs of a queue in one state.
    package struct Jobs: Sendable, Equatable {
        /// `waiting`, `scheduled`, `leased` or `delayed`.
        package var state: String
        package var count: Int64
        /// Age of the oldest one; nil for none.
        package var oldestSeconds: Double?
    }

    /// A running catalog with a deadline.
    package struct Deadline: Sendable, Equatable {
        package var catalog: String
        package var queue: String
        /// Seconds since 1970.
        package var deadline: Double
        /// Jobs that it lacks, leased ones included.
        package var jobs: Int64
        /// Its estimated end, in seconds since 1970; nil if unknown.
        package var finishesAt: Double?
    }

    package struct OriginInCooldown: Sendable, Equatable {
        package var origin: String
        package var breaker: String
        /// Seconds until its cooldown ends.
        package var seconds: Double
    }

    /// The use of the limits of one origin.
    package struct OriginQuota: Sendable, Equatable {
        package var origin: String
        package var resources: [Resource]
    }

    /// A webhook with its deliveries that wait for their first or next attempt.
    package struct Webhook: Sendable, Equatable {
        package var id: WebhookID
        package var waiting: Int64
        /// Age of the oldest one; nil for none.
        package var oldestSeconds: Double?
    }

    package struct Resource: Sendable, Equatable {
        /// `connections`, `requests_per_second` or `bytes_per_second`.
        package var name: String
        package var limit: Double
        package var held: Double
    }
}

/// The counts that a fold added to a catalog.
package struct FoldedCounts: Sendable, Equatable {
    package var queue: String
    package var segmentsDone: Int64
    package var segmentsFailed: Int64
    package var bytes: Int64
    /// Bytes of them that were stored already.
    package var reusedBytes: Int64
    package var retries: Int64
    package var assetsCompleted: Int64
    package var assetsFailed: Int64
    package var assetsCancelled: Int64
}

extension FoldedCounts {
    /// Creates counts of nothing.
    package init(queue: String) {
        self.init(
            queue: queue, segmentsDone: 0, segmentsFailed: 0, bytes: 0, reusedBytes: 0, retries: 0,
            assetsCompleted: 0, assetsFailed: 0, assetsCancelled: 0)
    }
}
