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
