import EventLoop
import LoadGenerator
import LoadModel
import Model
import Synchronization
import Transfer

/// A run of the engine and what it handed out.
struct EngineRun {
    var intervals: [LoadInterval]
    var outcome: LoadEngine.Outcome
    /// Of all intervals.
    var total: LoadInterval

    var counts: LoadCounts { total.counts }

    /// Runs `scenario` to its end, or until `stops` is true of an interval.
    init(
        _ plan: LoadPlan, _ scenario: LoadScenario, shard: LoadShard = .whole, threads: Int = 2,
        stops: (@Sendable (LoadInterval) -> Bool)? = nil,
        adjust: (inout LoadEngine.Options) -> Void = { _ in }
    ) async throws {
        var options = LoadEngine.Options()
        options.threads = threads
        adjust(&options)
        let engine = try LoadEngine(
            plan: plan, scenario: scenario, shard: shard, options: options)
        let handedOut = Mutex<[LoadInterval]>([])
        outcome = try await engine.run(startNanoseconds: MonotonicClock.nowNanoseconds) {
            interval in
            handedOut.withLock { $0.append(interval) }
            if stops?(interval) == true { engine.stop(.interrupted) }
        }
        intervals = handedOut.withLock { $0 }
        total = LoadInterval(second: 0)
        for interval in intervals { total.add(interval) }
    }

    /// Runs what a preflight has found, from one thread and at the addresses that it has found.
    init(
        _ found: LoadPreflight.Outcome, _ scenario: LoadScenario, libcurl: Bool = false,
        lookup: (any HostLookup)? = nil, stops: (@Sendable (LoadInterval) -> Bool)? = nil
    ) async throws {
        try await self.init(found.plan, scenario, threads: 1, stops: stops) { options in
            options.addresses = found.addresses
            options.usesLibcurlAlone = libcurl
            if let lookup { options.lookup = lookup }
        }
    }
}

extension LoadPlan {
    /// Of files, a target each.
    init(files urls: [String], sha256: String? = nil) {
        self.init()
        for (index, url) in urls.enumerated() {
            var object = Object(url: url, role: .file, target: Int32(index))
            object.sha256 = sha256
            objects.append(object)
            targets.append(Target(name: "file \(index)", weight: 1, objects: index..<(index + 1)))
        }
    }
}

extension LoadScenario {
    /// So many users for so long.
    static func closed(users: Double, seconds: Double) -> LoadScenario {
        var scenario = LoadScenario()
        scenario.stages = [LoadStage(seconds: seconds, from: users, to: users)]
        return scenario
    }

    /// So many arrivals a second for so long.
    static func open(rate: Double, seconds: Double) -> LoadScenario {
        var scenario = LoadScenario()
        scenario.model = .open(.constant)
        scenario.stages = [LoadStage(seconds: seconds, from: rate, to: rate)]
        return scenario
    }
}
