// Operations on a cluster: pausing and resuming queues, cancelling, retrying and prioritising work,
// limits of origins, settings of sites. Times are seconds since 1970 by the database's clock.

// MARK: Queues

/// State of a queue.
package enum QueueState: String, Codable, CaseIterable, Sendable {
    case active
    /// Leases no jobs; leased ones are finished.
    case paused
    /// Accepts no new work; its present jobs are leased and finished.
    case draining
}

/// `POST /v1/queues/{name}/control`; the answer is the queue's status.
package struct QueueControl: Codable, Sendable {
    package var action: Action

    package enum Action: String, Codable, CaseIterable, Sendable {
        case pause
        /// Ends a pause or a drain.
        case resume
        case drain

        /// The resulting state of the queue; repeating the action changes nothing.
        package var state: QueueState {
            switch self {
            case .pause: .paused
            case .resume: .active
            case .drain: .draining
            }
        }
    }

    package init(_ action: Action) { self.action = action }
}

/// `GET /v1/queues`: every queue, by name.
package struct QueueList: Codable, Sendable {
    package var queues: [ClusterStatus.QueueStatus]

    package init(queues: [ClusterStatus.QueueStatus]) { self.queues = queues }
}

// MARK: Selections

/// `POST /v1/selections`: applies an action to all selected work.
///
/// The selection must match all of `catalog`, `asset` and `failureCode` that are set; at least a
/// catalog or a failure code is required. Repeating a selection selects the remaining work.
package struct SelectionAction: Codable, Hashable, Sendable {
    package var action: Action
    /// Nil for every catalog.
    package var catalog: CatalogReference?
    /// The name of one asset of the catalog.
    package var asset: String?
    /// Code of failed assets; for assets in progress, of failed segments.
    package var failureCode: FailureCode?
    /// reprioritise: 0 (last) to 9 (first).
    package var priority: Int?
    /// reschedule: seconds since 1970; 0 for none, nil for no change.
    package var notBefore: Double?
    package var deadline: Double?
    /// cancel: only refreshes of completed assets, not first fetches. Nil is false.
    package var ofRefresh: Bool?

    package enum Action: String, Codable, CaseIterable, Sendable {
        /// Ends all work on it. Workers stop leased jobs at their next heartbeat; stored files
        /// stay.
        case cancel
        /// Retries failed and cancelled work with new attempts.
        case retry
        case reprioritise
        /// Sets a whole catalog's earliest start and deadline. Workers finish leased jobs.
        case reschedule
        /// Requests the files of completed assets again.
        case refresh
    }

    package init(
        _ action: Action, catalog: CatalogReference? = nil, asset: String? = nil,
        failureCode: FailureCode? = nil, priority: Int? = nil, notBefore: Double? = nil,
        deadline: Double? = nil, ofRefresh: Bool? = nil
    ) {
        self.action = action
        self.catalog = catalog
        self.asset = asset
        self.failureCode = failureCode
        self.priority = priority
        self.notBefore = notBefore
        self.deadline = deadline
        self.ofRefresh = ofRefresh
    }
}

/// A catalog by its number or its name, with its site if several sites have a catalog of that name.
package struct CatalogReference: Codable, Hashable, Sendable {
    package var id: CatalogID?
    package var name: String?
    package var storageURL: String?

    package init(_ id: CatalogID) { self.id = id }

    package init(name: String, storageURL: String? = nil) {
        self.name = name
        self.storageURL = storageURL
    }
}

/// The answer to `SelectionAction`: the changes.
package struct SelectionAnswer: Codable, Hashable, Sendable {
    package var assets: Int
    /// Number of removed, created or moved jobs.
    package var jobs: Int
    /// refresh: the catalog to follow.
    package var catalog: CatalogID?

    package init(assets: Int, jobs: Int) {
        self.assets = assets
        self.jobs = jobs
    }
}

// MARK: Origins

/// Limits of one origin for all workers together; nil for no limit.
package struct OriginLimits: Codable, Hashable, Sendable {
    /// Open connections, 1 to 1,000,000.
    package var connections: Int?
    /// Requests started in any second, 0.001 to 1,000,000; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Body bytes per second, within `Bandwidth.allowed`.
    package var bytesPerSecond: Int64?

    package init(
        connections: Int? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Int64? = nil
    ) {
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }
}

