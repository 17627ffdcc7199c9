package import Model

/// `GET /v1/origins`: one origin.
package struct OriginStatus: Codable, Sendable {
    /// Maximum number of waiting jobs of one kind that are counted.
    package static let countedJobs = 200

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
    /// Jobs of it that can be leased. Those of a catalog with the same priority and kind of work
    /// are counted up to `countedJobs`.
    package var waiting: Int
    /// True if more jobs wait than were counted.
    package var hasMoreWaiting: Bool?
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
