import API
import CoordinatorClient
import Foundation
package import LoadModel
import Model
import Synchronization
import Text

/// Runs a scenario on the workers of a cluster, and follows it.
package final class ClusterLoadRunner: LoadRunner {
    package struct Options: Sendable {
        /// Queue of the workers; nil for any.
        package var queue: String?
        /// Number of workers; nil for all that are ready after the wait.
        package var workers: Int?
        /// Minimum number of workers; nil for `workers`.
        package var atLeast: Int?
        /// True for steps of --search and --scale, whose load does not change.
        package var isInSteps = false
        /// Seconds to wait for workers.
        package var waitSeconds = 60.0
        /// Seconds for which requests about a running test are retried if no coordinator answers.
        /// Workers keep their results for as long.
        var patienceSeconds = 60.0

        package init() {}
    }

    private struct State {
        enum Phase {
            case idle
            case running(LoadTestID)
            case stopped(LoadResult.Ending)
        }

        var phase = Phase.idle
        /// The reason for which this process stopped the running test.
        var asked: LoadResult.Ending?
    }

    /// Seconds of retries before a test runs, or while it stops.
    private static let retrySeconds = 15.0

    private let client: CoordinatorClient
    private let options: Options
    private let data: LoadParts?
    private let onStatus: @Sendable (LoadTestStatus) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - data: viewers' data or a replay, which each test gets; nil for other scenarios.
    ///   - onStatus: called with the state of the test and its shards, several times per second.
    init(
        client: CoordinatorClient, _ options: Options, _ data: LoadParts? = nil,
        onStatus: @escaping @Sendable (LoadTestStatus) -> Void
    ) {
        self.client = client
        self.options = options
        self.data = data
        self.onStatus = onStatus
    }

    package func run(
        _ scenario: LoadScenario, workers: Int?,
        onChange: @escaping @Sendable (LoadChange) -> Void,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        let wanted = workers ?? options.workers
        let test = LoadTestSubmission(
            id: .random(), name: Self.name(of: scenario),
            queue: options.queue, scenario: try LoadScenarioWriter.write(scenario),
            workers: wanted,
            // A step of a test in steps has all of its workers, or none.
            atLeast: workers ?? options.atLeast ?? wanted ?? 1, waitSeconds: options.waitSeconds,
            durationSeconds: min(
                scenario.durationSeconds + max(scenario.http.timeoutSeconds - 60, 0),
                WireLimits.loadSeconds.upperBound), parts: data?.texts.count,
            urls: data?.urlBlocks, range: options.isInSteps ? nil : Self.range(of: scenario))
        let report = Report(onChange: onChange, onInterval: onInterval)
        // Not cancelled with its caller: the test is stopped, and its results are reported.
        let following = Task { try await self.follow(test, scenario, report) }
        return try await withTaskCancellationHandler {
            try await following.value
        } onCancel: {
            stop(.interrupted)
        }
    }

    package func stop(_ ending: LoadResult.Ending) {
        let running = state.withLock { state -> LoadTestID? in
            guard case .running(let id) = state.phase else {
                state.phase = .stopped(ending)
                return nil
            }
            if ending == .interrupted { state.phase = .stopped(ending) }
            state.asked = state.asked ?? ending
            return id
        }
        guard let running else { return }
        Task {
            // If no coordinator answers, the test ends because it has no follower.
            try? await client.stopLoadTest(running, retrySeconds: Self.retrySeconds)
        }
    }

    /// Asks a coordinator, which rejects what it cannot change. The change is reported with the first
    /// second in which it holds.
    package func change(to level: Double) async throws {
        guard case .running(let id) = state.withLock({ $0.phase }) else {
            throw Failure.loadNotRunning
        }
        _ = try await client.changeLoad(of: id, to: level, retrySeconds: Self.shortSeconds)
    }

    private var asked: LoadResult.Ending? { state.withLock { $0.asked } }

    private static func range(of scenario: LoadScenario) -> LoadRange? {
        guard var range = scenario.range else { return nil }
        range.seconds = min(range.seconds, WireLimits.loadSeconds.upperBound)
        return range
    }

    private static func name(of scenario: LoadScenario) -> String {
        let name = scenario.name.isEmpty ? scenario.targets.first?.name ?? "" : scenario.name
        let text = printable(String(name.prefix(200)))
        return text.isEmpty ? "load test" : String(text.unicodeScalars.prefix(200))
    }

    // MARK: Following

    /// Receives what happens in a run.
    private struct Report: Sendable {
        var onChange: @Sendable (LoadChange) -> Void
        var onInterval: @Sendable (LoadInterval) -> Void
    }

    private func follow(
        _ test: LoadTestSubmission, _ scenario: LoadScenario, _ report: Report
    ) async throws -> LoadRunEnd {
        let isStopped = state.withLock { state in
            state.asked = nil
            if case .stopped = state.phase { return true }
            state.phase = .running(test.id)
            return false
        }
        if isStopped { return Self.nothing(.interrupted) }
        defer {
            state.withLock { if case .running = $0.phase { $0.phase = .idle } }
        }
        onStatus(try await client.create(test, retrySeconds: Self.retrySeconds))
        // A stop before the test was created had no effect.
        if asked != nil {
            try await client.stopLoadTest(test.id, retrySeconds: Self.retrySeconds)
        }
        var progress = Progress(merge: ClusterLoadMerge(scenario))
        do {
            if let data { try await send(data, to: test.id) }
            while true {
                let update = try await update(of: test.id, progress)
                progress.latest = update.test
                progress.changes += (update.changes ?? []).map {
                    LoadChange(seconds: $0.seconds, level: $0.level)
                }
                for interval in try progress.merge.take(update) {
                    progress.report(interval, report)
                }
                onStatus(update.test)
                if update.test.state == .ended, !update.hasMore {
                    return try await end(update.test, progress)
                }
            }
        } catch let failure as Failure {
            // Results so far are kept, even if more are missing.
            for interval in progress.merge.takeRest() { progress.report(interval, report) }
            // A coordinator that answers should stop the test now, since no client follows it any
            // more.
            if !failure.code.isOfUnavailableCluster {
                _ = try? await client.stopLoadTest(test.id, retrySeconds: Self.shortSeconds)
            }
            guard progress.seconds > 0 else { throw failure }
            return givenUp(progress, failure)
        }
    }

    /// Bytes of parts in one request, which a slow connection sends in time.
    private static let requestBytes = 1 << 20

    /// Sends a test's data in requests of some parts each, until it is stopped or waits no more.
    private func send(_ data: LoadParts, to id: LoadTestID) async throws(Failure) {
        var next = 0
        while next < data.texts.count, asked == nil {
            var parts: [LoadTestData.Part] = []
            var bytes = 0
            while next < data.texts.count {
                bytes += data.texts[next].utf8.count
                guard bytes <= Self.requestBytes || parts.isEmpty else { break }
                parts.append(LoadTestData.Part(number: next, data: data.texts[next]))
                next += 1
            }
            let answer = try await client.add(
                LoadTestData(parts: parts), to: id, retrySeconds: Self.retrySeconds)
            guard answer.state == .waiting else { return }
        }
    }

    /// The progress of a followed test.
    private struct Progress {
        var merge: ClusterLoadMerge
        var latest: LoadTestStatus?
        /// Number of reported seconds.
        var seconds = 0
        /// Changes of the load of later seconds. One of a test that ends before has no effect.
        var changes: [LoadChange] = []

        mutating func report(_ interval: LoadInterval, _ report: Report) {
            seconds = max(seconds, interval.second + 1)
            while let change = changes.first, change.seconds < Double(seconds) {
                report.onChange(change)
                changes.removeFirst()
            }
            report.onInterval(interval)
        }
    }

    /// Requests the test's changes; retries for as long as a coordinator may be unavailable.
    private func update(of id: LoadTestID, _ progress: Progress) async throws -> LoadTestUpdate {
        let follow = LoadTestFollow(
            after: progress.merge.after, waitMilliseconds: 1_000, known: progress.latest?.state,
            changes: progress.merge.changes)
        let begun = ContinuousClock.now
        while true {
            do throws(Failure) {
                return try await client.follow(id, follow, retrySeconds: Self.shortSeconds)
            } catch {
                guard error.code.isOfUnavailableCluster else { throw error }
                let isOver = asked != nil
                let patience =
                    isOver
                    ? min(Self.retrySeconds, options.patienceSeconds)
                    : options.patienceSeconds
                guard ContinuousClock.now - begun < .seconds(patience) else { throw error }
            }
        }
    }

    /// Seconds of retries between two checks for a stop.
    private static let shortSeconds = 1.0

    /// Returns the results of a test that cannot be followed to its end.
    private func givenUp(_ progress: Progress, _ failure: Failure) -> LoadRunEnd {
        let asked = self.asked
        var end = LoadRunEnd(
            ending: asked ?? .interrupted, breakdown: LoadBreakdown(),
            shards: progress.merge.reports, loadSeconds: Double(progress.seconds),
            cores: progress.latest?.loadCores ?? 0)
        end.shardsWithoutBreakdown = end.shards.map(\.index)
        end.failure = failure
        return end
    }

    private func end(_ test: LoadTestStatus, _ progress: Progress) async throws -> LoadRunEnd {
        let asked = self.asked
        guard test.started != nil else {
            if let failure = test.failure { throw failure }
            return Self.nothing(asked ?? .interrupted)
        }
        let reports = progress.merge.reports
        var end = LoadRunEnd(
            ending: asked ?? (test.failure == nil ? .finished : .interrupted),
            breakdown: LoadBreakdown(), shards: reports, loadSeconds: 0, cores: test.loadCores)
        end.failure = asked == nil ? test.failure : nil
        var isThere = true
        for report in reports {
            guard isThere, let shard = await shardEnd(report.index, of: test.id, &isThere) else {
                // The time at which it ended is unknown.
                end.loadSeconds = max(end.loadSeconds, Double(progress.seconds))
                end.shardsWithoutBreakdown.append(report.index)
                continue
            }
            end.breakdown.add(shard.breakdown)
            end.loadSeconds = max(end.loadSeconds, shard.loadSeconds)
            // A failed shard ended only itself.
            if end.ending == .finished, report.state == .finished { end.ending = shard.ending }
        }
        return end
    }

    /// Returns the end of a shard; nil if it reported none. Sets `isThere` to false if no
    /// coordinator answers.
    private func shardEnd(
        _ index: Int, of id: LoadTestID, _ isThere: inout Bool
    ) async -> LoadShardEnd? {
        do throws(Failure) {
            let text = try await client.loadBreakdown(
                of: id, shard: index, retrySeconds: min(Self.retrySeconds, options.patienceSeconds)
            ).data
            guard let text else { return nil }
            return try Self.shardEnd(text)
        } catch {
            isThere = !error.code.isOfUnavailableCluster
            return nil
        }
    }

    private static func shardEnd(_ text: String) throws(Failure) -> LoadShardEnd {
        do {
            return try JSONDecoder().decode(LoadShardEnd.self, from: Data(text.utf8))
        } catch {
            throw Failure(.clusterProtocol, "The results of a shard cannot be read: \(error)")
        }
    }

    private static func nothing(_ ending: LoadResult.Ending) -> LoadRunEnd {
        LoadRunEnd(
            ending: ending, breakdown: LoadBreakdown(), shards: [], loadSeconds: 0, cores: 0)
    }
}

extension LoadTestStatus {
    /// Number of cores of all workers in the test.
    fileprivate var loadCores: Int {
        shards.reduce(0) { $0 + ($1.number == nil ? 0 : $1.cores) }
    }
}
