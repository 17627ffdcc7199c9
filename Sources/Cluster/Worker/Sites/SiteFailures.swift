import Model
import Services
import Storage
import Synchronization
import Transfer

/// Applies failures to their sites: the worker leases none of a site's jobs for a while, or the
/// site counts as failed. Safe from any thread.
final class SiteFailures: Sendable {
    private let workerName: String
    private let refused: Shared<RefusedSites>
    private let volumes: Shared<SiteVolumes>
    private let sites: SitesInUse
    private let engine: TransferEngine
    private let held: HeldWork
    private let log: Logger
    /// Time of the last log message about a site that cannot be written.
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

    /// Excludes a site outside the roots from lease requests for a while.
    func refuse(_ site: SiteID, _ failure: Failure) {
        guard refused.withLock({ $0.refuse(site) }) else { return }
        engine.cancelUnbegun(held.queuedTransfers(of: site))
        log.warning(
            "a site lies outside this worker's roots; its jobs are returned",
            ["code": failure.code, "error": failure.message, "hint": failure.hint])
    }

    /// Records the failure of a job that is not stored yet, and returns it as it is reported.
    func judge(_ failure: Failure, at site: SiteID) -> Failure {
        let failure = named(sites.judge(failure, at: site))
        note(failure, at: site)
        return failure
    }

    /// Records that a site cannot be written: returns its jobs that have not started, and logs once
    /// a minute.
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
            "a site cannot be written; its jobs wait",
            ["code": failure.code, "error": failure.message, "hint": failure.hint])
    }

    /// Adds the worker's name to a failure that only this worker may have.
    func named(_ failure: Failure) -> Failure {
        guard SiteVolumes.isOfWorker(failure.code) else { return failure }
        return Failure(failure.code, "worker \(workerName): \(failure.message)")
    }
}
