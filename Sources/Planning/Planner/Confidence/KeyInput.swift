extension Plan {
    /// An assumed input that matters, and what it changes.
    package struct KeyInput: Codable, Hashable, Sendable {
        /// Its path: `catalog.titles`.
        package let input: String
        package let unit: String
        package let value: Estimate
        /// The figure that it influences most, and the rank correlation with it.
        package let figure: String
        package let correlation: Double
        /// That figure with the low and with the high value over its likely value, less 1, the other
        /// inputs likely; nil for actions, and if no pool suffices.
        package let atLow: Double?
        package let atHigh: Double?
    }
}

extension Plan.KeyInput {
    /// Number of inputs to name.
    private static let count = 5

    /// Returns the most influential assumed inputs.
    static func all(_ scenario: Scenario, _ uncertainty: Uncertainty) -> [Plan.KeyInput] {
        let sorted = uncertainty.influences.filter { !$0.figure.hasPrefix("cost") }.sorted {
            let (left, right) = (abs($0.correlation), abs($1.correlation))
            return left == right ? $0.input < $1.input : left > right
        }
        var found: [Plan.KeyInput] = []
        for influence in sorted where !found.contains(where: { $0.input == influence.input }) {
            if found.count < count, let input = Self(influence, scenario) { found.append(input) }
        }
        return found
    }

    /// Returns nil for a given input, and for one that correlates by chance only.
    private init?(_ influence: Uncertainty.Influence, _ scenario: Scenario) {
        if let input = ScenarioInput.named(influence.input) {
            guard scenario.given[input] == nil, let estimate = scenario.estimate(input) else {
                return nil
            }
            value = estimate
            unit = input.row.unit
            let change = Self.change(influence.figure, scenario, input)
            if let change, change.low == 0, change.high == 0 { return nil }
            (atLow, atHigh) = (change?.low, change?.high)
        } else {
            guard scenario.actions == nil,
                let estimate = Self.ofAction(influence.input, scenario)
            else { return nil }
            value = estimate
            unit = influence.input.hasSuffix(".bytes") ? "B" : ""
            (atLow, atHigh) = (nil, nil)
        }
        input = influence.input
        figure = influence.figure
        correlation = influence.correlation
    }

    private static func ofAction(_ path: String, _ scenario: Scenario) -> Estimate? {
        for action in scenario.actionsInUse {
            let parts = [
                ("perDay", action.perDay), ("requests", action.requests), ("bytes", action.bytes),
            ]
            for (name, estimate) in parts where path == "actions.\(action.name).\(name)" {
                return estimate
            }
        }
        return nil
    }

    /// Returns a figure with the low and the high value of an input over its likely value, less 1;
    /// nil if no pool suffices.
    private static func change(
        _ figure: String, _ scenario: Scenario, _ input: ScenarioInput
    ) -> (low: Double, high: Double)? {
        func value(_ choose: (Estimate) -> Double) -> Double? {
            Self.figure(figure, scenario, input, choose)
        }
        guard let low = value({ $0.low }), let likely = value({ $0.likely }),
            let high = value({ $0.high }), likely > 0
        else { return nil }
        return (low / likely - 1, high / likely - 1)
    }

    /// Returns a figure with one input at another value; nil if no pool suffices.
    private static func figure(
        _ name: String, _ scenario: Scenario, _ changed: ScenarioInput,
        _ choose: (Estimate) -> Double
    ) -> Double? {
        let sizing = Sizing(
            ScenarioValues(scenario) { input, estimate in
                input == changed ? choose(estimate) : estimate.likely
            })
        switch name {
        case "workers": return sizing.workers.total.map { Double($0) }
        case "peak egress": return sizing.demand.peakEgressBitsPerSecond
        case "edge storage": return sizing.demand.edgeStorageBytes
        default: return nil
        }
    }
}
