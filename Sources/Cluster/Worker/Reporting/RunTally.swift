import API
import Model
import Synchronization

/// Counts this worker's work for each run of a catalog, for heartbeats. Safe from any thread.
final class RunTally: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Run {
        var work: RunWork
        let since: Instant
        var usedAt: Instant
        /// Parts that a coordinator has received: fetches, and seconds of connections.
        var reported = (fetches: 0, seconds: 0.0)

        var hasUnreportedWork: Bool {
            work.fetches > reported.fetches || work.connectionSeconds > reported.seconds
        }
    }

    private let connections: Int
    private let runs = Mutex<[RunID: Run]>([:])

    /// Maximum number of runs to remember.
    private static let maxRuns = 1_000

    init(connections: Int) { self.connections = connections }

    /// Records that jobs of these runs were granted.
    func began(_ ids: Set<RunID>, now: Instant = .now) {
        runs.withLock { runs in
            for id in ids {
                runs[id, default: run(id, now)].usedAt = now
            }
            guard runs.count > Self.maxRuns else { return }
            let oldest = runs.filter { !$0.value.hasUnreportedWork }.sorted {
                $0.value.usedAt < $1.value.usedAt
            }
            for (id, _) in oldest.prefix(runs.count - Self.maxRuns) { runs[id] = nil }
        }
    }

    /// Counts a transfer that left its connection, after so many seconds.
    func used(_ id: RunID, seconds: Double, now: Instant = .now) {
        runs.withLock { $0[id, default: run(id, now)].work.connectionSeconds += seconds }
    }

    /// Counts a successful fetch, besides its use of a connection.
    func ended(_ id: RunID, seconds: Double, now: Instant = .now) {
        runs.withLock { $0[id, default: run(id, now)].work.add(seconds: seconds) }
    }

    private func run(_ id: RunID, _ now: Instant) -> Run {
        Run(work: RunWork(run: id, connections: connections), since: now, usedAt: now)
    }

    /// Number of remembered runs.
    var count: Int { runs.withLock { $0.count } }

    /// Returns the counts to report: those of runs with transfers since the last report.
    func unreported(now: Instant = .now) -> [RunWork] {
        runs.withLock { runs in
            runs.values.lazy.filter(\.hasUnreportedWork).prefix(WireLimits.runsPerHeartbeat).map {
                run in
                var work = run.work
                work.ageSeconds = run.since.duration(to: now) / .seconds(1)
                return work
            }
        }
    }

    /// Records that a coordinator received a report.
    func reported(_ works: [RunWork]) {
        runs.withLock { runs in
            for work in works {
                runs[work.run]?.reported = (work.fetches, work.connectionSeconds)
            }
        }
    }
}
