/// The inputs that a plan is sized for: each figure suffices in a stated share of the draws.
///
/// A plan on likely values suffices in few draws, because most inputs are skewed and many act
/// together. The inputs move from their likely values towards their unfavourable ends, group by
/// group, until each figure reaches its quantile over the draws; those that change one figure alone
/// move no further than it needs. So all figures of a plan are those of one scenario.
struct DesignPoint {
    let values: ScenarioValues

    /// Searches with this many steps, to a millionth of an input's range.
    private static let steps = 20

    init(_ scenario: Scenario, confidence: Double, _ figures: Figures) {
        var search = Search(scenario)
        // A quantile of draws has an error of its own: 1.28 of its standard deviations more are
        // enough in nine of ten plans.
        let count = Double(max(1, figures.draws.count))
        let level = min(1, confidence + 1.28 * (confidence * (1 - confidence) / count).squareRoot())
        func goal(_ figure: (Figures.Draw) -> Double) -> Double {
            figures.quantile(level, of: figure) * (1 - 1e-9)
        }
        let goals: [Adversity.Figure: Double] = [
            .requests: goal(\.requests), .egress: goal(\.egress), .storage: goal(\.storage),
            .fill: goal(\.fill),
        ]
        func reaches(_ figure: Adversity.Figure, _ demand: Demand) -> Bool {
            figure.value(demand) >= goals[figure] ?? 0
        }
        for group in [Adversity.Group.audience, .catalog] {
            search.raise(group) { values in
                let demand = Demand(values)
                return group.figures.allSatisfy { reaches($0, demand) }
            }
            for figure in group.figures {
                search.lower(group, only: figure) { reaches(figure, Demand($0)) }
            }
        }
        let (edgeCores, workers) = (goal(\.edgeCores), goal(\.workers))
        search.raise(.edge) { values in
            Sizing.Edge.Load(values, Demand(values)).cores >= edgeCores
        }
        // Numbers of workers do not show by how much a pool falls short.
        let missed = figures.quantile(level, of: \.shortage)
        let shortage = missed.isFinite ? missed * (1 - 1e-9) : 0
        search.raise(.pool) { values in
            let sizing = Sizing(values)
            guard let total = sizing.workers.total else {
                return sizing.shortage(values) >= shortage
            }
            return Double(total) >= workers
        }
        values = search.values
    }

    private struct Search {
        let scenario: Scenario
        private let adversities: [Adversity]
        /// Shares of the way from likely to unfavourable values, one for each estimate.
        private var levels: [Double]

        init(_ scenario: Scenario) {
            self.scenario = scenario
            adversities = Adversity.all(scenario)
            levels = adversities.map { _ in 0 }
        }

        var values: ScenarioValues {
            var index = 0
            return ScenarioValues(scenario) { _, estimate in
                defer { index += 1 }
                let end = adversities[index].isMoreHarder ? estimate.high : estimate.low
                return estimate.likely + levels[index] * (end - estimate.likely)
            }
        }

        private mutating func set(_ level: Double, where isMoved: (Adversity) -> Bool) {
            for index in levels.indices where isMoved(adversities[index]) {
                levels[index] = level
            }
        }

        /// Moves the inputs of a group until `isEnough`, or to their ends.
        mutating func raise(
            _ group: Adversity.Group, until isEnough: (ScenarioValues) -> Bool
        ) {
            move(
                upTo: 1,
                where: { $0.group == group && (group.figures.isEmpty || !$0.figures.isEmpty) },
                until: isEnough)
        }

        /// Moves the inputs of a group that change `figure` alone back, as far as it stays enough.
        mutating func lower(
            _ group: Adversity.Group, only figure: Adversity.Figure,
            until isEnough: (ScenarioValues) -> Bool
        ) {
            let isMoved = { (adversity: Adversity) in
                adversity.group == group && adversity.figures == [figure]
                    // A whole number jumps, and what it added is taken from the others.
                    && adversity.input?.row.isWhole != true
            }
            guard let first = adversities.firstIndex(where: isMoved), isEnough(values) else {
                return
            }
            move(upTo: levels[first], where: isMoved, until: isEnough)
        }

        private mutating func move(
            upTo most: Double, where isMoved: (Adversity) -> Bool,
            until isEnough: (ScenarioValues) -> Bool
        ) {
            func suffices(_ level: Double) -> Bool {
                set(level, where: isMoved)
                return isEnough(values)
            }
            var (low, high) = (0.0, most)
            if suffices(low) { return }
            for _ in 0..<DesignPoint.steps {
                let middle = (low + high) / 2
                if suffices(middle) { high = middle } else { low = middle }
            }
            set(high, where: isMoved)
        }
    }
}
