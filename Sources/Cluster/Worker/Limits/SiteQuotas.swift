import Model
import Synchronization
import Transfer

/// This worker's quotas of the bandwidth of sites: keeps the transfer engine to them, and gives them up when nothing
/// of their sites is held. Safe from any thread.
final class SiteQuotas: Sendable {
    private let engine: TransferEngine
    private let held: HeldWork
    private let table = Mutex(SiteShareTable())

    init(engine: TransferEngine, held: HeldWork) {
        self.engine = engine
        self.held = held
    }

    var isEmpty: Bool { table.withLock { $0.isEmpty } }

    /// Takes the quotas of an answer whose request was sent at `askedAt`.
    func take(_ shares: [SiteShare]?, askedAt: HeldWork.Instant) {
        // Under the lock, so that what the table has is what the engine keeps to.
        table.withLock { table in
            for grant in table.take(shares ?? [], askedAt: askedAt) {
                engine.setRate(grant.bytesPerSecond, of: grant.site, forSeconds: grant.seconds)
            }
            for site in table.forget() { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }

    /// The quotas that are kept to, for the coordinator, and those that were given up.
    func uses() -> [SiteShareUse]? {
        guard !isEmpty else { return nil }
        let sites = held.sites
        return table.withLock { table in
            for site in table.giveUp(held: sites) {
                engine.setRate(0, of: site, forSeconds: 86_400)
            }
            return table.used
        }
    }

    /// Whether a quota is to be asked for again while there is work of its site, or was given up.
    func needReport(_ uses: [SiteShareUse]?) -> Bool {
        guard let uses else { return false }
        if uses.contains(where: { $0.isOver == true }) { return true }
        let sites = held.sites
        return table.withLock { $0.needsRenewal(sites) }
    }

    /// A coordinator knows what was given up.
    func reported(_ uses: [SiteShareUse]) {
        table.withLock { table in
            // What comes next comes with a quota, if there is still a limit.
            for site in table.forget(uses) { engine.setRate(nil, of: site, forSeconds: 0) }
        }
    }
}
