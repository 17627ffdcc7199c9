import Model
import Services
import Storage
import Synchronization
import Transfer

/// What failures mean for the site that they are of: that this worker takes no more of its jobs for a while, or
/// that nothing can be stored there. Safe from any thread.
final class SiteFailures: Sendable {
    private let workerName: String
    private let refused: Shared<RefusedSites>
    private let volumes: Shared<SiteVolumes>
    private let sites: SitesInUse
    private let engine: TransferEngine
    private let held: HeldWork
    private let log: Logger
    /// When the log last had one that a site cannot be written.
    private let loggedAt = Mutex<HeldWork.Instant?>(nil)

    init(
        workerName: String, refused: Shared<RefusedSites>, volumes: Shared<SiteVolumes>,
        sites: SitesInUse, engine: TransferEngine, held: HeldWork, log: Logger
    ) {
        self.workerName = workerName
        self.refused = refused
        self.volumes = volumes
        self.sites = sites
        self.engine = engine
        self.held = held
        self.log = log
    }

    /// Sees to it that no more jobs of a site outside of the roots are handed out to this worker for a while.
    func refuse(_ site: SiteID, _ failure: Failure) {
        guard refused.withLock({ $0.refuse(site) }) else { return }
        engine.cancelUnbegun(held.queuedTransfers(of: site))
        log.warning(
            "a site lies outside of this worker's roots; its jobs are given back",
            ["code": failure.code, "error": failure.message, "hint": failure.code.row.hint])
    }

    /// A failure as it is reported, of a job that is still to be stored; takes note of it.
    func judge(_ failure: Failure, at site: SiteID) -> Failure {
        let failure = named(sites.judge(failure, at: site))
        note(failure, at: site)
        return failure
    }

    /// Takes note of what keeps a site from being written: what has not begun for it is given back, and
    /// the log has it once a minute.
    func note(_ failure: Failure, at site: SiteID) {
        guard case .siteFault = failure.code.row.retry else { return }
        sites.failed(site)
        if SiteVolumes.isOfWorker(failure.code) { volumes.withLock { $0.setUnusable(site) } }
        engine.cancelUnbegun(held.queuedTransfers(of: site))
        let now = HeldWork.Instant.now
        let isDue = loggedAt.withLock { last in
            if let last, now - last < .seconds(60) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        log.warning(
            "a site cannot be written; its work waits",
            ["code": failure.code, "error": failure.message, "hint": failure.code.row.hint])
    }

    /// Names the worker in a failure that others need not have.
    func named(_ failure: Failure) -> Failure {
        guard SiteVolumes.isOfWorker(failure.code) else { return failure }
        return Failure(failure.code, "worker \(workerName): \(failure.message)")
    }
}
