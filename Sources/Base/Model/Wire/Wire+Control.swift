// What operators ask of a cluster: queues held and let go, work cancelled, tried again or put before
// other work, limits of origins, settings of sites. Times are seconds since 1970 by the database's
// clock.

// MARK: Queues

/// Whether a queue hands out work.
package enum QueueState: String, Codable, CaseIterable, Sendable {
    case active
    /// Hands out nothing; what workers hold is finished.
    case paused
    /// Takes in nothing new; what it has is handed out and finished.
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

        /// The queue's state after it; repeating it changes nothing.
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

/// `POST /v1/selections`: does something with all the work that it selects.
///
/// What is selected has to meet all of `catalog`, `asset` and `failureCode` that are there; at least
/// a catalog or a failure code is. Repeating a selection selects what is then left to be done.
package struct SelectionAction: Codable, Hashable, Sendable {
    package var action: Action
    /// Nil for every catalog.
    package var catalog: CatalogReference?
    /// The name of one asset of the catalog.
    package var asset: String?
    /// Assets that failed with this code; of those under way, segments that did.
    package var failureCode: FailureCode?
    /// What to reprioritise to: 0 (last) to 9 (first).
    package var priority: Int?
    /// What to reschedule to, in seconds since 1970; 0 for none, nil to leave it.
    package var notBefore: Double?
    package var deadline: Double?
    /// What to cancel: only refreshes of what is completed, not what is fetched for the first time. Nil is false.
    package var ofRefresh: Bool?

    package enum Action: String, Codable, CaseIterable, Sendable {
        /// Nothing more of it is done. What workers hold they stop at their next heartbeat; what is
        /// stored stays.
        case cancel
        /// What failed or was cancelled is wanted again, its tries counted anew.
        case retry
        case reprioritise
        /// Of a whole catalog: when it may begin, and when it should have ended. What workers hold
        /// they finish.
        case reschedule
        /// The files of what is completed are asked for anew.
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

/// A catalog by its number, or by its name and, where several sites have one of that name, its site.
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

/// The answer to `SelectionAction`: what was changed.
package struct SelectionAnswer: Codable, Hashable, Sendable {
    package var assets: Int
    /// Jobs that were taken away, made, or moved.
    package var jobs: Int
    /// refresh: the catalog, to be followed.
    package var catalog: CatalogID?

    package init(assets: Int, jobs: Int) {
        self.assets = assets
        self.jobs = jobs
    }
}

// MARK: Origins

/// The most that all workers together may ask of one origin; nil for no bound.
package struct OriginLimits: Codable, Hashable, Sendable {
    /// Open connections, 1 to 1,000,000.
    package var connections: Int?
    /// Requests begun in any second, 0.001 to 1,000,000; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Bytes of bodies a second, within `Bandwidth.allowed`.
    package var bytesPerSecond: Int64?

    package init(
        connections: Int? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Int64? = nil
    ) {
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }
}

/// `POST /v1/origins/limits`: sets or clears the limits of an origin, or those of all that have none
/// of their own. No answer but 204.
package struct OriginLimitsChange: Codable, Hashable, Sendable {
    /// As `originName(of:)` makes it; nil for the default.
    package var origin: String?
    /// The limits as a whole: what is nil in them has no bound. Nil takes away an origin's own, so
    /// that the default counts again, and every bound of the default. On the wire it has to be
    /// there, `null` or with one of its fields: what is left out by mistake takes nothing away.
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

/// Whether an origin that failed again and again is left alone.
package enum OriginBreaker: String, Codable, CaseIterable, Sendable {
    case closed
    /// Nothing is asked of it until its cooldown is over.
    case open
    /// One job tries whether it is well again.
    case halfOpen
    /// It was left alone so often in vain that its jobs are tried once each, until one succeeds.
    case failing
}

/// `GET /v1/origins`: one origin.
package struct OriginStatus: Codable, Sendable {
    package var origin: String
    /// What holds now.
    package var limits: OriginLimits
    /// The limits are its own and not the default.
    package var hasOwnLimits: Bool
    /// Nothing is asked of it before; nil when nothing holds it back.
    package var cooldownUntil: Double?
    package var breaker: OriginBreaker
    /// Why it cools down, or the breaker is as it is.
    package var reason: String?
    /// What of the limits is given to workers.
    package var inUse: InUse
    /// Jobs of it that can be handed out; of many, an estimate.
    package var waiting: Int
    package var leased: Int
    package var workers: [WorkerDecision]
    /// The cluster's own, latest first, 20 at most.
    package var decisions: [Decision]

    package struct InUse: Codable, Hashable, Sendable {
        package var connections: Int
        package var requestsPerSecond: Double

        package init(connections: Int, requestsPerSecond: Double) {
            self.connections = connections
            self.requestsPerSecond = requestsPerSecond
        }
    }

    /// What one worker last decided about the number of its transfers from there.
    package struct WorkerDecision: Codable, Hashable, Sendable {
        package var worker: WorkerID
        /// As its heartbeats give it.
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

/// `GET /v1/origins?after=…&limit=…`: a page of origins by name, and the limits of those that have
/// none of their own.
package struct OriginPage: Codable, Sendable {
    package var defaults: OriginLimits
    package var origins: [OriginStatus]
    /// Pass as `after` for the next page; nil on the last.
    package var next: String?
    /// When this was so.
    package var now: Double

    package init(defaults: OriginLimits, origins: [OriginStatus], next: String?, now: Double) {
        self.defaults = defaults
        self.origins = origins
        self.next = next
        self.now = now
    }
}

// MARK: Sites

/// `POST /v1/sites/settings`: what is nil stays as it is. The answer is the site's status.
package struct SiteSettings: Codable, Hashable, Sendable {
    /// The name of its queue, or its storage URL.
    package var site: String
    /// A `TransferSchedule`; empty for none: everything is allowed at any time.
    package var schedule: String?
    /// The most bytes a second whatever the schedule says, within `Bandwidth.allowed`; 0 for no bound.
    package var maximumBytesPerSecond: Int64?
    /// Bytes of its file system that stay free; 0 for none.
    package var floorBytes: Int64?
    /// The most bytes that its catalogs may hold; 0 for no quota.
    package var quotaBytes: Int64?
    /// Clears the site's fault: its jobs are leased again at once.
    package var resumes: Bool?
    /// Records the volume that the next worker finds as the site's, and clears its fault.
    package var acceptsVolume: Bool?

    package init(site: String, schedule: String? = nil, maximumBytesPerSecond: Int64? = nil) {
        self.site = site
        self.schedule = schedule
        self.maximumBytesPerSecond = maximumBytesPerSecond
    }
}

/// A site, how it may be fed, and what is in force now.
package struct SiteStatus: Codable, Hashable, Sendable {
    package var id: SiteID
    package var queue: String
    package var storageURL: String
    /// Empty when there is none.
    package var schedule: String
    package var maximumBytesPerSecond: Int64?
    /// Nothing is fetched for it now.
    package var isClosed: Bool
    /// The bound in force; nil for none.
    package var bytesPerSecond: Int64?
    /// When something else will be in force; nil when that is not known to come.
    package var nextChange: Double?
    package var floorBytes: Int64?
    package var quotaBytes: Int64?
    /// What its catalogs hold; an object that two of them have counts twice.
    package var usedBytes: Int64?
    /// Free bytes of its file system, as workers saw them last; nil before.
    package var availableBytes: Int64?
    /// The volume that it is on; nil until a worker has opened it.
    package var volume: VolumeID?
    /// Why it cannot be written, and since when, in seconds since 1970; its work waits.
    package var fault: Failure?
    package var faultSince: Double?
    /// What each worker has of the bound, as far as it may count on it now.
    package var shares: [Share]

    package struct Share: Codable, Hashable, Sendable {
        package var worker: WorkerID
        /// As its heartbeats give it.
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
    /// When this was so.
    package var now: Double

    package init(sites: [SiteStatus], now: Double) {
        self.sites = sites
        self.now = now
    }
}
