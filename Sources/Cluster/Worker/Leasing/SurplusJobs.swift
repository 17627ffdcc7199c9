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
    /// The time since which a coordinator holds the worker's request for jobs.
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

    /// Records that a request for jobs is sent, or was answered.
    func asks(_ isAsking: Bool, now: Instant = .now) {
        askedAt.withLock { $0 = isAsking ? now : nil }
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

    /// Returns up to `count` surplus jobs to their queue, those that would begin last. For a while
    /// the worker then requests only what its connections can begin.
    func giveBack(_ count: Int, now: Instant = .now) {
        let waiting = unbegun.sorted { $0.id < $1.id }
        let surplus = min(count, waiting.count - pace.reserve(now: now))
        guard surplus > 0 else { return }
        pace.bound(
            to: held.pendingCounts.fetching - surplus, until: now.advanced(by: Self.boundTime))
        engine.cancelUnbegun(Array(waiting.suffix(surplus)))
    }

    /// Transfers of jobs that wait for nothing but a connection.
    private var unbegun: [Transfer] {
        let ofJobs = Set(held.queuedTransfers().map(\.id))
        return engine.unbegun.filter { ofJobs.contains($0.id) }
    }
}
