import Metrics
import Synchronization

/// Records when chores of housekeeping succeeded, and counts their failures. Safe from any thread.
final class ChoreTimes: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var name: String
        var period: Duration
        var succeededAt: Instant
    }

    private let entries: Mutex<[Entry]>
    private let failures: BoundedSeries<Counter>?

    /// The chore that folds reports, which is run apart.
    static let folding = "fold reports"

    /// Declares metrics in a registry. Chores count as done at `now`.
    init(_ chores: [Chore], now: Instant = .now, in registry: MetricRegistry? = nil) {
        entries = Mutex(
            chores.map { Entry(name: $0.name, period: $0.period, succeededAt: now) }
                + [Entry(name: Self.folding, period: .seconds(1), succeededAt: now)])
        failures = registry?.counters(
            "dray_housekeeping_failures", ["chore"], maxSeries: 40, "Chores that failed.")
        registry?.gauges(
            "dray_housekeeping_lag_seconds", ["chore"], maxSeries: 40, overflow: .maximum,
            "Time for which a chore of this coordinator is overdue: it failed, or waits for others."
        ) { [weak self] in self?.samples() ?? [] }
    }

    func succeeded(_ name: String, now: Instant = .now) {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.name == name }) else { return }
            entries[index].succeededAt = now
        }
    }

    func failed(_ name: String) { failures?[name].add() }

    /// Returns seconds by name, the longest first. A chore is overdue one period after its end at
    /// the earliest; a tick of housekeeping more is usual.
    func lags(now: Instant = .now) -> [(name: String, seconds: Double)] {
        entries.withLock { $0 }.map { entry in
            let lag = now - entry.succeededAt - entry.period - Housekeeping.tick
            return (entry.name, max(lag / .seconds(1), 0))
        }.sorted { $0.1 > $1.1 }
    }

    private func samples() -> [MetricSample] {
        lags().map { MetricSample([$0.name], $0.seconds) }
    }
}
