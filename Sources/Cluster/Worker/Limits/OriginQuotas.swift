import API
import Model
import Synchronization
import Transfer

/// This worker's quotas of origins' limits: applies them to the transfer engine, renews them while
/// used, and returns idle ones. Safe from any thread.
final class OriginQuotas: Sendable {
    private let engine: TransferEngine
    private let table = Mutex(OriginQuotaTable())

    init(engine: TransferEngine) { self.engine = engine }

    var isEmpty: Bool { table.withLock { $0.isEmpty } }

    /// Applies the quotas of an answer whose request was sent at `askedAt`.
    func take(_ shares: [OriginQuota]?, askedAt: HeldWork.Instant) {
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

    /// Returns the uses of quotas for the coordinator. An idle quota is returned: no request starts
    /// under it any more.
    func uses(_ origins: [OriginUse]) -> [OriginQuotaUse]? {
        guard !isEmpty else { return nil }
        var uses: [(use: OriginQuotaUse, isAbove: Bool)] = []
        for use in origins {
            let (isKnown, isOver) = table.withLock { table in
                (
                    table.holds(use.origin, number: use.number),
                    table.isOver(use.origin, isIdle: use.isIdle)
                )
            }
            guard isKnown else { continue }
            let isGivenUp = isOver && engine.giveUp(use.origin, number: use.number)
            let report = OriginQuotaUse(
                origin: use.origin, number: use.number, connections: use.connections,
                requests: use.requests, active: use.active, isOver: isGivenUp ? true : nil)
            uses.append((report, use.isAbove))
        }
        guard !uses.isEmpty else { return nil }
        return table.withLock { $0.next(uses, most: WireLimits.originsPerHeartbeat) }
    }

    /// Returns true if a used quota needs renewal or another request, or if one was returned.
    func needReport(_ origins: [OriginUse], _ uses: [OriginQuotaUse]?) -> Bool {
        if let uses, table.withLock({ $0.hasUnreported(uses) }) { return true }
        guard !isEmpty else { return false }
        if table.withLock({ $0.isUnsettled(origins) }) { return true }
        let used = engine.origins.filter { $0.isLimited && $0.active + $0.waiting > 0 }
        return table.withLock { $0.needsRenewal(used.map(\.origin)) }
    }

    /// Records that a coordinator received the uses, and so the returned quotas.
    func reported(_ origins: [OriginUse], _ uses: [OriginQuotaUse]) {
        table.withLock { table in
            table.report(origins)
            table.report(uses)
            // Remaining uses of its last requests are reported until they reach zero.
            for use in uses where use.isOver == true && use.connections + use.requests == 0 {
                table.forget(use.origin, number: use.number)
            }
        }
    }
}