/// `POST /v1/origins/limits`: sets or clears the limits of an origin, or the default for origins
/// without their own. The only answer is 204.
package struct OriginLimitsChange: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`; nil for the default.
    package var origin: String?
    /// All limits; a nil one is unlimited. Nil removes an origin's own limits, so that the default
    /// applies, or every default limit. On the wire it must be present, `null` or with one of its
    /// fields, so that an accidental omission removes nothing.
    package var limits: OriginLimits?

    package init(origin: String?, limits: OriginLimits?) {
        self.origin = origin
        self.limits = limits
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        origin = try container.decodeIfPresent(String.self, forKey: .origin)
        guard try !container.decodeNil(forKey: .limits) else { return }
        let named = try container.nestedContainer(keyedBy: LimitKeys.self, forKey: .limits)
        guard !named.allKeys.isEmpty else {
            throw DecodingError.dataCorruptedError(
                forKey: .limits, in: container, debugDescription: "it names no limit.")
        }
        limits = OriginLimits(
            connections: try named.decodeIfPresent(Int.self, forKey: .connections),
            requestsPerSecond: try named.decodeIfPresent(Double.self, forKey: .requestsPerSecond),
            bytesPerSecond: try named.decodeIfPresent(Int64.self, forKey: .bytesPerSecond))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(origin, forKey: .origin)
        guard let limits else { return try container.encodeNil(forKey: .limits) }
        var named = container.nestedContainer(keyedBy: LimitKeys.self, forKey: .limits)
        try named.encode(limits.connections, forKey: .connections)
        try named.encode(limits.requestsPerSecond, forKey: .requestsPerSecond)
        try named.encode(limits.bytesPerSecond, forKey: .bytesPerSecond)
    }

    private enum LimitKeys: CodingKey { case connections, requestsPerSecond, bytesPerSecond }
    private enum CodingKeys: String, CodingKey { case origin, limits }
}

/// State of an origin's circuit breaker.
package enum OriginBreaker: String, Codable, CaseIterable, Sendable {
    case closed
    /// Nothing is requested until its cooldown ends.
    case open
    /// One job tests whether it has recovered.
    case halfOpen
    /// After many cooldowns without recovery, each of its jobs gets one attempt, until one
    /// succeeds.
    case failing
}

/// `GET /v1/origins`: one origin.
package struct OriginStatus: Codable, Sendable {
    package var origin: String
    /// Limits that apply now.
    package var limits: OriginLimits
    /// True if the limits are its own, not the default.
    package var hasOwnLimits: Bool
    /// End of its cooldown; nil without one.
    package var cooldownUntil: Double?
    package var breaker: OriginBreaker
    /// Reason for the cooldown or for the state of the circuit breaker.
    package var reason: String?
    /// Part of the limits granted to workers.
    package var inUse: InUse
    /// Jobs of it that can be leased; an estimate for many.
    package var waiting: Int
    package var leased: Int
    package var workers: [WorkerDecision]
    /// The cluster's own decisions, latest first, 20 at most.
    package var decisions: [Decision]

    package struct InUse: Codable, Hashable, Sendable {
        package var connections: Int
        package var requestsPerSecond: Double

        package init(connections: Int, requestsPerSecond: Double) {
            self.connections = connections
            self.requestsPerSecond = requestsPerSecond
        }
    }

    /// One worker's last decision about its number of transfers from the origin.
    package struct WorkerDecision: Codable, Hashable, Sendable {
        package var worker: WorkerID
        /// Name from its heartbeats.
        package var name: String
        package var concurrency: Int
        package var bytesPerSecond: Int64
        /// "raised", "lowered" or "held".
        package var decision: String
        package var reason: String
        package var at: Double

        package init(
            worker: WorkerID, name: String, concurrency: Int, bytesPerSecond: Int64,
            decision: String, reason: String, at: Double
        ) {
            self.worker = worker
            self.name = name
            self.concurrency = concurrency
            self.bytesPerSecond = bytesPerSecond
            self.decision = decision
            self.reason = reason
            self.at = at
        }
    }

    package struct Decision: Codable, Hashable, Sendable {
        package var at: Double
        package var decision: String
        package var reason: String

        package init(at: Double, decision: String, reason: String) {
            self.at = at
            self.decision = decision
            self.reason = reason
        }
    }

    package init(
        origin: String, limits: OriginLimits, hasOwnLimits: Bool, cooldownUntil: Double? = nil,
        breaker: OriginBreaker = .closed, reason: String? = nil,
        inUse: InUse = InUse(connections: 0, requestsPerSecond: 0), waiting: Int = 0,
        leased: Int = 0, workers: [WorkerDecision] = [], decisions: [Decision] = []
    ) {
        self.origin = origin
        self.limits = limits
        self.hasOwnLimits = hasOwnLimits
        self.cooldownUntil = cooldownUntil
        self.breaker = breaker
        self.reason = reason
        self.inUse = inUse
        self.waiting = waiting
        self.leased = leased
        self.workers = workers
        self.decisions = decisions
    }
}

/// `GET /v1/origins?after=…&limit=…`: a page of origins by name, with the default limits.
package struct OriginPage: Codable, Sendable {
    package var defaults: OriginLimits
    package var origins: [OriginStatus]
    /// Value of `after` for the next page; nil on the last.
    package var next: String?
    /// Time of the answer.
    package var now: Double

    package init(defaults: OriginLimits, origins: [OriginStatus], next: String?, now: Double) {
        self.defaults = defaults
        self.origins = origins
        self.next = next
        self.now = now
    }
}

// MARK: Sites

/// `POST /v1/sites/settings`: nil values stay unchanged. The answer is the site's status.
package struct SiteSettings: Codable, Hashable, Sendable {
    /// The name of its queue, or its storage URL.
    package var site: String
    /// A `TransferSchedule`; empty for none: everything is allowed at any time.
    package var schedule: String?
    /// Maximum bytes per second in addition to the schedule, within `Bandwidth.allowed`; 0 for no
    /// limit.
    package var maximumBytesPerSecond: Int64?
    /// Bytes of its file system to leave free; 0 for none.
    package var floorBytes: Int64?
    /// Maximum bytes of its catalogs; 0 for no quota.
    package var quotaBytes: Int64?
    /// Clears the site's failure: its jobs are leased again at once.
    package var resumes: Bool?
    /// Records the volume that the next worker finds as the site's, and clears its failure.
    package var acceptsVolume: Bool?

    package init(site: String, schedule: String? = nil, maximumBytesPerSecond: Int64? = nil) {
        self.site = site
        self.schedule = schedule
        self.maximumBytesPerSecond = maximumBytesPerSecond
    }
}

/// A site with its settings and the limits that apply now.
package struct SiteStatus: Codable, Hashable, Sendable {
    package var id: SiteID
    package var queue: String
    package var storageURL: String
    /// Empty if there is none.
    package var schedule: String
    package var maximumBytesPerSecond: Int64?
    /// True if nothing is fetched for it now.
    package var isClosed: Bool
    /// The present limit; nil for none.
    package var bytesPerSecond: Int64?
    /// Time of the next change of limits; nil if none is known.
    package var nextChange: Double?
    package var floorBytes: Int64?
    package var quotaBytes: Int64?
    /// Bytes of its catalogs; an object of two catalogs counts twice.
    package var usedBytes: Int64?
    /// Free bytes of its file system, as last reported by workers; nil before.
    package var availableBytes: Int64?
    /// The volume that it is on; nil until a worker has opened it.
    package var volume: VolumeID?
    /// Failure that prevents writing, with its start in seconds since 1970; its work waits.
    package var fault: Failure?
    package var faultSince: Double?
    /// Each worker's quota of the limit that it may use now.
    package var shares: [Share]

    package struct Share: Codable, Hashable, Sendable {
        package var worker: WorkerID
        /// Name from its heartbeats.
        package var name: String
        package var bytesPerSecond: Int64

        package init(worker: WorkerID, name: String, bytesPerSecond: Int64) {
            self.worker = worker
            self.name = name
            self.bytesPerSecond = bytesPerSecond
        }
    }

    package init(
        id: SiteID, queue: String, storageURL: String, schedule: String = "",
        maximumBytesPerSecond: Int64? = nil, isClosed: Bool = false, bytesPerSecond: Int64? = nil,
        nextChange: Double? = nil, shares: [Share] = []
    ) {
        self.shares = shares
        self.id = id
        self.queue = queue
        self.storageURL = storageURL
        self.schedule = schedule
        self.maximumBytesPerSecond = maximumBytesPerSecond
        self.isClosed = isClosed
        self.bytesPerSecond = bytesPerSecond
        self.nextChange = nextChange
    }
}

/// `GET /v1/sites`: every site, by the name of its queue.
package struct SiteList: Codable, Sendable {
    package var sites: [SiteStatus]
    /// Time of the answer.
    package var now: Double

    package init(sites: [SiteStatus], now: Double) {
        self.sites = sites
        self.now = now
    }
}
