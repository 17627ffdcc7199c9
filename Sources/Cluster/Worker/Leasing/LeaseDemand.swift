import API
import Model
import Transfer

/// Decides how many jobs a worker requests, and when.
struct LeaseDemand: Sendable {
    let connections: Int
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace

    /// The jobs to request.
    struct Jobs: Sendable {
        var count: Int
        var slow: SlowWork
        /// Maximum of jobs of slow origins.
        var slowJobs: Int
        /// The bytes that had been stored at the time of the decision.
        var ended: [SiteID: Int64]
    }

    /// Returns the jobs to request now; nil, after waiting for jobs to end, if there are enough.
    func next() async -> Jobs? {
        let most = WireLimits.jobsPerLease
        let level = pace.level(connections: connections, most: 2 * most)
        // Free connections cannot use transfers that wait for an origin's limits, nor slow
        // transfers.
        let slow = engine.slowWork(most: WireLimits.slowOriginsPerLease)
        let idle = min(engine.heldBackCount + slow.count, most)
        let (fetching, others) = held.pendingCounts
        // Titles, verifications and uploads take time, but no connection for all of it.
        let inHand = max(fetching - idle, 0) + max(others - connections, 0)
        // Up to two leases' worth to download. Jobs to store or report count towards the bound of
        // three leases, not the target. So a slow disk neither idles the network nor piles up open
        // files.
        let wanted = min(
            level.wanted(inHand: inHand), most, 3 * most - held.count,
            pace.bound().map { $0 - fetching } ?? .max)
        guard wanted > 0 else {
            // Limits change without an event, so this checks again soon.
            await pace.wait(forEnded: max(inHand - level.refill, 1), atMost: .milliseconds(250))
            return nil
        }
        return Jobs(
            count: wanted, slow: slow, slowJobs: level.wanted(inHand: slow.count),
            ended: held.endedBytes)
    }

    /// Limits the slow origins' jobs in a request, and shortens its wait, since slow origins may
    /// change. With enough of them it does not wait at all: see `waitForSlow()`. When other origins
    /// fill the limit, underserved origins still get jobs.
    func limit(_ request: inout LeaseRequest, to slow: SlowWork, jobs: Int) {
        let jobs = min(jobs, WireLimits.jobsPerLease)
        let origins =
            jobs > 0 ? slow.origins : slow.origins.filter { !slow.underserved.contains($0) }
        if !origins.isEmpty { request.slow = SlowOrigins(origins: origins, maxJobs: jobs) }
        request.waitMilliseconds = jobs == 0 ? 0 : 5_000
    }

    /// Waits, after a request for no jobs of slow origins was in vain, until one of these jobs
    /// ends, or for the time after which others may have come.
    func waitForSlow() async { await pace.wait(atMost: .milliseconds(500)) }

    static func slowPolicy(connections: Int) -> SlowPolicy {
        var policy = SlowPolicy()
        policy.maxWaiting = 2 * connections
        return policy
    }
}
