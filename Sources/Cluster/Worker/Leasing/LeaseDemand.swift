import API
import Model
import Transfer

/// Decides how many jobs a worker requests, and when.
struct LeaseDemand: Sendable {
    let connections: Int
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace
    let surplus: SurplusJobs

    /// The jobs to request.
    struct Jobs: Sendable {
        var count: Int
        /// Maximum wait of the request in milliseconds; nil for any.
        var waitMilliseconds: Int?
        var slow: SlowWork
        /// Maximum of jobs of slow origins.
        var slowJobs: Int
        /// The bytes that had been stored at the time of the decision.
        var ended: [SiteID: Int64]
        /// What had happened before the decision.
        var mark: LeasePace.Mark
    }

    /// Maximum wait of a request for a reserve: later, the rate that it is for is that of earlier
    /// jobs.
    private static let reserveMilliseconds = Int(LeasePace.reserveSeconds * 1_000)
    /// Maximum wait of one while limits of origins hold jobs back: of these origins claims grant few
    /// jobs at a time, and the worker asks again for as long.
    private static let heldBackMilliseconds = 5_000

    /// Returns the maximum wait of a request for `wanted` jobs, in milliseconds; nil for any, where
    /// they are for connections without a job.
    static func waitMilliseconds(
        wanted: Int, withoutJob: Int, heldBack: Int
    ) -> Int? {
        guard wanted > withoutJob else { return nil }
        return heldBack == 0 ? reserveMilliseconds : heldBackMilliseconds
    }

    /// Returns the jobs to request now; nil, after waiting for jobs to end, if there are enough.
    func next() async -> Jobs? {
        let most = WireLimits.jobsPerLease
        let mark = pace.mark
        await waitForStarts()
        let level = pace.level(connections: connections, most: 2 * most)
        // Free connections cannot use transfers that wait for an origin's limits, nor slow
        // transfers.
        let slow = engine.slowWork(most: WireLimits.slowOriginsPerLease)
        let idle = min(engine.heldBackCount + slow.count, most)
        let starting = held.startingCount
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
            surplus.stopsAsking()
            // Limits change without an event, so this checks again soon.
            await pace.wait(
                forEnded: max(inHand - level.refill, 1), after: mark, atMost: .milliseconds(250))
            return nil
        }
        return Jobs(
            count: wanted,
            waitMilliseconds: Self.waitMilliseconds(
                wanted: wanted, withoutJob: connections - inHand, heldBack: idle),
            slow: slow, slowJobs: level.wanted(inHand: slow.count + starting),
            ended: held.endedBytes, mark: mark)
    }

    /// Waits, where origins are slow, until the jobs of the last grant are in the engine: before, it
    /// cannot count them among those of slow origins, and the worker would request them twice. Jobs
    /// whose files take longer to open count as slow.
    private func waitForStarts() async {
        guard held.startingCount > 0, !engine.slowWork(most: 1).origins.isEmpty else { return }
        await held.waitUntil(.nothingStarting, atMost: .milliseconds(100))
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

    /// Waits, after a request for no jobs of slow origins was in vain, until a job has ended since its
    /// decision, or for the time after which others may have come.
    func waitForSlow(after mark: LeasePace.Mark) async {
        await pace.wait(after: mark, atMost: .milliseconds(500))
    }

    static func slowPolicy(connections: Int) -> SlowPolicy {
        var policy = SlowPolicy()
        policy.maxWaiting = 2 * connections
        return policy
    }
}
