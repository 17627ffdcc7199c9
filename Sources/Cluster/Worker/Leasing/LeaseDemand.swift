import Model
import Transfer

/// Decides how many jobs a worker asks for, and when.
struct LeaseDemand: Sendable {
    let connections: Int
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace

    /// What to ask for.
    struct Jobs: Sendable {
        var count: Int
        var slow: SlowWork
        /// What had been stored when it was decided.
        var ended: [SiteID: Int64]
    }

    /// How many jobs to ask for now; nil after a wait for jobs to end, while there are enough.
    func next() async -> Jobs? {
        let most = WireLimits.jobsPerLease
        let target = pace.target(connections: connections, most: 2 * most)
        // What waits for its origin's limits is no work for the connections that are free, nor are slow
        // transfers work for those that others may have.
        let slow = engine.slowWork(most: WireLimits.slowOriginsPerLease)
        let idle = min(engine.heldBackCount + slow.count, most)
        let inHand = max(held.pendingCount - idle, 0)
        // Up to two leases' worth to download. What is still to be stored or reported counts
        // against the bound of three, not the target: a slow disk does not idle the network,
        // and does not pile up open files either.
        let wanted = min(target - inHand, most, 3 * most - held.count)
        guard inHand <= target / 2, wanted > 0 else {
            // What waits for limits changes without an event: it is looked at again soon.
            await pace.wait(forEnded: max(inHand - target / 2, 1), atMost: .milliseconds(250))
            return nil
        }
        return Jobs(count: wanted, slow: slow, ended: held.endedBytes)
    }

    /// Asks for no more of slow origins than there is use for, and soon again: what is slow may change. Where
    /// others fill what may wait, the origins with few of these get jobs all the same.
    func limit(_ request: inout LeaseRequest, to slow: SlowWork) {
        let jobs = LeasePace.slowJobs(inHand: slow.count, connections: connections)
        let origins =
            jobs > 0 ? slow.origins : slow.origins.filter { !slow.underserved.contains($0) }
        if !origins.isEmpty { request.slow = SlowOrigins(origins: origins, maxJobs: jobs) }
        request.waitMilliseconds = jobs == 0 ? 500 : 5_000
    }

    static func slowPolicy(connections: Int) -> SlowPolicy {
        var policy = SlowPolicy()
        policy.maxWaiting = LeasePace.slowMost(connections: connections)
        return policy
    }
}
