import LoadModel
import Model
import Synchronization

@testable import Client

/// A load that a test makes up. Safe from any thread.
final class ScriptedRunner: LoadRunner {
    struct Answer: Sendable {
        var intervals: [LoadInterval]
        var ending: LoadResult.Ending
        var shards: [LoadShardReport] = []
        var shardsWithoutBreakdown: [Int] = []
        var failure: Failure?
        /// Changes of the load while it runs.
        var changes: [LoadChange] = []

        init(_ interval: LoadInterval, _ ending: LoadResult.Ending = .finished) {
            self.init([interval], ending)
        }

        init(_ intervals: [LoadInterval], _ ending: LoadResult.Ending = .finished) {
            self.intervals = intervals
            self.ending = ending
        }
    }

    private let answer: @Sendable (LoadScenario, Int?) throws -> Answer
    private let stopped = Mutex<[LoadResult.Ending]>([])

    init(_ answer: @escaping @Sendable (LoadScenario, Int?) throws -> Answer) {
        self.answer = answer
    }

    var stops: [LoadResult.Ending] { stopped.withLock { $0 } }

    func run(
        _ scenario: LoadScenario, workers: Int?,
        onChange: @escaping @Sendable (LoadChange) -> Void,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        let answer = try answer(scenario, workers)
        for change in answer.changes { onChange(change) }
        for interval in answer.intervals { onInterval(interval) }
        var end = LoadRunEnd(
            ending: answer.ending, breakdown: LoadBreakdown(), shards: answer.shards,
            loadSeconds: scenario.durationSeconds, cores: workers ?? 1)
        end.shardsWithoutBreakdown = answer.shardsWithoutBreakdown
        end.failure = answer.failure
        return end
    }

    func change(to level: Double) async throws {}

    func stop(_ ending: LoadResult.Ending) { stopped.withLock { $0.append(ending) } }
}

extension LoadScenario {
    /// Ten seconds of one load: so many requests a second, else users.
    static func scripted(
        rate: Double? = nil, users: Double = 1, threshold: String? = nil
    ) throws -> LoadScenario {
        var scenario = LoadScenario()
        scenario.model = rate == nil ? .closed : .open(.constant)
        let level = rate ?? users
        scenario.stages = [LoadStage(seconds: 10, from: level, to: level)]
        if let threshold { scenario.thresholds = [try LoadThreshold.parse(threshold)] }
        return scenario
    }
}
