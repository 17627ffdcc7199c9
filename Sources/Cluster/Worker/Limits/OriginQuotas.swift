import Model
import Synchronization
import Transfer

/// This worker's quotas of origins' limits: keeps the transfer engine to them, renews them while they are used and
/// gives them up when they lie idle. Safe from any thread.
final class OriginQuotas: Sendable {
    private let engine: TransferEngine
    private let table = Mutex(ShareTable())

    init(engine: TransferEngine) { self.engine = engine }

    var isEmpty: Bool { table.withLock { $0.isEmpty } }

    /// Takes the quotas of an answer whose request was sent at `askedAt`.
    func take(_ shares: [OriginShare]?, askedAt: HeldWork.Instant) {
        guard let shares, !shares.isEmpty else { return }
        for grant in table.withLock({ $0.take(shares, askedAt: askedAt) }) {
            let limits = OriginAllowance(
                connections: grant.limits.connections.map { max($0, 0) },
                requestsPerSecond: grant.limits.requestsPerSecond.map { max($0, 0) },
                bytesPerSecond: grant.limits.bytesPerSecond.map { max($0, 0) },
                number: grant.limits.number ?? 0)
            engine.setLimits(limits, of: grant.origin, forSeconds: grant.seconds)
        }
    }

    /// What is used of the quotas, for the coordinator. A quota that has lain idle is given up: nothing is begun
    /// under it any more.
    func uses(_ origins: [OriginUse]) -> [OriginShareUse]? {
        guard !isEmpty else { return nil }
        var uses: [(use: OriginShareUse, isAbove: Bool)] = []
        for use in origins {
            let (isKnown, isOver) = table.withLock { table in
                (
                    table.holds(use.origin, number: use.number),
                    table.isOver(use.origin, isIdle: use.isIdle)
                )
            }
            guard isKnown else { continue }
            let isGivenUp = isOver && engine.giveUp(use.origin, number: use.number)
            let report = OriginShareUse(
                origin: use.origin, number: use.number, connections: use.connections,
                requests: use.requests, active: use.active, isOver: isGivenUp ? true : nil)
            uses.append((report, use.isAbove))
        }
        guard !uses.isEmpty else { return nil }
        return table.withLock { $0.next(uses, most: WireLimits.originsPerHeartbeat) }
    }

    /// Whether a quota is used that is to be renewed or asked for again, or one was given up.
    func needReport(_ origins: [OriginUse], _ uses: [OriginShareUse]?) -> Bool {
        if let uses, table.withLock({ $0.hasNews(uses) }) { return true }
        guard !isEmpty else { return false }
        if table.withLock({ $0.isUnsettled(origins) }) { return true }
        let used = engine.origins.filter { $0.isLimited && $0.active + $0.waiting > 0 }
        return table.withLock { $0.needsRenewal(used.map(\.origin)) }
    }

    /// A coordinator has the uses of a heartbeat, and knows by them what was given up.
    func reported(_ origins: [OriginUse], _ uses: [OriginShareUse]) {
        table.withLock { table in
            table.report(origins)
            table.report(uses)
            // What still counts of its last requests is reported until it is nothing.
            for use in uses where use.isOver == true && use.connections + use.requests == 0 {
                table.forget(use.origin, number: use.number)
            }
        }
    }
}
