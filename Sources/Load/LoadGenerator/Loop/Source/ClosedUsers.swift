internal import LoadModel
internal import Statistics

/// The users of the closed model: their number follows the stages.
struct ClosedUsers {
    private(set) var count = 0
    private var levels: ArrivalSchedule
    private let think: ThinkTime
    private var random: SeededRandom

    init(_ scenario: LoadScenario, _ shard: LoadShard) {
        levels = ArrivalSchedule(
            stages: scenario.stages, process: .constant, shard: shard, seed: scenario.seed)
        think = scenario.think
        random = shard.random(seed: scenario.seed, for: .thinking)
    }

    /// Returns the number of users that the stages specify.
    func wanted(atSeconds now: Double) -> Int { levels.closedUsers(atSeconds: now) }

    mutating func change(to stages: [LoadStage]) { levels.change(to: stages) }

    mutating func add() { count += 1 }

    mutating func remove(_ number: Int) { count -= number }

    /// Returns true and removes a user if there are more than the stages specify.
    mutating func leaves(atSeconds now: Double) -> Bool {
        guard count > wanted(atSeconds: now) else { return false }
        count -= 1
        return true
    }

    mutating func thinkSeconds() -> Double {
        switch think {
        case .none: 0
        case .constant(let seconds): seconds
        case .exponential(let mean): random.exponential(mean: mean)
        }
    }
}
