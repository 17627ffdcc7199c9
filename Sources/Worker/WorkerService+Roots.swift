import Model
import Runtime
import Storage
import Synchronization
import Transfer

/// Sites that lie outside of a worker's roots, though a coordinator has handed out jobs of them. A value.
struct RefusedSites {
    private var refusedAt: [SiteID: HeldWork.Instant] = [:]

    /// For so long a coordinator is asked to hand out nothing of a site; then it is looked at anew, because a symlink
    /// that leads outside may have gone.
    static let pause = Duration.seconds(60)

    /// True when that was not known, or not for a while.
    mutating func refuse(_ site: SiteID, now: HeldWork.Instant = .now) -> Bool {
        drop(now)
        if refusedAt[site] != nil { return false }
        // A coordinator that invents sites is not to fill the memory.
        if refusedAt.count >= WireLimits.refusedSites {
            refusedAt.min { $0.value < $1.value }.map { refusedAt[$0.key] = nil }
        }
        refusedAt[site] = now
        return true
    }

    /// What coordinators are told; nil for none.
    mutating func current(now: HeldWork.Instant = .now) -> [SiteID]? {
        drop(now)
        return refusedAt.isEmpty ? nil : refusedAt.keys.sorted()
    }

    private mutating func drop(_ now: HeldWork.Instant) {
        refusedAt = refusedAt.filter { now - $0.value < Self.pause }
    }
}

// Each job is checked here, whatever the coordinator has checked: one that was taken over makes this worker write
// nowhere else.
extension WorkerService {
    /// Answers the jobs of a grant whose sites lie outside of the roots, and returns the others.
    ///
    /// They go back untouched, for a worker that may write there. Where the coordinator was asked to hand out no more
    /// of the site, they fail: they would go to and fro for ever.
    ///
    /// - Parameter refused: sites that the request for the grant has named.
    func withinRoots(_ grant: LeaseGrant, _ lease: LeaseID, refused: [SiteID]?) -> [Job] {
        var failures: [SiteID: Failure] = [:]
        let refused = Set(refused ?? [])
        for (number, url) in grant.sites {
            guard let site = Int64(number).map({ SiteID($0) }) else { continue }
            do throws(Failure) {
                try configuration.roots.check(try StorageURL(url))
                if refused.contains(site) {
                    throw Failure("storage.outsideRoots", "\(url) leads out of this worker's roots")
                }
            } catch {
                failures[site] = error
            }
        }
        guard !failures.isEmpty else { return grant.jobs }
        return grant.jobs.filter { job in
            guard let failure = failures[job.site] else { return true }
            if refused.contains(job.site), failure.code == "storage.outsideRoots" {
                reportFailure(job, lease, failure)
            } else {
                fail(job, lease, failure)
            }
            return false
        }
    }

    /// Sees to it that no more jobs of a site are handed out to this worker for a while.
    func refuse(_ site: SiteID, _ failure: Failure) {
        guard refusedSites.withLock({ $0.refuse(site) }) else { return }
        engine.cancelUnbegun(held.queuedTransfers(of: site))
        log.warning(
            "a site lies outside of this worker's roots; its jobs are given back",
            ["code": failure.code, "error": failure.message, "hint": failure.code.row.hint])
    }
}
