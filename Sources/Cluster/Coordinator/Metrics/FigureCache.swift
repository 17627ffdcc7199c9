import EventLoop
import JobQueue
import Model
import Services
import Synchronization

/// The last figures of the cluster. While somebody scrapes them, they are read every few seconds,
/// so that a scrape does not wait for the database. Safe from any thread.
final class FigureCache: Service {
    typealias Instant = ContinuousClock.Instant

    private struct State {
        var figures: ClusterFigures?
        var readAt: Instant?
        var scrapedAt: Instant?
        var underWay: Task<Void, Never>?
    }

    let name = "figures"

    /// Age from which figures that cannot be read again count as unknown.
    static let lifetime = Duration.seconds(60)
    /// Time after the last scrape for which figures are read.
    static let interest = Duration.seconds(120)
    /// Maximum wait of a scrape for figures.
    private static let patience = Duration.seconds(2)

    /// Time between two reads.
    private let period: Duration
    private let now: @Sendable () -> Instant
    private let pause: @Sendable (Duration) async -> Void
    private let read: @Sendable () async throws -> ClusterFigures
    private let state = Mutex(State())
    private let scraped = WorkSignal()
    private let failures: BackgroundFailures
    private static let work = "read the figures for metrics"

    init(
        period: Duration, now: @escaping @Sendable () -> Instant = { .now },
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        failures: BackgroundFailures = BackgroundFailures(),
        _ read: @escaping @Sendable () async throws -> ClusterFigures
    ) {
        self.failures = failures
        self.period = period
        self.now = now
        self.pause = pause
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

    private var isWanted: Bool {
        state.withLock { $0.scrapedAt }.map { now() - $0 < Self.interest } ?? false
    }

    /// Notes a scrape. Reads the figures before it only if they are three periods old, as at the
    /// first scrape, and then waits for a bounded time.
    func prepare() async {
        let isOld = state.withLock { state in
            state.scrapedAt = now()
            return state.readAt.map { now() - $0 >= period * 3 } ?? true
        }
        scraped.fire()
        guard isOld else { return }
        // A read of a database that hangs continues; this request does not wait for it.
        _ = await result(atMost: Self.patience) { await self.refresh() }
    }

    /// Keeps the figures fresh while they are scraped, until the task is cancelled. Reads take a
    /// twentieth of the time at most.
    func run() async {
        while !Task.isCancelled {
            let version = scraped.version
            guard isWanted else {
                await scraped.wait(after: version, atMost: Self.interest)
                continue
            }
            let start = now()
            await refresh()
            await pause(max(period, .seconds(1), (now() - start) * 20))
        }
    }

    /// Reads the figures, once for all who ask meanwhile.
    private func refresh() async {
        let task = state.withLock { state in
            let task = state.underWay ?? Task { await self.readNow() }
            state.underWay = task
            return task
        }
        await task.value
    }

    private func readNow() async {
        let start = ContinuousClock.now
        do {
            let figures = try await read()
            failures.succeeded(Self.work, since: start)
            state.withLock { state in
                state.figures = figures
                state.readAt = now()
                state.underWay = nil
            }
        } catch {
            failures.failed(Self.work, error)
            state.withLock { $0.underWay = nil }
        }
    }
}
