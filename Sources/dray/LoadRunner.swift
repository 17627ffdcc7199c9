import EventLoop
import LoadEngine
import LoadTest
import Model
import Synchronization

/// Runs a scenario once, here or on the workers of a cluster.
protocol LoadRunner: Sendable {
    /// Runs to the end, or until `stop`.
    ///
    /// - Parameters:
    ///   - workers: how many workers take part; nil for all that are wanted.
    ///   - onInterval: gets the sum of all shares, second by second; must not wait.
    func run(
        _ scenario: LoadScenario, workers: Int?,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd

    /// Ends what runs at once; nothing more is begun after it. From any thread.
    func stop(_ ending: LoadResult.Ending)
}

/// How a run ended.
struct LoadRunEnd: Sendable {
    var ending: LoadResult.Ending
    var breakdown: LoadBreakdown
    var shares: [LoadShareReport]
    /// Of `shares`, by index: whose part of `breakdown` is not there.
    var sharesWithoutBreakdown: [Int] = []
    /// Why it could not be followed to its end.
    var failure: Failure?
    /// From the start until the last request ended.
    var elapsedSeconds: Double
    /// That the generators had.
    var cores: Int
}

/// Runs a scenario in this process.
final class LocalLoadRunner: LoadRunner {
    private enum State {
        case idle
        case running(LoadEngine)
        case stopped(LoadResult.Ending)
    }

    private let plan: LoadPlan
    private let options: LoadEngine.Options
    private let state = Mutex(State.idle)

    init(plan: LoadPlan, options: LoadEngine.Options) {
        self.plan = plan
        self.options = options
    }

    func run(
        _ scenario: LoadScenario, workers: Int?,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        var options = options
        options.threads = workers ?? options.threads
        let engine = try LoadEngine(plan: plan, scenario: scenario, options: options)
        let stopped = state.withLock { state -> LoadResult.Ending? in
            if case .stopped(let ending) = state { return ending }
            state = .running(engine)
            return nil
        }
        if let stopped { engine.stop(stopped) }
        defer { state.withLock { if case .running = $0 { $0 = .idle } } }
        let generator = ThisMachine.Generator()
        let isLimited = generator.limits(threads: engine.threads)
        let begun = MonotonicClock.nowNanoseconds
        do throws(Failure) {
            let outcome = try await engine.run(startNanoseconds: begun) { interval in
                var interval = interval
                if isLimited { interval.machines = generator.use(interval.counts.cpuSeconds) }
                onInterval(interval)
            }
            return LoadRunEnd(
                ending: outcome.ending, breakdown: outcome.breakdown, shares: [],
                elapsedSeconds: outcome.elapsedSeconds, cores: engine.threads)
        } catch {
            // What was measured until then is told all the same.
            var end = LoadRunEnd(
                ending: .interrupted, breakdown: LoadBreakdown(), shares: [],
                elapsedSeconds: Double(MonotonicClock.nowNanoseconds - begun) / 1e9,
                cores: engine.threads)
            end.failure = error
            return end
        }
    }

    func stop(_ ending: LoadResult.Ending) {
        let engine = state.withLock { state -> LoadEngine? in
            guard case .running(let engine) = state else {
                state = .stopped(ending)
                return nil
            }
            // A threshold ends the run it broke in, a signal all that are to come as well.
            if ending == .interrupted { state = .stopped(ending) }
            return engine
        }
        engine?.stop(ending)
    }
}
