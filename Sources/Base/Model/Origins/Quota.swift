/// Amounts of what a limit bounds, in whole units; nil for what it does not bound.
package struct QuotaAmounts: Hashable, Sendable {
    /// Open connections.
    package var connections: Int64?
    /// Requests begun in any second; of a limit below one a second, 1 for the right to it.
    package var requests: Int64?
    /// Bytes of bodies a second.
    package var bytes: Int64?

    package init(connections: Int64? = nil, requests: Int64? = nil, bytes: Int64? = nil) {
        self.connections = connections
        self.requests = requests
        self.bytes = bytes
    }

    package static let unlimited = QuotaAmounts()

    /// How many workers can have one unit of each amount; nil for any number.
    package var maxUsers: Int64? { [connections, requests].compactMap(\.self).min() }

    package var isUnlimited: Bool { self == .unlimited }
    /// Nothing at all: neither of what is bounded nor of anything else.
    package var isZero: Bool {
        (connections ?? 0) == 0 && (requests ?? 0) == 0 && (bytes ?? 0) == 0
    }

    /// The amounts of each kind that `combine` makes of those of `self` and `other`.
    package func with(
        _ other: QuotaAmounts, _ combine: (Int64?, Int64?) -> Int64?
    ) -> QuotaAmounts {
        QuotaAmounts(
            connections: combine(connections, other.connections),
            requests: combine(requests, other.requests), bytes: combine(bytes, other.bytes))
    }

    /// The larger of each kind.
    package func max(_ other: QuotaAmounts) -> QuotaAmounts {
        with(other) { one, two in Swift.max(one ?? 0, two ?? 0) }
    }
}

/// One worker's quota of an origin's or a site's limits, as the cluster records it.
///
/// A quota is a grant to a worker that holds jobs of the resource: an equal part of each limit among all such
/// workers. A smaller grant takes effect at once for the worker, but what it may still be using under an earlier
/// one stays `held` until the worker reports less. A larger one is granted only as far as the others' `held`
/// leaves it. So the sum of what workers use stays within the limit at any time, whichever answers are lost.
package struct Quota: Hashable, Sendable {
    /// Grows with every grant.
    package var number: Int64
    /// The number of the first grant with these amounts: whoever has heard of it keeps to them.
    package var since: Int64
    /// What the worker may use from now on.
    package var granted: QuotaAmounts
    /// The most that it may be using now; never less than `granted`.
    package var held: QuotaAmounts

    package init(number: Int64, since: Int64, granted: QuotaAmounts, held: QuotaAmounts) {
        self.number = number
        self.since = since
        self.granted = granted
        self.held = held
    }

    /// The quota of a worker that has only just got jobs of the resource.
    package init(first number: Int64) {
        self.init(number: number, since: number, granted: .unlimited, held: .unlimited)
    }

    /// A resource as one of its users finds it.
    package struct Pool: Hashable, Sendable {
        package var limit: QuotaAmounts
        /// Workers with a quota of it, this one included.
        package var users: Int64
        /// This one's place among them, from 0, in an order that all see alike.
        package var index: Int64
        /// What all others hold together.
        package var heldByOthers: QuotaAmounts

        package init(
            limit: QuotaAmounts, users: Int64, index: Int64, heldByOthers: QuotaAmounts
        ) {
            self.limit = limit
            self.users = users
            self.index = index
            self.heldByOthers = heldByOthers
        }

        /// What is this worker's when all have what they are to have. The first in the order take what does
        /// not divide.
        package var part: QuotaAmounts {
            let count = Swift.max(users, 1)
            return limit.with(limit) { limit, _ in
                limit.map { $0 / count + (index < $0 % count ? 1 : 0) }
            }
        }
    }

    /// Grants the worker its part of the pool, as far as the others leave it, under a new number.
    package mutating func divide(_ pool: Pool, number: Int64) {
        let free = pool.limit.with(pool.heldByOthers) { limit, held in
            limit.map { Swift.max($0 - (held ?? 0), 0) }
        }
        // Less than before can be granted at any time: it is held already.
        let least = pool.part.with(granted) { part, granted in
            part.map { min($0, granted ?? 0) }
        }
        let most = pool.part.with(free) { part, free in part.map { min($0, free ?? 0) } }
        let grant = most.with(least) { most, least in most.map { Swift.max($0, least ?? 0) } }
        self.number = number
        if grant != granted {
            since = number
            // What was not bounded is not known: only what is bounded from now on is counted.
            held = grant.with(held) { grant, held in grant.map { Swift.max($0, held ?? 0) } }
            granted = grant
        }
    }

    /// Takes what the worker reports: it keeps to the grant `number`, and is using no more than `used`.
    package mutating func settle(number: Int64, used: QuotaAmounts) {
        guard number >= since, number <= self.number else { return }
        let now = granted.max(used)
        held = held.with(now) { held, now in held.map { min($0, now ?? 0) } }
    }

    /// Takes back the grant of a worker that uses the resource no more; false when it has been granted
    /// another one since, which it has not heard of.
    package mutating func end(number: Int64, used: QuotaAmounts) -> Bool {
        guard number == self.number else { return false }
        granted = granted.with(granted) { granted, _ in granted.map { _ in 0 } }
        held = held.with(used) { held, used in held.map { min($0, used ?? 0) } }
        return true
    }

    /// Whether the worker is to have more as soon as others leave it.
    package func isBelowPart(of pool: Pool) -> Bool {
        let parts = pool.part
        return [
            (parts.connections, granted.connections), (parts.requests, granted.requests),
            (parts.bytes, granted.bytes),
        ].contains { part, granted in part.map { $0 > (granted ?? 0) } ?? false }
    }

    /// After how many seconds the worker asks again, so that it hears soon of what became free or is to be
    /// given up; less often where many ask.
    package func askAgainSeconds(in pool: Pool) -> Double {
        let isBelowPart = isBelowPart(of: pool)
        let users = Double(pool.users)
        return isBelowPart ? min(max(users / 200, 0.05), 1) : min(max(users / 100, 0.25), 1)
    }
}

/// What is done about a worker's quota when it was granted jobs or reports.
extension Quota {
    /// What a worker reports.
    package struct Use: Hashable, Sendable {
        /// The grant that it keeps to.
        package var number: Int64
        package var used: QuotaAmounts
        /// It has no more to do there, and begins nothing under this grant.
        package var isOver: Bool

        package init(number: Int64, used: QuotaAmounts = QuotaAmounts(), isOver: Bool = false) {
            self.number = number
            self.used = used
            self.isOver = isOver
        }
    }

    package struct Request: Hashable, Sendable {
        /// The worker's quota; nil for none.
        package var quota: Quota?
        package var pool: Pool
        /// The worker holds jobs of the resource.
        package var isHeld: Bool
        /// It is known to have something to do there, as with jobs that it was just granted.
        package var isBusy: Bool
        /// What it has now stays as it is, as at a site that is closed: what is under way ends as it began.
        package var isFrozen = false
        package var use: Use?
        /// For the next grant.
        package var number: Int64

        package init(
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

    package enum Decision: Hashable, Sendable {
        /// Nothing is written or answered.
        case nothing
        /// The worker has this from now on, for the time of a lease.
        case grant(Quota)
        /// The worker is no user any more; what is held still counts for a moment.
        case end(Quota)
        /// Nothing of it is left.
        case drop
        /// There is no limit any more.
        case lift
    }

    package static func decide(_ request: Request) -> Decision {
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
            // An answer was lost: it hears of its last grant, and then gives that up.
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
