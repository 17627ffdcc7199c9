package import CommandLine
import Foundation
package import LoadModel
import LoadReport
package import Model
import Rendering
import Statistics
import Synchronization
import Text

/// Runs a load test, once or in steps of different loads.
package final class LoadTestSession: Sendable {
    /// The mode of a test: how often, and with which loads, the scenario runs.
    package enum Mode: Sendable, Equatable {
        case once
        /// One step of `stepSeconds` per load, from the scenario's own load up. `seconds` limits
        /// the time of all steps; nil for no limit. A step that would exceed it does not start.
        case search(stepSeconds: Double, most: Double, seconds: Double? = nil)
        /// One step per number of workers, each worker with the scenario's users.
        case scale([Int])
    }

    /// The result of the test.
    package struct Outcome: Sendable {
        /// The result of the run; the highest passed load of a search, the last step of a scale.
        package var result: LoadResult
        package var ladder: LoadLadder?
        /// The failure that ended the test early; earlier results are reported.
        package var failure: Failure?

        /// The exit code of the results; the caller must handle `failure`.
        package var exitCode: ExitCode {
            if result.ending == .interrupted { return .interrupted }
            if let ladder, ladder.kind == .search {
                if ladder.highest != nil { return .success }
                // Otherwise the load was never fully sent.
                return ladder.steps.contains { $0.limit == .threshold || $0.limit == .fellBehind }
                    ? .thresholdBroken : .noCluster
            }
            let results = ladder?.steps.map(\.result) ?? [result]
            guard results.allSatisfy({ $0.broken.isEmpty && $0.ending != .aborted }) else {
                return .thresholdBroken
            }
            return results.allSatisfy(\.isWhole) ? .success : .noCluster
        }
    }

    /// A run of one load.
    private struct Step {
        var result: LoadResult
        var failure: Failure?
    }

    private struct State {
        /// The results of the run so far; nil while nothing runs.
        var recorder: LoadRecorder?
        /// Nil before the end.
        var outcome: Outcome?
    }

    /// Receives each complete second, with the totals up to then. From any thread; must not block.
    typealias Follower = @Sendable (_ interval: LoadInterval, _ result: LoadResult) -> Void

    let scenario: LoadScenario
    private let mode: Mode
    private let runner: any LoadRunner
    private let onStep: @Sendable (_ step: String?, LoadScenario) -> Void
    private let follower: Follower
    private let state = Mutex(State())
    private let onChange: @Sendable (LoadScenario) -> Void
    /// Waits before a further try of a load.
    let pause: LoadTestService.Pause

    init(
        _ scenario: LoadScenario, _ mode: Mode, _ runner: any LoadRunner,
        onStep: @escaping @Sendable (_ step: String?, LoadScenario) -> Void,
        follower: @escaping Follower,
        onChange: @escaping @Sendable (LoadScenario) -> Void = { _ in },
        pause: @escaping LoadTestService.Pause
    ) {
        self.scenario = scenario
        self.mode = mode
        self.runner = runner
        self.onStep = onStep
        self.follower = follower
        self.onChange = onChange
        self.pause = pause
    }

    /// The outcome; nil before the end.
    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// Runs to the end. A cancelled test ends at once, with its results so far.
    func run() async throws {
        let outcome = try await withTaskCancellationHandler {
            switch mode {
            case .once: try await once()
            case .search(let step, let most, let seconds):
                try await search(step, most, seconds ?? .infinity)
            case .scale(let workers): try await scale(workers)
            }
        } onCancel: {
            runner.stop(.interrupted)
        }
        state.withLock { $0.outcome = outcome }
    }

    // MARK: Modes

    private func once() async throws -> Outcome {
        let step = try await step(scenario, workers: nil, name: nil)
        return Outcome(result: step.result, failure: step.failure)
    }

    private func scale(_ workers: [Int]) async throws -> Outcome {
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        var caps: LoadCaps? = scenario.caps
        var failure: Failure?
        for count in workers {
            guard let left = caps else {
                ladder.cap = .requests
                break
            }
            var one = scenario.multiplied(by: Double(count))
            (one.caps.requests, one.caps.bytes) = (left.requests, left.bytes)
            let name = "\(count) worker\(count == 1 ? "" : "s")"
            let result = try await take(one, count, name, Double(count), &ladder, &failure)
            // A broken threshold that aborts one step also ends the steps with more load.
            guard let result, result.ending != .interrupted, result.ending != .aborted else {
                break
            }
            caps = left.left(after: result)
        }
        let points = ladder.steps.compactMap { step -> (n: Double, x: Double)? in
            let rate = LoadFigure.requestRate.value(
                in: step.result.total, measuredSeconds: step.result.measuredSeconds)
            return rate.flatMap { $0 > 0 ? (n: step.level, x: $0) : nil }
        }
        ladder.fit = try? Scalability.fit(points)
        var last = ladder.steps.last?.result ?? LoadResult()
        if let shared = ladder.sharedCores {
            last.notes.append(
                "Steps \(shared): they show what these can do, not more workers, and no plan is "
                    + "calibrated with them.")
        }
        return outcome(ladder, last, failure)
    }

    /// Runs one load and adds it to the steps; returns nil if it failed. Throws if there is no step
    /// to report.
    func take(
        _ scenario: LoadScenario, _ workers: Int?, _ name: String, _ level: Double,
        _ ladder: inout LoadLadder, _ failure: inout Failure?
    ) async throws -> LoadResult? {
        do {
            let step = try await step(scenario, workers: workers, name: name)
            failure = step.failure
            // The first step is kept even if it was cut short.
            guard step.failure == nil || ladder.steps.isEmpty else { return nil }
            var result = step.result
            if step.failure != nil { result.notes.removeAll() }
            ladder.steps.append(LoadLadder.Step(level: level, result: result))
            return step.failure == nil ? result : nil
        } catch {
            guard !ladder.steps.isEmpty else { throw error }
            failure = error as? Failure ?? Failure(.workerInternal, "\(error)")
            return nil
        }
    }

    func outcome(
        _ ladder: LoadLadder, _ result: LoadResult, _ failure: Failure?
    ) -> Outcome {
        var result = result
        if ladder.steps.last?.result.ending == .interrupted
            || ladder.stop?.reason == .interrupted
        {
            result.ending = .interrupted
        }
        switch ladder.cap {
        case .requests:
            result.notes.append("It ended early: a limit of requests or bytes was reached.")
        case .seconds:
            result.notes.append("It ended early: its duration leaves no time for another step.")
        case nil: break
        }
        var failure = failure
        if failure?.code == .workerCancelled {
            result.ending = .interrupted
            failure = nil
        }
        if let failure {
            let count = ladder.steps.count
            result.notes.append(
                "It failed after \(HumanFormat.count(count, "load")): \(failure.code): "
                    + "\(printable(failure.message))")
        }
        return Outcome(result: result, ladder: ladder, failure: failure)
    }

    // MARK: One run

    private func step(
        _ scenario: LoadScenario, workers: Int?, name: String?
    ) async throws -> Step {
        onStep(name, scenario)
        state.withLock {
            var recorder = LoadRecorder()
            recorder.update {
                $0.name = scenario.name
                $0.scenario = scenario
                $0.startedSeconds = Date().timeIntervalSince1970
                $0.warmUpSeconds = scenario.warmUpSeconds
            }
            $0.recorder = recorder
        }
        defer { state.withLock { $0.recorder = nil } }
        let end = try await runner.run(scenario, workers: workers) { [self] change in
            record(change)
        } onInterval: { [self] interval in
            let result = state.withLock { state -> LoadResult in
                _ = state.recorder?.add(interval, of: 1)
                return state.recorder?.totals ?? LoadResult()
            }
            abort(interval, result, scenario)
            follower(interval, result)
        }
        return state.withLock { state in
            state.recorder?.update { finish(&$0, end, scenario) }
            return Step(result: state.recorder?.result ?? LoadResult(), failure: end.failure)
        }
    }

    /// Changes the load of a test that runs once, from now to its planned end.
    ///
    /// - Parameter level: arrivals per second, or users.
    ///
    /// Throws `input.field` for a level that is not allowed, `input.loadFixed` if the load cannot
    /// change or nothing runs, and what a cluster rejects.
    func change(to level: Double) async throws {
        guard let range = scenario.range else {
            throw Failure(
                .inputLoadFixed,
                "The load of a replay cannot change: it keeps the log's times (--speed-up).")
        }
        try range.check(level)
        guard mode == .once, state.withLock({ $0.recorder != nil }) else {
            throw Failure.loadNotRunning
        }
        try await runner.change(to: level)
    }

    /// Records a change in the results, for which the stages are those that were sent.
    private func record(_ change: LoadChange) {
        let changed = state.withLock { state -> LoadScenario? in
            state.recorder?.update {
                $0.scenario.stages = $0.scenario.stages.changed(by: change)
                let places = change.level == change.level.rounded() ? 0 : 1
                let level = HumanFormat.fixed(change.level, places: places)
                let unit = $0.scenario.model == .closed ? " users" : "/s"
                $0.notes.append(
                    "Its load was changed while it ran, to \(level)\(unit) after "
                        + "\(HumanFormat.fixed(change.seconds, places: 1)) s.")
                // A bounded number of notes; the stages have all changes.
                if $0.notes.count > Self.maxNotes { $0.notes.remove(at: 1) }
            }
            return state.recorder?.totals.scenario
        }
        if let changed { onChange(changed) }
    }

    private static let maxNotes = 20

    private func finish(_ result: inout LoadResult, _ end: LoadRunEnd, _ scenario: LoadScenario) {
        result.ending = end.ending
        result.breakdown = end.breakdown
        result.shards = end.shards
        result.shardsWithoutBreakdown = end.shardsWithoutBreakdown
        if let failure = end.failure {
            result.notes.append(
                "It could not be followed to its end: \(failure.code): \(printable(failure.message))"
            )
        }
        result.cores = end.cores
        result.measuredSeconds = scenario.measuredSeconds(atSeconds: end.loadSeconds)
        result.verdicts = scenario.judgedThresholds.map {
            $0.judge(
                result.total, measuredSeconds: result.measuredSeconds,
                breakdown: result.breakdown)
        }
    }

    /// Stops a run in which a threshold with an abort time is broken.
    private func abort(_ interval: LoadInterval, _ result: LoadResult, _ scenario: LoadScenario) {
        let measured = scenario.measuredSeconds(atSeconds: Double(interval.second + 1))
        let isBroken = scenario.thresholds.contains { threshold in
            guard let seconds = threshold.abortAfterSeconds, measured >= seconds, measured > 0
            else { return false }
            let verdict = threshold.judge(result.total, measuredSeconds: measured)
            // Without measurements there is nothing to judge.
            return verdict.measured != nil && !verdict.holds
        }
        if isBroken { runner.stop(.aborted) }
    }
}

extension LoadScenario {
    /// The highest rate, or number of users, of its stages.
    package var maxLevel: Double { stages.map { max($0.from, $0.to) }.max() ?? 1 }

    /// Returns the scenario at one constant load, with a fifth of the time, two seconds at most, as
    /// warm-up.
    func held(at level: Double, seconds: Double) -> LoadScenario {
        var scenario = self
        scenario.stages = [LoadStage(seconds: seconds, from: level, to: level)]
        scenario.warmUpSeconds = min(2, (seconds / 5).rounded(.down))
        scenario.allowConcurrencyForUsers()
        scenario.caps.durationSeconds = nil
        return scenario
    }

    /// Returns the scenario with its users and concurrency multiplied.
    func multiplied(by factor: Double) -> LoadScenario {
        var scenario = self
        scenario.stages = stages.map {
            LoadStage(seconds: $0.seconds, from: $0.from * factor, to: $0.to * factor)
        }
        scenario.allowConcurrencyForUsers()
        return scenario
    }

    /// Raises the concurrency to that of the step's users.
    private mutating func allowConcurrencyForUsers() {
        guard user == .requests else { return }
        http.concurrency = http.concurrency.map { max($0, concurrencyForUsers) }
    }
}
