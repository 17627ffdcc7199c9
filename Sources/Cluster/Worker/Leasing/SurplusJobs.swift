import Synchronization
import Transfer

/// Connections of this worker that could take more jobs, and jobs that it holds for connections
/// that are busy. Coordinators learn both by heartbeats, so that jobs move from workers that cannot
/// begin them to idle ones. Safe from any thread.
final class SurplusJobs: Sendable {
    typealias Instant = HeldWork.Instant

    private let connections: Int
    private let engine: TransferEngine
    private let held: HeldWork
    private let pace: LeasePace
    /// The time since which the worker requests jobs and gets none.
    private let askedAt = Mutex<Instant?>(nil)

    init(connections: Int, engine: TransferEngine, held: HeldWork, pace: LeasePace) {
        self.connections = connections
        self.engine = engine
        self.held = held
        self.pace = pace
    }

    /// Time after which a request without an answer means that there are no jobs.
    private static let answerTime = Duration.milliseconds(200)
    /// Time for which jobs that were returned are left to others.
    private static let boundTime = Duration.seconds(2)

    /// Records that a request for jobs is sent. A wait over several requests is one.
    func asks(now: Instant = .now) { askedAt.withLock { $0 = $0 ?? now } }

    /// Records that the worker does not wait for jobs any more: it got some, needs none, or cannot
    /// get any.
    func stopsAsking() { askedAt.withLock { $0 = nil } }

    /// Returns the time until an unanswered request means that there are no jobs; nil if no request
    /// is open, or it means that already.
    func timeToIdle(now: Instant = .now) -> Duration? {
        guard let askedAt = askedAt.withLock(\.self) else { return nil }
        let left = Self.answerTime - (now - askedAt)
        return left > .zero ? left : nil
    }

    /// Returns how many further transfers could start, while the worker waits for jobs.
    func idleConnections(now: Instant = .now) -> Int {
        let isIdle = askedAt.withLock { askedAt in
            askedAt.map { now - $0 >= Self.answerTime } ?? false
        }
        return isIdle && unbegun.isEmpty ? min(engine.spareCount, connections) : 0
    }

    /// Returns the number of jobs beyond the reserve of `LeasePace` that wait for nothing but a
    /// connection.
    func count(now: Instant = .now) -> Int { max(unbegun.count - pace.reserve(now: now), 0) }

    /// Returns true for so many surplus jobs that coordinators learn of them at once: more than small
    /// jobs have by chance between two reports.
    func isLarge(_ count: Int) -> Bool { count > connections }

    /// Returns surplus jobs to their queue, those that would begin last: the `count` that idle
    /// connections of others can take. For a while the worker then requests only what its connections
    /// can begin. Where no job has ended for a second it returns all that its free connections could
    /// not begin, now or soon after it returned some: others get them as their connections become
    /// free.
    func giveBack(_ count: Int, now: Instant = .now) {
        let returnsAll = pace.isPaused(now: now) && (count > 0 || pace.bound(now: now) != nil)
        guard count > 0 || returnsAll else { return }
        // Read first: what begins meanwhile is in neither.
        let free = engine.freeSlotCount
        let waiting = unbegun.sorted { $0.id < $1.id }
        let surplus = waiting.count - pace.reserve(now: now)
        let returned = min(returnsAll ? max(count, surplus - free) : count, surplus)
        guard returned > 0 else { return }
        pace.bound(
            to: held.pendingCounts.fetching - returned, for: Self.boundTime, now: now)
        engine.cancelUnbegun(Array(waiting.suffix(returned)))
    }

    /// Transfers of jobs that wait for nothing but a connection.
    private var unbegun: [Transfer] {
        let ofJobs = Set(held.queuedTransfers().map(\.id))
        return engine.unbegun.filter { ofJobs.contains($0.id) }
    }
}
