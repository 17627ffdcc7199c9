import API
import Model
import Postgres

/// Divides one resource after the other for a worker, and collects the rows to write and the
/// answer.
struct QuotaChanges {
    private struct Change {
        var key: QuotaResource.Key
        var quota: Quota
        var active: Int64?
        var seconds: Double
    }

    private let seconds: Double
    private let occasion: Quotas.Occasion
    private var isClaim: Bool { occasion == .claim }
    private var changes: [Change] = []
    private var dropped: [QuotaResource.Key] = []
    /// True if a slot among the users of a fully used resource has become free.
    private var isSlotFree = false
    private(set) var answer = Quotas.Answer()

    init(seconds: Double, _ occasion: Quotas.Occasion) {
        self.seconds = seconds
        self.occasion = occasion
    }

    mutating func take(
        _ entry: QuotaEntry, isHeld: Bool, isBusy: Bool, use: Quota.Use?, active: Int64?
    ) {
        // A site's user holds jobs of it; an origin's user may have done all its jobs.
        var request = Quota.Request(
            entry.quota, of: entry.pool,
            isHeld: isHeld && (entry.isUser || isClaim || isBusy || entry.key.kind == .site),
            isBusy: isClaim || isBusy || entry.key.kind == .site, use: use, number: entry.next)
        request.isFrozen = entry.isClosed
        let decision = Quota.decide(request)
        // A worker without a lease gets no answer; the quota prepared for its first jobs is
        // withdrawn.
        guard occasion != .claimInVain || decision == .drop else { return }
        switch decision {
        case .nothing: break
        case .grant(let quota): grant(quota, entry, active)
        case .end(let quota):
            changes.append(Change(key: entry.key, quota: quota, active: 0, seconds: 0))
            noteFreeSlot(entry)
        case .drop:
            dropped.append(entry.key)
            noteFreeSlot(entry)
        case .lift:
            if entry.quota != nil { dropped.append(entry.key) }
            lift(entry)
        }
    }

    private mutating func grant(_ quota: Quota, _ entry: QuotaEntry, _ active: Int64?) {
        changes.append(
            Change(key: entry.key, quota: quota, active: active, seconds: seconds))
        let again = entry.isClosed ? nil : quota.askAgainSeconds(in: entry.pool)
        switch entry.key.kind {
        case .origin:
            var share = OriginQuota(
                origin: entry.url, connections: quota.granted.connections.map { Int($0) },
                requestsPerSecond: quota.granted.requests.map { requests in
                    requests == 0 ? 0 : min(Double(requests), entry.requestsPerSecond ?? .infinity)
                }, bytesPerSecond: quota.granted.bytes, seconds: seconds)
            share.number = quota.number
            share.againSeconds = again
            answer.origins = (answer.origins ?? []) + [share]
        case .site:
            var share = SiteQuota(
                site: SiteID(entry.key.id), number: quota.number,
                bytesPerSecond: quota.granted.bytes ?? 0, seconds: seconds)
            share.againSeconds = again
            answer.sites = (answer.sites ?? []) + [share]
        }
    }

    /// Adds to the answer that there is no limit any more.
    private mutating func lift(_ entry: QuotaEntry) {
        switch entry.key.kind {
        case .origin:
            answer.origins =
                (answer.origins ?? []) + [OriginQuota(origin: entry.url, seconds: seconds)]
        case .site:
            answer.sites =
                (answer.sites ?? []) + [
                    SiteQuota(
                        site: SiteID(entry.key.id), number: nil, bytesPerSecond: 0,
                        seconds: seconds)
                ]
        }
    }

    private mutating func noteFreeSlot(_ entry: QuotaEntry) {
        guard entry.isUser, let most = entry.pool.limit.maxUsers else { return }
        if entry.pool.users >= most { isSlotFree = true }
    }

    func statements(for worker: WorkerID) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !changes.isEmpty {
            let amounts = { (amount: (Quota) -> Int64?) in
                PostgresValue.optionalIntArray(changes.map { amount($0.quota) })
            }
            statements.append(
                PostgresStatement(
                    SQL.Quotas.store,
                    [
                        "worker": .uuid(worker),
                        "kinds": .textArray(changes.map(\.key.kind.rawValue)),
                        "resources": .int64Array(changes.map(\.key.id)),
                        "numbers": .int64Array(changes.map(\.quota.number)),
                        "since": .int64Array(changes.map(\.quota.since)),
                        "connections": amounts(\.granted.connections),
                        "requests": amounts(\.granted.requests), "bytes": amounts(\.granted.bytes),
                        "held_connections": amounts(\.held.connections),
                        "held_requests": amounts(\.held.requests),
                        "held_bytes": amounts(\.held.bytes),
                        "active": .optionalIntArray(changes.map(\.active)),
                        "seconds": .doubleArray(changes.map(\.seconds)),
                    ]))
        }
        if !dropped.isEmpty {
            statements.append(
                PostgresStatement(
                    SQL.Quotas.drop,
                    [
                        "worker": .uuid(worker), "kinds": .textArray(dropped.map(\.kind.rawValue)),
                        "resources": .int64Array(dropped.map(\.id)),
                    ]))
        }
        if isSlotFree { statements.append(PostgresStatement(SQL.Common.notifyWork)) }
        return statements
    }
}
