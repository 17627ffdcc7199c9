import CoordinatorClient
import Foundation
import LoadTest
import Model
import Runtime
import Synchronization

/// Runs a scenario on the workers of a cluster, and follows it from here.
final class ClusterLoadRunner: LoadRunner {
    struct Options: Sendable {
        /// Whose workers; nil for any of the cluster.
        var queue: String?
        /// How many; nil for all that are ready when the wait is over.
        var workers: Int?
        /// Fewer will do, but not fewer than these; nil for `workers`.
        var atLeast: Int?
        /// How long workers are waited for.
        var waitSeconds = 60.0
    }

    private enum State {
        case idle
        case running(LoadTestID)
        case stopped(LoadResult.Ending)
    }

    /// How long a coordinator may be away before the test is given up; it is stopped soon after that.
    private static let retrySeconds = 15.0

    private let client: CoordinatorClient
    private let options: Options
    private let onStatus: @Sendable (LoadTestStatus) -> Void
    private let state = Mutex(State.idle)
    /// Of the test that runs, why it was stopped from here.
    private let asked = Mutex<LoadResult.Ending?>(nil)

    /// - Parameter onStatus: told what becomes of the test and its shares, some times a second.
    init(
        client: CoordinatorClient, _ options: Options,
        onStatus: @escaping @Sendable (LoadTestStatus) -> Void
    ) {
        self.client = client
        self.options = options
        self.onStatus = onStatus
    }

    func run(
        _ scenario: LoadScenario, workers: Int?,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        let wanted = workers ?? options.workers
        let test = LoadTestSubmission(
            id: UUID().uuidString.lowercased(), name: Self.name(of: scenario),
            queue: options.queue, scenario: try LoadScenarioWriter.write(scenario),
            workers: wanted,
            // A step of a ladder has all of its workers, or none.
            atLeast: workers ?? options.atLeast ?? wanted ?? 1, waitSeconds: options.waitSeconds,
            durationSeconds: min(
                scenario.durationSeconds + max(scenario.http.timeoutSeconds - 60, 0),
                WireLimits.loadSeconds.upperBound))
        // Not cancelled with whoever waits for it: the test is stopped, and what it measured is told.
        let following = Task { try await self.follow(test, onInterval) }
        return try await withTaskCancellationHandler {
            try await following.value
        } onCancel: {
            stop(.interrupted)
        }
    }

    func stop(_ ending: LoadResult.Ending) {
        let running = state.withLock { state -> LoadTestID? in
            guard case .running(let id) = state else {
                state = .stopped(ending)
                return nil
            }
            if ending == .interrupted { state = .stopped(ending) }
            return id
        }
        guard let running else { return }
        asked.withLock { $0 = $0 ?? ending }
        Task {
            // Where no coordinator hears it, the test ends because nobody follows it.
            try? await client.stopLoadTest(running, retrySeconds: Self.retrySeconds)
        }
    }

    private static func name(of scenario: LoadScenario) -> String {
        let name = scenario.name.isEmpty ? scenario.targets.first?.name ?? "" : scenario.name
        let text = printable(String(name.prefix(200)))
        return text.isEmpty ? "load test" : String(text.unicodeScalars.prefix(200))
    }

    // MARK: Following

    private func follow(
        _ test: LoadTestSubmission, _ onInterval: @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        asked.withLock { $0 = nil }
        let isStopped = state.withLock { state in
            if case .stopped = state { return true }
            state = .running(test.id)
            return false
        }
        if isStopped { return Self.nothing(.interrupted) }
        defer {
            state.withLock { if case .running = $0 { $0 = .idle } }
        }
        onStatus(try await client.create(test, retrySeconds: Self.retrySeconds))
        // One that came before the test was there has stopped nothing.
        if asked.withLock({ $0 }) != nil {
            try await client.stopLoadTest(test.id, retrySeconds: Self.retrySeconds)
        }
        var merge = ClusterLoadMerge()
        var known: LoadTestState?
        var seconds = 0
        while true {
            let news = try await client.follow(
                test.id,
                LoadTestFollow(after: merge.after, waitMilliseconds: 1_000, known: known),
                retrySeconds: Self.retrySeconds)
            known = news.test.state
            for interval in try merge.take(news) {
                seconds = max(seconds, interval.second + 1)
                onInterval(interval)
            }
            onStatus(news.test)
            if news.test.state == .ended, !news.hasMore {
                return try await end(news.test, merge, seconds)
            }
        }
    }

    private func end(
        _ test: LoadTestStatus, _ merge: ClusterLoadMerge, _ seconds: Int
    ) async throws -> LoadRunEnd {
        let asked = asked.withLock { $0 }
        guard test.started != nil else {
            if let failure = test.failure { throw failure }
            return Self.nothing(asked ?? .interrupted)
        }
        var end = LoadRunEnd(
            ending: asked ?? (test.failure == nil ? .finished : .interrupted),
            breakdown: LoadBreakdown(), shares: merge.reports, elapsedSeconds: 0,
            cores: test.shares.reduce(0) { $0 + ($1.number == nil ? 0 : $1.cores) })
        for report in merge.reports {
            let text = try await client.loadBreakdown(
                of: test.id, share: report.index, retrySeconds: Self.retrySeconds
            ).data
            guard let share = try text.map(Self.shareEnd) else {
                // Lost: until when it went on, nobody knows.
                end.elapsedSeconds = max(end.elapsedSeconds, Double(seconds))
                continue
            }
            end.breakdown.add(share.breakdown)
            end.elapsedSeconds = max(end.elapsedSeconds, share.elapsedSeconds)
            if end.ending == .finished { end.ending = share.ending }
        }
        return end
    }

    private static func shareEnd(_ text: String) throws(Failure) -> LoadShareEnd {
        do {
            return try JSONDecoder().decode(LoadShareEnd.self, from: Data(text.utf8))
        } catch {
            throw Failure("cluster.protocol", "What a share measured cannot be read: \(error)")
        }
    }

    private static func nothing(_ ending: LoadResult.Ending) -> LoadRunEnd {
        LoadRunEnd(
            ending: ending, breakdown: LoadBreakdown(), shares: [], elapsedSeconds: 0, cores: 0)
    }
}
