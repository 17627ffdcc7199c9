package import Model

/// A cooldown of an origin, requested by it or caused by repeated failures.
///
/// It is part of the answers to leases, reports and heartbeats, so that every worker soon learns of
/// it. A worker starts no request to the origin before the cooldown ends. Waiting jobs keep their
/// lease and continue then. The origin's limits are independent of it.
package struct OriginCooldown: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`.
    package var origin: String
    /// Remaining time when the answer arrives.
    package var seconds: Double

    package init(origin: String, seconds: Double) {
        self.origin = origin
        self.seconds = seconds
    }
}

/// The outcome at one origin of several in an attempt at a job: a mirror of the job's own origin,
/// or the target of a redirect.
package struct OriginOutcome: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`.
    package var origin: String
    /// Failure of the request; nil if it succeeded.
    package var code: FailureCode?
    /// Delay in its Retry-After, in seconds.
    package var retryAfterSeconds: Double?

    package init(origin: String, code: FailureCode? = nil, retryAfterSeconds: Double? = nil) {
        self.origin = origin
        self.code = code
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// `GET /v1/cooldowns?after=…&waitMilliseconds=…`: returns the origins in cooldown when they differ
/// from the version `after`, or when the wait ends. So a worker without an open lease request
/// learns of a new cooldown at once.
package struct CooldownList: Codable, Sendable {
    /// Version for the next request's `after`.
    package var version: String
    package var cooldowns: [OriginCooldown]

    package init(version: String, cooldowns: [OriginCooldown]) {
        self.version = version
        self.cooldowns = cooldowns
    }
}

/// A worker's quota of one origin's cluster-wide limits.
///
/// It is part of the answers to leases and heartbeats. The last answer that names an origin sets
/// the worker's quota; other answers change nothing. An origin never named has no limits, and one
/// named without any bound is unlimited again.
///
/// A worker whose quota shrinks starts nothing until its use is within the new one; running
/// transfers may continue until the previous quota expires. Its heartbeats report the remaining use
/// (`OriginQuotaUse`); until then the coordinator counts the previous grant.
///
/// Targets of redirects count as well: every worker that may be redirected to a limited origin gets
/// its quota.
package struct OriginQuota: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`.
    package var origin: String
    /// Number that grows with each quota of an origin; the worker keeps to the highest one that it
    /// has received. Nil without limits.
    package var number: Int64?
    /// Maximum of open connections, including idle ones, 0 or more; nil for no limit.
    package var connections: Int?
    /// Maximum of requests started in any second, 0 or more; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Maximum body bytes per second, 0 or more.
    package var bytesPerSecond: Int64?
    /// Validity from the moment the request was sent, or, in a lease, from that moment plus
    /// `waitedSeconds`. Afterwards no transfer of the origin may run, and no connection may be
    /// open.
    package var seconds: Double
    /// Seconds until the next heartbeat while there is work; nil for the usual interval.
    package var againSeconds: Double?

    package init(
        origin: String, connections: Int? = nil, requestsPerSecond: Double? = nil,
        bytesPerSecond: Int64? = nil, seconds: Double
    ) {
        self.origin = origin
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
        self.seconds = seconds
    }
}

/// A worker's use of its quota of an origin's limits.
package struct OriginQuotaUse: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`.
    package var origin: String
    /// The quota that it keeps to.
    package var number: Int64
    /// Connections that are open, or that the origin may consider open.
    package var connections: Int
    /// Requests that count in the current second.
    package var requests: Int
    /// Running transfers.
    package var active: Int
    /// True if it has no more work there and starts nothing under this quota. Nil is false.
    package var isOver: Bool?

    package init(
        origin: String, number: Int64, connections: Int = 0, requests: Int = 0, active: Int = 0,
        isOver: Bool? = nil
    ) {
        self.origin = origin
        self.number = number
        self.connections = connections
        self.requests = requests
        self.active = active
        self.isOver = isOver
    }
}

/// A worker's activity at one origin, with its last decision. At most one per origin, and
/// `WireLimits.originsPerHeartbeat` in a heartbeat.
package struct OriginReport: Codable, Hashable, Sendable {
    /// Origin as named by `originName(of:)`.
    package var origin: String
    /// Number of transfers that the worker wants to run at a time, at least 1.
    package var concurrency: Int
    /// Recently received bytes per second.
    package var bytesPerSecond: Int64
    /// "raised", "lowered" or "held".
    package var decision: String
    /// Reason for the decision, with figures; at most `WireLimits.reasonCharacters` long.
    package var reason: String
    /// Running transfers, and transfers that wait for their turn at this origin.
    package var active: Int
    package var waiting: Int

    package init(
        origin: String, concurrency: Int, bytesPerSecond: Int64, decision: String, reason: String,
        active: Int = 0, waiting: Int = 0
    ) {
        self.origin = origin
        self.concurrency = concurrency
        self.bytesPerSecond = bytesPerSecond
        self.decision = decision
        self.reason = reason
        self.active = active
        self.waiting = waiting
    }
}
