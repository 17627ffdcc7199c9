internal import LoadModel

/// Where a loop's load comes from: the arrivals of the open model or the users of the closed one, and the targets that
/// they choose.
struct LoadSource {
    private let shard: LoadShard
    private var targets: TargetRotation
    /// Nil for the closed model, and before the start.
    private(set) var arrivals: OpenArrivals?
    var users: ClosedUsers

    /// - Parameter shard: the loop's part of the whole test.
    init(_ plan: LoadPlan, _ scenario: LoadScenario, _ shard: LoadShard) {
        self.shard = shard
        targets = TargetRotation(plan, scenario, shard)
        users = ClosedUsers(scenario, shard)
    }

    /// Plans the arrivals, at the start.
    mutating func begin(_ scenario: LoadScenario) {
        guard case .open(let process) = scenario.model else { return }
        arrivals = OpenArrivals(LoadArrivals(scenario, process, shard))
    }

    /// Continues with other stages, which are the same up to now.
    mutating func change(to stages: [LoadStage]) {
        arrivals?.change(to: stages)
        users.change(to: stages)
    }

    // MARK: Targets

    /// Returns the index of the next target.
    mutating func nextTarget() -> Int { targets.next() }

    /// Returns the next object of a target with these `objects`.
    mutating func nextObject(of target: Int, _ objects: Range<Int>) -> Int {
        targets.nextObject(of: target, objects)
    }

    // MARK: Arrivals

    /// True while a due arrival waits for a free slot.
    var isBlocked: Bool { arrivals?.isBlocked ?? false }
    /// Due arrivals that were not started.
    var backlog: Int64 { arrivals?.backlog ?? 0 }

    /// Moves on to the next arrival, because this one starts. Returns the time until which due ones had no free slot.
    mutating func startArrival() -> Double {
        arrivals?.start()
        return arrivals?.blockedUntil ?? 0
    }

    mutating func block() { arrivals?.block() }

    mutating func unblock(atSeconds now: Double) { arrivals?.unblock(atSeconds: now) }

    /// Returns the number of arrivals that became due up to `seconds`.
    mutating func countDue(atSeconds seconds: Double) -> Int64 {
        arrivals?.countDue(atSeconds: seconds) ?? 0
    }

    /// Drops due arrivals that were not started, and returns their number.
    mutating func dropBacklog() -> Int64 { arrivals?.dropBacklog() ?? 0 }
}
