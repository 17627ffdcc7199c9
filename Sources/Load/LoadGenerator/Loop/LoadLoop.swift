internal import EventLoop
internal import LoadModel
internal import Model

/// One thread of a load generator: its part of the arrivals or users, its connections, its counts.
///
/// `@unchecked`: everything but `start` and `stop` runs on the loop's thread, which `EventLoop` and
/// `CurlMulti` check.
final class LoadLoop: @unchecked Sendable {
    let loop: EventLoop
    let plan: LoadPlan
    /// Its stages may change while it runs.
    private(set) var scenario: LoadScenario
    let budget: LoadBudget
    let onInterval: @Sendable (LoadInterval) -> Void
    /// Called once, with the totals by object, after the last interval.
    let onEnd: @Sendable (LoadLoopEnd) -> Void

    var clock = LoadClock(startNanoseconds: 0)
    var life: LoopLife
    /// Nil before the start.
    var timers: LoopTimers?
    var transports: LoopTransports
    var slots: RequestSlots
    var record: LoopRecord
    var source: LoadSource
    var viewers: LoopViewers

    /// Creates a loop.
    ///
    /// - Parameters:
    ///   - shard: its part of the whole test.
    ///   - part: its part of this process's limits.
    init(
        plan: LoadPlan, scenario: LoadScenario, shard: LoadShard, of part: LoadShard,
        options: LoadEngine.Options, budget: LoadBudget, routes: HTTP1Routes,
        onInterval: @escaping @Sendable (LoadInterval) -> Void,
        onEnd: @escaping @Sendable (LoadLoopEnd) -> Void
    ) throws(Failure) {
        do {
            loop = try EventLoop(name: "load")
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
        self.plan = plan
        self.scenario = scenario
        self.budget = budget
        self.onInterval = onInterval
        self.onEnd = onEnd
        let capacity = LoopCapacity(plan, scenario, of: part, options)
        life = LoopLife(durationSeconds: scenario.durationSeconds)
        transports = LoopTransports(routes, scenario.http, options, capacity)
        slots = RequestSlots(capacity: capacity.requests)
        record = LoopRecord(plan)
        source = LoadSource(plan, scenario, shard)
        viewers = LoopViewers(plan, scenario, shard, capacity: capacity.viewers)
    }

    // MARK: From any thread

    func start(_ clock: LoadClock) {
        loop.execute { [self] in begin(clock) }
    }

    /// Stops the loop at once. Requests in flight are dropped and counted as unfinished.
    func stop(_ ending: LoadResult.Ending) {
        loop.execute { [self] in end(ending) }
    }

    /// Changes the load from a time of the test's clock on, to the planned end.
    func change(_ change: LoadChange) {
        loop.execute { [self] in
            guard life.isBeforeEnd else { return }
            scenario.stages = scenario.stages.changed(by: change)
            source.change(to: scenario.stages)
            pump()
        }
    }

    /// Starts draining because the caps are used up.
    func cap() {
        loop.execute { [self] in
            life.cap()
            drain(.capped)
        }
    }
}

/// Results of an ended loop.
struct LoadLoopEnd: Sendable {
    /// Second of its last interval; -1 for none.
    var lastSecond: Int
    /// Time of its end on the test's clock.
    var seconds: Double
    /// Time on the test's clock until which it sent requests.
    var loadSeconds: Double
    var ending: LoadResult.Ending
    var failure: Failure?
    /// Totals by object.
    var tallies: [Int32: LoadTally]
    var groups: LoopGroups
    /// By class of viewers.
    var classes: [ViewerTotals]
}
