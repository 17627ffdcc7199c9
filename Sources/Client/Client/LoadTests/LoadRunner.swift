import EventLoop
import LoadGenerator
package import LoadModel
import Model
import Synchronization

/// Runs a scenario once, here or on the workers of a cluster.
package protocol LoadRunner: Sendable {
    /// Runs to the end, or until `stop`.
    ///
    /// - Parameters:
    ///   - workers: number of workers; nil for all that the options allow.
    ///   - onChange: receives each change of the load, in order and before the seconds after it; must
    ///     not block.
    ///   - onInterval: receives the sum of all shards for each second; must not block.
    func run(
        _ scenario: LoadScenario, workers: Int?,
        onChange: @escaping @Sendable (LoadChange) -> Void,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd

    /// Ends the run at once and prevents further ones. From any thread.
    func stop(_ ending: LoadResult.Ending)

    /// Changes the load of the run, from now to its planned end; the run's `onChange` gets the change.
    /// Throws `input.loadFixed` if nothing runs. From any thread.
    func change(to level: Double) async throws
}

/// The end of a run.
package struct LoadRunEnd: Sendable {
    var ending: LoadResult.Ending
    var breakdown: LoadBreakdown
    var shards: [LoadShardReport]
    /// Indexes in `shards` of shards whose part of `breakdown` is missing.
    var shardsWithoutBreakdown: [Int] = []
    /// The failure because of which it could not be followed to its end.
    var failure: Failure?
    /// Seconds from the start until which requests were sent.
    var loadSeconds: Double
    /// Number of CPUs that the generators could use at once.
    var cores: Int
}

/// Runs a scenario in this process.
final class LocalLoadRunner: LoadRunner {
    private enum State {
        case idle
        case running(LoadEngine, onChange: @Sendable (LoadChange) -> Void)
        case stopped(LoadResult.Ending)
    }

    private let plan: LoadPlan
    private let options: LoadEngine.Options
    private let cores: LocalLoadCores
    private let state = Mutex(State.idle)

    /// - Parameter cores: updated at the start of each run.
    init(plan: LoadPlan, options: LoadEngine.Options, cores: LocalLoadCores) {
        self.plan = plan
        self.options = options
        self.cores = cores
    }

    func run(
        _ scenario: LoadScenario, workers: Int?,
        onChange: @escaping @Sendable (LoadChange) -> Void,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadRunEnd {
        var options = options
        options.threads = workers ?? options.threads
        let engine = try LoadEngine(plan: plan, scenario: scenario, options: options)
        let stopped = state.withLock { state -> LoadResult.Ending? in
            if case .stopped(let ending) = state { return ending }
            state = .running(engine, onChange: onChange)
            return nil
        }
        if let stopped { engine.stop(stopped) }
        defer { state.withLock { if case .running = $0 { $0 = .idle } } }
        let generator = ThisMachine.Generator()
        let busy = scenario.maxBusy(ofLoops: engine.threads)
        let isLimited = generator.limits(threads: busy)
        let cores = generator.cores(threads: busy)
        self.cores.count = cores
        let begun = MonotonicClock.nowNanoseconds
        do throws(Failure) {
            let outcome = try await engine.run(startNanoseconds: begun) { interval in
                var interval = interval
                if isLimited { interval.machines = generator.use(interval.counts.cpuSeconds) }
                onInterval(interval)
            }
            return LoadRunEnd(
                ending: outcome.ending, breakdown: outcome.breakdown, shards: [],
                loadSeconds: outcome.loadSeconds, cores: cores)
        } catch {
            // Results so far are reported all the same.
            var end = LoadRunEnd(
                ending: .interrupted, breakdown: LoadBreakdown(), shards: [],
                loadSeconds: Double(MonotonicClock.nowNanoseconds - begun) / 1e9,
                cores: cores)
            end.failure = error
            return end
        }
    }

    func stop(_ ending: LoadResult.Ending) {
        let engine = state.withLock { state -> LoadEngine? in
            guard case .running(let engine, _) = state else {
                state = .stopped(ending)
                return nil
            }
            // A threshold ends only its run; a signal also ends all later ones.
            if ending == .interrupted { state = .stopped(ending) }
            return engine
        }
        engine?.stop(ending)
    }

    func change(to level: Double) async throws {
        // Under the lock, so that changes are reported in the order in which they are made.
        let isMade = state.withLock { state in
            guard case .running(let engine, let onChange) = state,
                let change = engine.change(to: level)
            else { return false }
            onChange(change)
            return true
        }
        guard isMade else { throw Failure.loadNotRunning }
    }
}

/// Number of CPUs that the load of this process can use at once, from 1. Safe from any thread.
final class LocalLoadCores: Sendable {
    private let value: Mutex<Int>

    init(_ count: Int) { value = Mutex(count) }

    var count: Int {
        get { value.withLock(\.self) }
        set { value.withLock { $0 = newValue } }
    }
}

extension LoadScenario {
    /// Returns how many of `loops` event loops can be busy at once: each user is in one of them.
    fileprivate func maxBusy(ofLoops loops: Int) -> Int {
        guard model == .closed else { return loops }
        return min(loops, max(Int(min(maxLevel, 1e6).rounded(.up)), 1))
    }
}

extension Failure {
    /// The failure of a change of the load while none is sent.
    static let loadNotRunning = Failure(
        .inputLoadFixed,
        "The load cannot change now: only that of a running test, without --search and --scale, does."
    )
}
