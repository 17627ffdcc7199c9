/// Amounts of limited resources, in whole units; nil for unlimited ones.
struct QuotaAmounts: Hashable, Sendable {
    /// Open connections.
    var connections: Int64?
    /// Requests started in any second; for a limit below one per second, 1 for the right to it.
    var requests: Int64?
    /// Bytes of bodies per second.
    var bytes: Int64?

    init(connections: Int64? = nil, requests: Int64? = nil, bytes: Int64? = nil) {
        self.connections = connections
        self.requests = requests
        self.bytes = bytes
    }

    static let unlimited = QuotaAmounts()

    /// Maximum number of workers with at least one unit of each amount; nil for any number.
    var maxUsers: Int64? { [connections, requests].compactMap(\.self).min() }

    var isUnlimited: Bool { self == .unlimited }
    /// True if no amount is above 0; unlimited ones count as 0.
    var isZero: Bool {
        (connections ?? 0) == 0 && (requests ?? 0) == 0 && (bytes ?? 0) == 0
    }

    /// Combines the amounts of `self` and `other` by kind.
    func with(
        _ other: QuotaAmounts, _ combine: (Int64?, Int64?) -> Int64?
    ) -> QuotaAmounts {
        QuotaAmounts(
            connections: combine(connections, other.connections),
            requests: combine(requests, other.requests), bytes: combine(bytes, other.bytes))
    }

    /// Returns the larger amount of each kind.
    func max(_ other: QuotaAmounts) -> QuotaAmounts {
        with(other) { one, two in Swift.max(one ?? 0, two ?? 0) }
    }
}

/// One worker's quota of an origin's or a site's limits, as the cluster records it.
///
/// A quota is a grant to a worker that holds jobs of the resource: an equal part of each limit
/// among all such workers. A smaller grant takes effect at once for the worker. Its use under an
/// earlier grant stays `held` until the worker reports less. A larger grant is limited by the
/// others' `held`. So the sum of all use stays within the limit at any time, whichever answers are
/// lost.
struct Quota: Hashable, Sendable {
    /// Grows with every grant.
    var number: Int64
    /// The number of the first grant with these amounts: a worker that received it keeps to them.
    var since: Int64
    /// Amounts that the worker may use from now on.
    var granted: QuotaAmounts
    /// Maximum that it may be using now; never less than `granted`.
    var held: QuotaAmounts

    init(number: Int64, since: Int64, granted: QuotaAmounts, held: QuotaAmounts) {
        self.number = number
        self.since = since
        self.granted = granted
        self.held = held
    }

    /// Creates the quota of a worker with its first jobs of the resource.
    init(first number: Int64) {
        self.init(number: number, since: number, granted: .unlimited, held: .unlimited)
    }

    /// A resource as seen by one of its users.
    struct Pool: Hashable, Sendable {
        var limit: QuotaAmounts
        /// Workers with a quota of it, including this one.
        var users: Int64
        /// This worker's index among them, from 0, in an order common to all.
        var index: Int64
        /// Sum of the amounts that all others hold.
        var heldByOthers: QuotaAmounts

        init(
            limit: QuotaAmounts, users: Int64, index: Int64, heldByOthers: QuotaAmounts
        ) {
            self.limit = limit
            self.users = users
            self.index = index
            self.heldByOthers = heldByOthers
        }

        /// This worker's amounts once all have their equal parts. The first workers in the order
        /// take the remainder.
        var part: QuotaAmounts {
            let count = Swift.max(users, 1)
            return limit.with(limit) { limit, _ in
                limit.map { $0 / count + (index < $0 % count ? 1 : 0) }
            }
        }
    }

    /// Grants the worker its part of the pool, as far as the others leave it, under a new number.
    mutating func divide(_ pool: Pool, number: Int64) {
        let free = pool.limit.with(pool.heldByOthers) { limit, held in
            limit.map { Swift.max($0 - (held ?? 0), 0) }
        }
        // A reduction can be granted at any time, because the worker holds the amount already.
        let least = pool.part.with(granted) { part, granted in
            part.map { min($0, granted ?? 0) }
        }
        let most = pool.part.with(free) { part, free in part.map { min($0, free ?? 0) } }
        let grant = most.with(least) { most, least in most.map { Swift.max($0, least ?? 0) } }
        self.number = number
        if grant != granted {
            since = number
            // Use without a limit is unknown: only use under a limit counts from now on.
            held = grant.with(held) { grant, held in grant.map { Swift.max($0, held ?? 0) } }
            granted = grant
        }
    }

