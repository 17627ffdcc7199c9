import Foundation
import LoadTest
import Model
import Planner
import Runtime
import Synchronization

/// Runs a load test, once or with one load after another.
final class LoadTestSession: Sendable {
    /// How often, and with what load, the scenario is run.
    enum Course: Sendable, Equatable {
        case once
        /// From the scenario's own load on, a step of so many seconds for each load.
        case search(stepSeconds: Double, most: Double)
        /// With so many workers, each with the scenario's users.
        case scale([Int])
    }

    /// What came of it.
    struct Outcome: Sendable {
        /// Of the one run; of a search the highest load that held, of a scale the last step.
        var result: LoadResult
        var ladder: LoadLadder?

        var exitCode: ExitCode {
            if result.ending == .interrupted { return .interrupted }
            if let ladder, ladder.kind == .search {
                return ladder.highest == nil ? .thresholdBroken : .success
            }
            return result.broken.isEmpty && result.ending != .aborted ? .success : .thresholdBroken
        }
    }

    /// Told of each second that is over, with all that counts up to then. From any thread; must not wait.
    typealias Follower = @Sendable (_ interval: LoadInterval, _ result: LoadResult) -> Void

    private let scenario: LoadScenario
    private let course: Course
    private let runner: any LoadRunner
    private let onStep: @Sendable (_ step: String?, LoadScenario) -> Void
    private let follower: Follower
    private let found = Mutex<Outcome?>(nil)

    init(
        _ scenario: LoadScenario, _ course: Course, _ runner: any LoadRunner,
        onStep: @escaping @Sendable (_ step: String?, LoadScenario) -> Void,
        follower: @escaping Follower
    ) {
        self.scenario = scenario
        self.course = course
        self.runner = runner
        self.onStep = onStep
        self.follower = follower
    }

    /// Nil before the end.
    var outcome: Outcome? { found.withLock { $0 } }

    /// Runs to the end; a cancelled one ends at once, and has what was measured until then.
    func run() async throws {
        let outcome = try await withTaskCancellationHandler {
            switch course {
            case .once: Outcome(result: try await step(scenario, workers: nil, name: nil))
            case .search(let seconds, let most): try await search(seconds, most)
            case .scale(let workers): try await scale(workers)
            }
        } onCancel: {
            runner.stop(.interrupted)
        }
        found.withLock { $0 = outcome }
    }

    // MARK: Courses

    private func search(_ seconds: Double, _ most: Double) async throws -> Outcome {
        let isOpen = scenario.model != .closed
        var ladder = LoadLadder(kind: .search, unit: isOpen ? .arrivalsPerSecond : .users)
        let first = scenario.stages.map { max($0.from, $0.to) }.max() ?? 1
        var search = LoadSearch(first: first, most: max(most, first), isWhole: !isOpen)
        while let level = search.next {
            let one = scenario.held(at: level, seconds: seconds)
            let figure = HumanFormat.fixed(level, places: level < 10 ? 1 : 0)
            let text = figure + (isOpen ? "/s" : " users")
            let result = try await step(one, workers: nil, name: text)
            ladder.steps.append(LoadLadder.Step(level: level, result: result))
            guard result.ending != .interrupted else { break }
            search.record(holds: result.broken.isEmpty && result.ending != .aborted)
        }
        ladder.highest = search.highest
        ladder.lowestBroken = search.lowestBroken
        let best = ladder.steps.last { $0.level == search.highest } ?? ladder.steps.last
        var result = best?.result ?? LoadResult()
        if ladder.steps.last?.result.ending == .interrupted { result.ending = .interrupted }
        return Outcome(result: result, ladder: ladder)
    }

    private func scale(_ workers: [Int]) async throws -> Outcome {
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        for count in workers {
            let result = try await step(
                scenario.multiplied(by: Double(count)), workers: count,
                name: "\(count) worker\(count == 1 ? "" : "s")")
            ladder.steps.append(LoadLadder.Step(level: Double(count), result: result))
            if result.ending == .interrupted { break }
        }
        let points = ladder.steps.compactMap { step -> (n: Double, x: Double)? in
            let rate = LoadFigure.requestRate.value(
                in: step.result.total, measuredSeconds: step.result.measuredSeconds)
            return rate.flatMap { $0 > 0 ? (n: step.level, x: $0) : nil }
        }
        ladder.fit = try? Scalability.fit(points)
        return Outcome(result: ladder.steps.last?.result ?? LoadResult(), ladder: ladder)
    }

    // MARK: One run

    private func step(
        _ scenario: LoadScenario, workers: Int?, name: String?
    ) async throws -> LoadResult {
        onStep(name, scenario)
        let recorder = Mutex(LoadRecorder())
        recorder.withLock {
            $0.update {
                $0.name = scenario.name
                $0.scenario = scenario
                $0.startedSeconds = Date().timeIntervalSince1970
                $0.warmUpSeconds = scenario.warmUpSeconds
            }
        }
        let end = try await runner.run(scenario, workers: workers) { [self] interval in
            let result = recorder.withLock { recorder -> LoadResult in
                _ = recorder.add(interval, of: 1)
                return recorder.totals
            }
            abort(interval, result, scenario)
            follower(interval, result)
        }
        return recorder.withLock { recorder in
            recorder.update { finish(&$0, end, scenario) }
            return recorder.result
        }
    }

    private func finish(_ result: inout LoadResult, _ end: LoadRunEnd, _ scenario: LoadScenario) {
        result.ending = end.ending
        result.breakdown = end.breakdown
        result.shares = end.shares
        result.cores = end.cores
        result.measuredSeconds = scenario.measuredSeconds(atSeconds: end.elapsedSeconds)
        result.verdicts = scenario.thresholds.map {
            $0.judge(result.total, measuredSeconds: result.measuredSeconds)
        }
    }

    /// Ends a run in which a threshold is broken that is to end it.
    private func abort(_ interval: LoadInterval, _ result: LoadResult, _ scenario: LoadScenario) {
        let measured = scenario.measuredSeconds(atSeconds: Double(interval.second + 1))
        let isBroken = scenario.thresholds.contains { threshold in
            guard let seconds = threshold.abortAfterSeconds, measured >= seconds, measured > 0
            else { return false }
            return !threshold.judge(result.total, measuredSeconds: measured).holds
        }
        if isBroken { runner.stop(.aborted) }
    }
}

extension LoadScenario {
    /// The same at one load for so long, with a fifth of it, two seconds at most, to settle.
    func held(at level: Double, seconds: Double) -> LoadScenario {
        var scenario = self
        scenario.stages = [LoadStage(seconds: seconds, from: level, to: level)]
        scenario.warmUpSeconds = min(2, (seconds / 5).rounded(.down))
        scenario.raiseConcurrencyToUsers()
        return scenario
    }

    /// The same with so many times the users and places.
    func multiplied(by factor: Double) -> LoadScenario {
        var scenario = self
        scenario.stages = stages.map {
            LoadStage(seconds: $0.seconds, from: $0.from * factor, to: $0.to * factor)
        }
        scenario.raiseConcurrencyToUsers()
        return scenario
    }
}
