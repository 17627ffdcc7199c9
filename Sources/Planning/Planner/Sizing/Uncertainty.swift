import Statistics

/// The uncertainty of a plan and its causes, by repeated draws of the inputs.
package struct Uncertainty: Codable, Hashable, Sendable {
    package let draws: Int
    package let seed: UInt64
    package let ranges: [Range]
    /// The most influential inputs for workers and for the cost, largest influence first.
    package let influences: [Influence]
    /// Ratio of draws in which the plan suffices; nil if there is no plan.
    package let planSuffices: Double?
    /// Ratio of draws in which no pool suffices. Workers and costs refer to the other draws.
    package let noPoolSuffices: Double

    /// Percentiles of a figure over all draws.
    package struct Range: Codable, Hashable, Sendable {
        package let figure: String
        package let unit: String
        package let p10: Double
        package let p50: Double
        package let p90: Double
    }

    package struct Influence: Codable, Hashable, Sendable {
        package let figure: String
        package let input: String
        /// Spearman's rank correlation, −1 to 1.
        package let correlation: Double
    }

    /// Minimum number of draws with a sufficient pool; below it workers and costs are omitted.
    static func fewest(draws: Int) -> Int { min(max(1, draws), 20) }

    /// Maximum number of named inputs per figure.
    private static let maxNamed = 8

    init(
        _ scenario: Scenario, _ options: Plan.Options, _ planned: Sizing
    ) throws(PlannerError) {
        draws = options.draws
        seed = options.seed
        var random = SeededRandom(seed: options.seed)
        var inputs = Inputs(scenario, count: options.draws)
        var figures = Figures(options.draws)
        var sufficient = 0
        let books = Self.books(scenario, options.prices)
        for _ in 0..<options.draws {
            let values = inputs.draw(scenario, &random)
            let sizing = Sizing(values)
            if let barely = sizing.workers.barelyNeeded, barely <= planned.workers.total ?? 0 {
                sufficient += 1
            }
            figures.add(sizing)
            for (own, origin) in books {
                let bill = Bill(scenario.money, values, sizing, own, origin)
                if let total = bill?.quickTotal { figures.add(total, of: own.name) }
            }
        }
        let all = Double(max(1, options.draws))
        planSuffices = planned.workers.total.map { _ in Double(sufficient) / all }
        noPoolSuffices = Double(figures.suffices.count { !$0 }) / all
        inputs.keep(figures.suffices)
        ranges = figures.ranges
        // The costs of different providers depend on the same inputs, so one of them suffices.
        influences =
            inputs.influences(
                on: "workers", figures.workers, most: Self.maxNamed, draws: options.draws)
            + figures.costs.filter { $0.provider == books.first?.own.name }.flatMap { cost in
                inputs.influences(
                    on: "cost per month, \(cost.provider) (\(cost.currency))", cost.values,
                    most: Self.maxNamed, draws: options.draws)
            }
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
private struct Inputs {
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

/// The results of the draws.
private struct Figures {
    /// Workers in the draws with a sufficient pool.
    private(set) var workers: [Double] = []
    /// For each draw, true if a pool suffices.
    private(set) var suffices: [Bool] = []
    /// A provider's cost in each of its currencies.
    struct Cost {
        let provider: String
        let currency: String
        var values: [Double]
    }

    private(set) var costs: [Cost] = []
    private var requests: [Double] = []
    private var egress: [Double] = []
    private var storage: [Double] = []
    private var fill: [Double] = []

    init(_ count: Int) {
        workers.reserveCapacity(count)
        requests.reserveCapacity(count)
    }

    mutating func add(_ sizing: Sizing) {
        suffices.append(sizing.workers.total != nil)
        if let total = sizing.workers.total { workers.append(Double(total)) }
        requests.append(sizing.demand.peakRequestsPerSecond)
        egress.append(sizing.demand.peakEgressBitsPerSecond)
        storage.append(sizing.demand.edgeStorageBytes)
        // Without time for the fill, it has no rate.
        let isWithoutTime = sizing.workers.stops.contains {
            $0.limit == ScenarioInput.bootSeconds.row.path
        }
        if !isWithoutTime { fill.append(sizing.demand.fillBitsPerSecond) }
    }

    mutating func add(_ money: Money, of provider: String) {
        for (currency, amount) in money.amounts.sorted(by: { $0.key < $1.key }) {
            let index = costs.firstIndex { $0.provider == provider && $0.currency == currency }
            if let index {
                costs[index].values.append(amount)
            } else {
                costs.append(Cost(provider: provider, currency: currency, values: [amount]))
            }
        }
    }

    var ranges: [Uncertainty.Range] {
        var all = [
            Self.range("peak requests", "1/s", requests),
            Self.range("peak egress", "bit/s", egress),
            Self.range("edge storage", "B", storage),
        ]
        if !fill.isEmpty { all.insert(Self.range("fill", "bit/s", fill), at: 2) }
        guard workers.count >= Uncertainty.fewest(draws: suffices.count) else { return all }
        all.append(Self.range("workers", "", workers))
        for cost in costs {
            all.append(Self.range("cost per month, \(cost.provider)", cost.currency, cost.values))
        }
        return all
    }

    private static func range(
        _ figure: String, _ unit: String, _ values: [Double]
    ) -> Uncertainty.Range {
        let sorted = values.sorted()
        func quantile(_ share: Double) -> Double {
            guard let last = sorted.last else { return 0 }
            let place = share * Double(sorted.count - 1)
            let index = Int(place)
            guard index + 1 < sorted.count else { return last }
            return sorted[index] + (sorted[index + 1] - sorted[index]) * (place - Double(index))
        }
        return Uncertainty.Range(
            figure: figure, unit: unit, p10: quantile(0.1), p50: quantile(0.5), p90: quantile(0.9))
    }
}

/// Ranks of values, and their correlation.
enum Ranking {
    /// Returns ranks from 1; equal values share their mean rank.
    static func ranks(_ values: [Double]) -> [Double] {
        let order = values.indices.sorted { values[$0] < values[$1] }
        var ranks = [Double](repeating: 0, count: values.count)
        var start = 0
        while start < order.count {
            var end = start
            while end + 1 < order.count, values[order[end + 1]] == values[order[start]] { end += 1 }
            for place in start...end { ranks[order[place]] = Double(start + end) / 2 + 1 }
            start = end + 1
        }
        return ranks
    }

    /// Returns Pearson's correlation, which for ranks is Spearman's; 0 if one of them is constant.
    static func correlation(_ left: [Double], _ right: [Double]) -> Double {
        guard left.count == right.count, left.count > 1 else { return 0 }
        let count = Double(left.count)
        let leftMean = left.reduce(0, +) / count
        let rightMean = right.reduce(0, +) / count
        var (both, ofLeft, ofRight) = (0.0, 0.0, 0.0)
        for (a, b) in zip(left, right) {
            both += (a - leftMean) * (b - rightMean)
            ofLeft += (a - leftMean) * (a - leftMean)
            ofRight += (b - rightMean) * (b - rightMean)
        }
        guard ofLeft > 0, ofRight > 0 else { return 0 }
        return both / (ofLeft * ofRight).squareRoot()
    }
}
