import Statistics

/// Repeated draws of the uncertain inputs, and the figures of each.
struct Draws {
    let count: Int
    let seed: UInt64
    let figures: Figures
    let influences: [Uncertainty.Influence]

    /// Maximum number of named inputs per figure.
    private static let maxNamed = 8

    init(_ scenario: Scenario, _ options: Plan.Options) {
        count = options.draws
        seed = options.seed
        var random = SeededRandom(seed: options.seed)
        var inputs = DrawnInputs(scenario, count: options.draws)
        var figures = Figures(options.draws)
        let books = Self.books(scenario, options.prices)
        for _ in 0..<options.draws {
            let values = inputs.draw(scenario, &random)
            let sizing = Sizing(values)
            figures.add(Figures.Draw(values, sizing))
            for (own, origin) in books {
                let bill = Bill(scenario.money, values, sizing, own, origin)
                if let total = bill?.quickTotal { figures.add(total, of: own.name) }
            }
        }
        self.figures = figures
        influences = Self.influences(inputs, figures, first: books.first?.own.name)
    }

    private static func influences(
        _ inputs: DrawnInputs, _ figures: Figures, first provider: String?
    ) -> [Uncertainty.Influence] {
        let draws = figures.draws
        func found(
            _ inputs: DrawnInputs, _ figure: String, _ values: [Double]
        ) -> [Uncertainty.Influence] {
            inputs.influences(on: figure, values, most: maxNamed, draws: draws.count)
        }
        var ofPools = inputs
        ofPools.keep(draws.map(\.workers.isFinite))
        // The costs of different providers depend on the same inputs, so one of them suffices.
        return found(ofPools, "workers", figures.workers)
            + figures.costs.filter { $0.provider == provider }.flatMap { cost in
                found(
                    ofPools, "cost per month, \(cost.provider) (\(cost.currency))", cost.values)
            }
            + found(inputs, "peak egress", draws.map(\.egress))
            + found(inputs, "edge storage", draws.map(\.storage))
    }

    /// Returns the prices of the chosen provider, or of all, with those of the origin's provider.
    private static func books(
        _ scenario: Scenario, _ all: [PriceBook]
    ) -> [(own: PriceBook, origin: PriceBook)] {
        func find(_ id: String?) -> PriceBook? { all.first { $0.id == id } }
        let origin = find(scenario.money.originProvider)
        let chosen = find(scenario.money.provider).map { [$0] } ?? all
        return chosen.map { ($0, origin ?? $0) }
    }
}

/// The draws of all uncertain inputs.
struct DrawnInputs {
    private let names: [String]
    private var drawn: [[Double]]

    init(_ scenario: Scenario, count: Int) {
        var names: [String] = []
        for input in ScenarioInput.allCases where scenario.estimate(input)?.isExact == false {
            names.append(input.row.path)
        }
        for action in scenario.actionsInUse {
            let parts = [
                ("perDay", action.perDay), ("requests", action.requests), ("bytes", action.bytes),
            ]
            names += parts.filter { !$0.1.isExact }.map { "actions.\(action.name).\($0.0)" }
        }
        self.names = names
        drawn = Array(repeating: [], count: names.count)
        for index in drawn.indices { drawn[index].reserveCapacity(count) }
    }

    mutating func draw(_ scenario: Scenario, _ random: inout SeededRandom) -> ScenarioValues {
        var index = 0
        var source = random
        var taken: [Double] = []
        taken.reserveCapacity(names.count)
        let values = ScenarioValues(scenario) { estimate in
            let value = estimate.draw(from: &source)
            if !estimate.isExact { taken.append(value) }
            return value
        }
        random = source
        for value in taken where index < drawn.count {
            drawn[index].append(value)
            index += 1
        }
        return values
    }

    /// Removes draws in which no pool suffices.
    mutating func keep(_ suffices: [Bool]) {
        guard suffices.contains(false) else { return }
        drawn = drawn.map { values in zip(values, suffices).filter(\.1).map(\.0) }
    }

    func influences(
        on figure: String, _ values: [Double], most: Int, draws: Int
    ) -> [Uncertainty.Influence] {
        guard values.count > 1, values.count >= Uncertainty.fewest(draws: draws) else {
            return []
        }
        let ranked = Ranking.ranks(values)
        // Correlation that chance exceeds for one input in a thousand.
        let least = max(0.05, 3.3 / Double(max(1, values.count)).squareRoot())
        return names.indices.map { index in
            Uncertainty.Influence(
                figure: figure, input: names[index],
                correlation: Ranking.correlation(Ranking.ranks(drawn[index]), ranked))
        }
        .filter { abs($0.correlation) >= least }
        .sorted { abs($0.correlation) > abs($1.correlation) }
        .prefix(most).map { $0 }
    }
}
