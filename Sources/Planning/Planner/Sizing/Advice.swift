import Statistics

/// Searches values of inputs with which a plan suffices, by computing the plan with each.
///
/// What the present plan lacks does not show them: with another value the draws differ, and with
/// them the values that a plan is sized for.
struct Advice {
    /// The scenario with the values found so far, so that all of them together suffice.
    private var scenario: Scenario
    private let options: Plan.Options
    /// The missed goals without a value yet.
    private var missed: Set<Sizing.Stop.Goal>

    /// The values to choose from: multiples of `1 / parts`, or of `unit`, between two of them.
    struct Grid {
        var unit = 1.0
        var parts = 1.0
        /// The multiple to begin with, and the last one to try.
        let first: Int
        let last: Int

        fileprivate func value(_ step: Int) -> Double {
            Double(first < last ? first + step : first - step) * unit / parts
        }
    }

    init(_ scenario: Scenario, _ options: Plan.Options, _ stops: [Sizing.Stop]) {
        self.scenario = scenario
        var options = options
        // They change no resources.
        options.prices = []
        if options.confidence == nil { options.draws = 0 }
        self.options = options
        missed = Set(stops.map(\.goal))
    }

    /// Returns the value nearest to the grid's first with which the plan reaches `goal` and misses
    /// none that it reached before; nil if none suffices.
    mutating func value(
        of input: ScenarioInput, for goal: Sizing.Stop.Goal, _ grid: Grid
    ) -> Double? {
        let others = missed.subtracting([goal])
        func suffices(_ sizing: Sizing) -> Bool {
            sizing.workers.stops.allSatisfy { others.contains($0.goal) }
        }
        let found = nearest(of: input, grid) { size in
            // Formulas are fast, and a simulation rarely differs.
            suffices(size.formulas) && (size.method == .formulas || suffices(size.sizing()))
        }
        guard let found else { return nil }
        missed = others
        scenario.given[input] = Estimate(found)
        return found
    }

    /// Returns the largest share of titles to store that fits the storage; nil if none does.
    func storedShare(from share: Double, gigabytes: Double) -> Double? {
        let grid = Grid(parts: 1_000, first: wholeDown(share * 1_000 + 1e-9), last: 1)
        return nearest(of: .storedShare, grid) { size in
            size.formulas.demand.edgeStorageBytes <= gigabytes * 1e9
        }
    }

    private func nearest(
        of input: ScenarioInput, _ grid: Grid, where suffices: (PlanSize) -> Bool
    ) -> Double? {
        let allowed = input.row.allowed
        func value(_ step: Int) -> Double {
            min(max(grid.value(step), allowed.lowerBound), allowed.upperBound)
        }
        let steps = abs(grid.last - grid.first)
        return minSufficient(from: 0, atMost: steps) { step in
            var changed = scenario
            changed.given[input] = Estimate(value(step))
            return suffices(PlanSize(changed, options))
        }.map(value)
    }
}