    /// Applies a worker's report: it keeps to the grant `number` and uses at most `used`.
    mutating func settle(number: Int64, used: QuotaAmounts) {
        guard number >= since, number <= self.number else { return }
        let now = granted.max(used)
        held = held.with(now) { held, now in held.map { min($0, now ?? 0) } }
    }

    /// Ends the grant of a worker that no longer uses the resource. Returns false if it has a newer
    /// grant, which it has not received yet.
    mutating func end(number: Int64, used: QuotaAmounts) -> Bool {
        guard number == self.number else { return false }
        granted = granted.with(granted) { granted, _ in granted.map { _ in 0 } }
        held = held.with(used) { held, used in held.map { min($0, used ?? 0) } }
        return true
    }

    /// Returns true if the worker must get more as soon as others leave it.
    func isBelowPart(of pool: Pool) -> Bool {
        let parts = pool.part
        return [
            (parts.connections, granted.connections), (parts.requests, granted.requests),
            (parts.bytes, granted.bytes),
        ].contains { part, granted in part.map { $0 > (granted ?? 0) } ?? false }
    }

    /// Returns the seconds until the worker asks again, so that it soon learns of free amounts and
    /// reductions. With many users the interval is longer.
    ///
    /// It asks soon while it waits for its part, after a grant with other amounts, and until it
    /// reports that it uses no more than was granted: others wait for what it returns.
    func askAgainSeconds(in pool: Pool) -> Double {
        let isSoon = isBelowPart(of: pool) || since == number || held != granted
        let users = Double(pool.users)
        return isSoon ? min(max(users / 200, 0.05), 1) : min(max(users / 100, 0.25), 1)
    }
}

/// Decides about a worker's quota when it leases jobs or reports.
extension Quota {
    /// A worker's report.
    struct Use: Hashable, Sendable {
        /// The grant that it keeps to.
        var number: Int64
        var used: QuotaAmounts
        /// True if it has no more work there and starts nothing under this grant.
        var isOver: Bool

        init(number: Int64, used: QuotaAmounts = QuotaAmounts(), isOver: Bool = false) {
            self.number = number
            self.used = used
            self.isOver = isOver
        }
    }

    struct Request: Hashable, Sendable {
        /// The worker's quota; nil for none.
        var quota: Quota?
        var pool: Pool
        /// True if the worker holds jobs of the resource.
        var isHeld: Bool
        /// True if it is known to have work there, such as jobs just leased.
        var isBusy: Bool
        /// True if its amounts must stay, as at a closed site, where running work ends unchanged.
        var isFrozen = false
        var use: Use?
        /// Number of the next grant.
        var number: Int64

        init(
            _ quota: Quota?, of pool: Pool, isHeld: Bool, isBusy: Bool, use: Use? = nil,
            number: Int64
        ) {
            self.quota = quota
            self.pool = pool
            self.isHeld = isHeld
            self.isBusy = isBusy
            self.use = use
            self.number = number
        }
    }

    enum Decision: Hashable, Sendable {
        /// Nothing is written or answered.
        case nothing
        /// The worker has this quota from now on, for the time of a lease.
        case grant(Quota)
        /// The worker is no user any more; held amounts still count for a moment.
        case end(Quota)
        /// Nothing of it remains.
        case drop
        /// The limit has been removed.
        case lift
    }

    static func decide(_ request: Request) -> Decision {
        guard !request.pool.limit.isUnlimited || request.isFrozen else {
            return request.quota == nil && request.use == nil ? .nothing : .lift
        }
        guard var quota = request.quota else {
            guard request.isHeld, request.isBusy, !request.isFrozen else { return .nothing }
            var first = Quota(first: request.number)
            first.divide(request.pool, number: request.number)
            return .grant(first)
        }
        if let use = request.use {
            if use.isOver, quota.end(number: use.number, used: use.used) {
                return quota.held.isZero ? .drop : .end(quota)
            }
            quota.settle(number: use.number, used: use.used)
        }
        guard request.isHeld else {
            guard request.use?.isOver == true else {
                return quota.held.isZero ? .drop : .nothing
            }
            // An answer was lost: the worker gets its last grant again and can then return it.
            quota.number = request.number
            return .grant(quota)
        }
        if request.isFrozen {
            quota.number = request.number
        } else {
            quota.divide(request.pool, number: request.number)
        }
        return .grant(quota)
    }
}
