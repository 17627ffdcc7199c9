import API
import Model
import Synchronization
import Transfer

/// This worker's quotas of sites' bandwidth: applies them to the transfer engine, and returns those
/// of sites without jobs. Safe from any thread.
final class SiteQuotas: Sendable {
    private let engine: TransferEngine
    private let held: HeldWork
    private let table = Mutex(SiteQuotaTable())

    init(engine: TransferEngine, held: HeldWork) {
        self.engine = engine
        self.held = held
    }

    var isEmpty: Bool { table.withLock { $0.isEmpty } }

    /// Applies the quotas of an answer whose request was sent at `askedAt`.
    func take(_ shares: [SiteQuota]?, askedAt: HeldWork.Instant) {
        // Under the lock, so that the table and the engine agree.
        table.withLock { table in
            for grant in table.take(shares ?? [], askedAt: askedAt) {
                engine.setRate(grant.bytesPerSecond, of: grant.site, forSeconds: grant.seconds)
            }
            for site in table.forget() { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }

    /// Returns the applied and the returned quotas, for the coordinator.
    func uses() -> [SiteQuotaUse]? {
        guard !isEmpty else { return nil }
        let sites = held.sites
        return table.withLock { table in
            for site in table.giveUp(held: sites) {
                engine.setRate(0, of: site, forSeconds: 86_400)
            }
            return table.used
        }
    }

    /// Returns true if a site with jobs needs another request for its quota, or if one was
    /// returned.
    func needReport(_ uses: [SiteQuotaUse]?) -> Bool {
        guard let uses else { return false }
        if uses.contains(where: { $0.isOver == true }) { return true }
        let sites = held.sites
        return table.withLock { $0.needsRenewal(sites) }
    }

    /// Records that a coordinator received the returned quotas.
    func reported(_ uses: [SiteQuotaUse]) {
        table.withLock { table in
            // The site's next jobs bring a quota if there is still a limit.
            for site in table.forget(uses) { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }
}
