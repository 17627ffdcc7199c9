import EventLoop
import JobQueue
import Model
import Services
import Synchronization

/// The last figures of the cluster, read again when they are scraped and old. Safe from any thread.
///
/// However many scrape at once, the database is asked once in `maxAge`.
final class FigureCache: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct State {
        var figures: ClusterFigures?
        var readAt: Instant?
        var underWay: Task<Void, Never>?
    }

    /// Age from which figures that cannot be read again count as unknown.
    static let lifetime = Duration.seconds(60)
    /// Maximum wait of a scrape for figures.
    private static let patience = Duration.seconds(2)

    /// Age from which figures are read again.
    private let maxAge: Duration
    private let read: @Sendable () async throws -> ClusterFigures
    private let now: @Sendable () -> Instant
    private let state = Mutex(State())
    private let log = Logger("coordinator")

    init(
        maxAge: Duration, now: @escaping @Sendable () -> Instant = { .now },
        _ read: @escaping @Sendable () async throws -> ClusterFigures
    ) {
        self.maxAge = maxAge
        self.now = now
        self.read = read
    }

    /// Nil before they were read, and when they are too old.
    var figures: ClusterFigures? {
        state.withLock { state in
            guard let readAt = state.readAt, now() - readAt < Self.lifetime else { return nil }
            return state.figures
        }
    }

    var ageSeconds: Double? {
        state.withLock { $0.readAt }.map { (now() - $0) / .seconds(1) }
    }

    /// Reads the figures again if they are old; waits for that for a bounded time.
    func refresh() async {
        let task = state.withLock { state -> Task<Void, Never>? in
            if let readAt = state.readAt, now() - readAt < maxAge { return nil }
            let task = state.underWay ?? Task { await self.readNow() }
            state.underWay = task
            return task
        }
        guard let task else { return }
        await waitAtMost(Self.patience) { await task.value }
    }

    private func readNow() async {
        do {
            let figures = try await read()
            state.withLock { state in
                state.figures = figures
                state.readAt = now()
                state.underWay = nil
            }
        } catch {
            log.warning("the figures for metrics cannot be read", ["error": "\(error)"])
            state.withLock { $0.underWay = nil }
        }
    }
}
