import Model
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
        var inputs = DrawnInputs(scenario, count: options.draws, seed: options.seed)
        var figures = Figures(options.draws)
        let books = Self.books(scenario, options.prices)
        for _ in 0..<options.draws {
            let values = inputs.draw(scenario)
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

/// The draws of all inputs.
///
/// Each input has a stream of random numbers of its own, seeded by its name: an input that is given
/// exactly, or that replaces another one, changes no draw of the others.
struct DrawnInputs {
    /// One for each estimate, in the order in which `ScenarioValues` chooses them.
    private var streams: [SeededRandom] = []
    /// Names of the uncertain inputs, and their draws.
    private var names: [String] = []
    private var drawn: [[Double]]

    init(_ scenario: Scenario, count: Int, seed: UInt64) {
        for (name, estimate) in Self.estimates(scenario) {
            streams.append(SeededRandom(seed: seed ^ StableHash.value(name)))
            if !estimate.isExact { names.append(name) }
        }
        drawn = Array(repeating: [], count: names.count)
        for index in drawn.indices { drawn[index].reserveCapacity(count) }
    }

    /// Returns all estimates with their names, in the order in which `ScenarioValues` chooses them.
    private static func estimates(_ scenario: Scenario) -> [(String, Estimate)] {
        let inputs = ScenarioInput.allCases.compactMap { input in
            scenario.estimate(input).map { (input.row.path, $0) }
        }
        let actions = scenario.actionsInUse.flatMap { action in
            [
                ("perDay", action.perDay), ("requests", action.requests), ("bytes", action.bytes),
            ].map { ("actions.\(action.name).\($0.0)", $0.1) }
        }
        return inputs + actions
    }

    mutating func draw(_ scenario: Scenario) -> ScenarioValues {
        var taken: [Double] = []
        taken.reserveCapacity(names.count)
        var index = 0
        let values = ScenarioValues(scenario) { estimate in
            defer { index += 1 }
            let value = estimate.draw(from: &streams[index])
            if !estimate.isExact { taken.append(value) }
            return value
        }
        for (index, value) in taken.enumerated() { drawn[index].append(value) }
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
