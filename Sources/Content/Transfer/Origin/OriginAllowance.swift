/// The quota of one origin's limits that this engine may use.
package struct OriginAllowance: Sendable, Hashable {
    /// Maximum of open connections, including idle ones; 0 or more, nil for no limit.
    package var connections: Int?
    /// Maximum of requests started in any second, 0 or more; below 1, one request in so many
    /// seconds.
    package var requestsPerSecond: Double?
    /// Maximum of body bytes per second, 0 or more.
    package var bytesPerSecond: Int64?
    /// Number that grows with each quota of an origin; a quota with a lower number than the last is
    /// ignored. 0 for a quota without a number.
    package var number: Int64

    package init(
        connections: Int? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Int64? = nil,
        number: Int64 = 0
    ) {
        self.number = number
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }

    var isUnlimited: Bool {
        connections == nil && requestsPerSecond == nil && bytesPerSecond == nil
    }
}

/// Activity of an engine at one origin.
package struct OriginActivity: Sendable {
    package var origin: String
    /// Running transfers.
    package var active: Int
    /// Waiting transfers, for any reason.
    package var waiting: Int
    package var bytesPerSecond: Double
    /// Number of transfers that the engine wants to run at a time, with the reason.
    package var decision: AdaptiveConcurrency.Decision
    /// True if limits are set or were set before. Then nothing starts without a valid quota.
    package var isLimited: Bool
}

/// Use of a quota by an engine.
package struct OriginUse: Sendable {
    package var origin: String
    package var number: Int64
    /// Connections that count, or running transfers if these are more.
    package var connections: Int
    /// Requests that count in the current second, or in a longer window for rates below one per
    /// second.
    package var requests: Int
    package var active: Int
    /// True if nothing runs and nothing waits.
    package var isIdle: Bool
    /// True if more counts than the quota allows, because it started under an earlier quota.
    package var isAbove: Bool

    package init(
        origin: String, number: Int64, connections: Int, requests: Int, active: Int, isIdle: Bool,
        isAbove: Bool
    ) {
        self.origin = origin
        self.number = number
        self.connections = connections
        self.requests = requests
        self.active = active
        self.isIdle = isIdle
        self.isAbove = isAbove
    }
}

/// The limits of one origin in an engine. A value; its times are seconds of one monotonic clock.
struct TimedLimits {
    /// The newest quota and its expiry.
    private(set) var current: OriginAllowance
    private(set) var deadline: Double
    /// Unexpired earlier quotas that allowed more; transfers started under them may continue.
    private var earlier: [(connections: Int?, deadline: Double)] = []
    var pacer: RequestPacer?
    /// Time at which transfers that wait without a quota are returned.
    var returnAt: Double?

    init(_ limits: OriginAllowance, deadline: Double) {
        current = limits
        self.deadline = deadline
        pacer = limits.requestsPerSecond.map { RequestPacer(requestsPerSecond: $0) }
    }

    func isOver(_ now: Double) -> Bool { now >= deadline }

    /// Returns true if nothing can start until the quota changes.
    func allowsNothing(_ now: Double) -> Bool {
        isOver(now) || current.connections == 0 || current.requestsPerSecond == 0
            || current.bytesPerSecond == 0
    }

    /// True until the first part of the limits arrives: it comes with the next heartbeat.
    func isExpected(_ now: Double) -> Bool { allowsNothing(now) && !isOver(now) }

    /// Replaces the last quota by a new one.
    mutating func renew(_ limits: OriginAllowance, deadline: Double, now: Double) {
        if let most = limits.connections, self.deadline > now,
            current.connections.map({ $0 > most }) ?? true
        {
            earlier.append((current.connections, self.deadline))
        }
        earlier.removeAll { old in
            let isMore = limits.connections.map { old.connections ?? .max > $0 } ?? false
            return old.deadline <= now || !isMore
        }
        if let rate = limits.requestsPerSecond {
            if pacer == nil { pacer = RequestPacer(requestsPerSecond: rate) }
            pacer?.change(requestsPerSecond: rate)
        } else {
            pacer = nil
        }
        current = limits
        self.deadline = deadline
        if !allowsNothing(now) { returnAt = nil }
    }

    /// Allows nothing from now on.
    mutating func giveUp() {
        current = OriginAllowance(
            connections: current.connections.map { _ in 0 },
            requestsPerSecond: current.requestsPerSecond.map { _ in 0 },
            bytesPerSecond: current.bytesPerSecond.map { _ in 0 }, number: current.number)
        earlier = []
    }

    /// Returns how many transfers may run: the maximum of the newest quota and of unexpired earlier
    /// ones.
    func maxActive(_ now: Double) -> Int {
        let old = earlier.filter { $0.deadline > now }.map { $0.connections ?? .max }.max() ?? 0
        return max(isOver(now) ? 0 : current.connections ?? .max, old)
    }

    /// Returns when the next quota expires.
    func nextEnd(_ now: Double) -> Double? {
        (earlier.map(\.deadline) + [deadline]).filter { $0 > now }.min()
    }
}
