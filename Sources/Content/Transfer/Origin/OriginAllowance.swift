/// What may be done at one origin: this engine's share of its limits.
package struct OriginAllowance: Sendable, Hashable {
    /// Open connections at most, idle ones included, 0 or more; nil for no bound.
    package var connections: Int?
    /// Requests started in any second at most, 0 or more; below 1, one in so many seconds.
    package var requestsPerSecond: Double?
    /// Bytes of bodies a second at most, 0 or more.
    package var bytesPerSecond: Int64?
    /// Grows from share to share of an origin; one with a lower number than the last is not taken. 0 for one
    /// without a number.
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

/// What an engine does at one origin.
package struct OriginActivity: Sendable {
    package var origin: String
    /// Transfers under way.
    package var active: Int
    /// Transfers that wait, for whatever reason.
    package var waiting: Int
    package var bytesPerSecond: Double
    /// How many transfers it wants at a time, with the reason.
    package var decision: AdaptiveConcurrency.Decision
    /// Limits are set, now or once: without a share that holds, nothing is started.
    package var isLimited: Bool
}

/// What an engine uses of a share.
package struct OriginUse: Sendable {
    package var origin: String
    package var number: Int64
    /// Connections that count, or transfers where these are more.
    package var connections: Int
    /// Requests that count in the current second, or longer where less than one a second is allowed.
    package var requests: Int
    package var active: Int
    /// Nothing is under way and nothing waits.
    package var isIdle: Bool
    /// More counts than the share allows: begun under one before it.
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

/// The limits of one origin as an engine keeps them. A value; its times are seconds of one monotonic
/// clock.
struct LaneLimits {
    /// The newest share, and until when it holds.
    private(set) var current: OriginAllowance
    private(set) var deadline: Double
    /// Shares before it that allowed more and are not over: what was begun under them may go on.
    private var earlier: [(connections: Int?, deadline: Double)] = []
    var pacer: RequestPacer?
    /// When transfers that wait without a share are given back.
    var returnAt: Double?

    init(_ limits: OriginAllowance, deadline: Double) {
        current = limits
        self.deadline = deadline
        pacer = limits.requestsPerSecond.map { RequestPacer(requestsPerSecond: $0) }
    }

    func isOver(_ now: Double) -> Bool { now >= deadline }

    /// Nothing can be started, however long it waits.
    func allowsNothing(_ now: Double) -> Bool {
        isOver(now) || current.connections == 0 || current.requestsPerSecond == 0
            || current.bytesPerSecond == 0
    }

    /// Takes a new share in place of the last one.
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

    /// How many transfers may be under way: those of the newest share, or of one before it whose
    /// time is not over.
    func mostUnderWay(_ now: Double) -> Int {
        let old = earlier.filter { $0.deadline > now }.map { $0.connections ?? .max }.max() ?? 0
        return max(isOver(now) ? 0 : current.connections ?? .max, old)
    }

    /// When the next share is over.
    func nextEnd(_ now: Double) -> Double? {
        (earlier.map(\.deadline) + [deadline]).filter { $0 > now }.min()
    }
}
