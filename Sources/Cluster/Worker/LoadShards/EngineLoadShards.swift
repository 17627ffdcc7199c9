import FoundationEssentials
import LoadGenerator
import LoadModel
import Model
import Services
import Synchronization
import Text
import Transfer

/// Sends a worker's shards of load tests from this process.
///
/// A scenario may request only what the worker may: its address policy and the scenario's own hosts
/// apply. A shard reads no files of the worker's machine.
struct EngineLoadShards: LoadShardRunner {
    let addressPolicy: AddressPolicy

    /// Open files of the process that connections must leave free.
    private static let otherFiles = 256

    func prepare(_ text: String, urls: String?) async throws -> any PreparedLoadShard {
        var scenario = try LoadScenarioReader.read(Array(text.utf8))
        try scenario.check()
        try LoadScenarioWriter.checkFiles(of: scenario)
        if let urls { try scenario.setReplay(urls: urls) }
        let engine = try TransferEngine(
            options: LoadPreflight.transferOptions(scenario.http, addressPolicy))
        defer { engine.shutdown() }
        let means = LoadPreflight.Means(engine: engine) { path throws(Failure) in
            throw Failure(.inputField, "\(printable(path)): a worker reads no lists.")
        }
        let preflight = LoadPreflight(
            scenario, means, addressPolicy: addressPolicy,
            nowSeconds: Date().timeIntervalSince1970)
        // The option comes first: the end of a long message may be cut.
        let ready = try await preflight.run { option in
            "its \(option.rawValue) does not admit this: "
        }
        if Task.isCancelled { throw Failure(.workerCancelled, "The load test was stopped.") }
        var options = LoadEngine.Options()
        options.threads = ThisMachine.threads
        let files = Int(OpenFiles.raiseLimit())
        options.viewerConnections = max(files - Self.otherFiles, Self.otherFiles)
        options.maxRequests = max(files - Self.otherFiles, 1)
        options.addresses = ready.addresses
        return EngineLoadShard(plan: ready.plan, scenario: scenario, options: options)
    }
}

/// One shard of a load test.
private final class EngineLoadShard: PreparedLoadShard {
    private enum State {
        /// With the changes of the load so far.
        case idle([LoadChange])
        case running(LoadEngine)
        case stopped
    }

    private let plan: LoadPlan
    private let scenario: LoadScenario
    private let options: LoadEngine.Options
    private let state = Mutex(State.idle([]))
    private let data: ArrivingData

    init(plan: LoadPlan, scenario: LoadScenario, options: LoadEngine.Options) {
        self.plan = plan
        self.scenario = scenario
        self.options = options
        data = ArrivingData(of: scenario)
    }

    var cores: Int { options.threads }

    func add(_ part: String, of count: Int) throws { try data.add(part, of: count) }

    func run(
        _ shard: LoadShard, startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadShardEnd {
        var (plan, scenario) = (plan, scenario)
        data.move(to: &plan, &scenario, shards: shard.count)
        let engine = try LoadEngine(plan: plan, scenario: scenario, shard: shard, options: options)
        let isStopped = state.withLock { state in
            guard case .idle(let changes) = state else { return true }
            for change in changes { engine.change(change) }
            state = .running(engine)
            return false
        }
        if isStopped { engine.stop(.interrupted) }
        let generator = ThisMachine.Generator()
        let outcome = try await engine.run(startNanoseconds: startNanoseconds) { interval in
            var interval = interval
            interval.machines = generator.use(interval.counts.cpuSeconds)
            onInterval(interval)
        }
        return LoadShardEnd(
            ending: outcome.ending, loadSeconds: outcome.loadSeconds,
            breakdown: outcome.breakdown)
    }

    func change(_ change: LoadChange) {
        // Under the lock, so that none comes between those before the start.
        state.withLock { state in
            switch state {
            case .idle(let changes): state = .idle(changes + [change])
            case .running(let engine): engine.change(change)
            case .stopped: break
            }
        }
    }

    func stop() {
        let engine = state.withLock { state -> LoadEngine? in
            defer { state = .stopped }
            if case .running(let engine) = state { return engine }
            return nil
        }
        engine?.stop(.interrupted)
    }
}

/// The parts of a shard's data that have arrived. Safe from any thread.
private final class ArrivingData: Sendable {
    private let scenario: LoadScenario
    /// Nil without a part.
    private let data = Mutex<LoadShardData?>(nil)

    init(of scenario: LoadScenario) { self.scenario = scenario }

    func add(_ part: String, of count: Int) throws {
        try data.withLock { data in
            if data == nil { data = LoadShardData(parts: count, of: scenario) }
            try data?.add(part)
        }
    }

    /// Moves the data to the plan and scenario of a run.
    func move(to plan: inout LoadPlan, _ scenario: inout LoadScenario, shards: Int) {
        data.withLock { data in
            data?.move(to: &plan, &scenario, shards: shards)
            data = nil
        }
    }
}
