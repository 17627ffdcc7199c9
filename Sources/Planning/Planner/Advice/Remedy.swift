/// Values of inputs with which a plan reaches goals that it misses.
///
/// They are found by computing the plan with them.
package struct Remedy: Codable, Hashable, Sendable {
    /// A value in place of the present one.
    package struct Change: Codable, Hashable, Sendable {
        /// Path of the input: `edge.storedShare`.
        package let input: String
        package let value: Double
    }

    /// The goals that it reaches: all missed ones, unless no values for all of them were found.
    package let goals: [Sizing.Stop.Goal]
    /// The values, all of which are needed.
    package let changes: [Change]
}

extension Scenario {
    /// Returns the scenario with other values of inputs.
    func with(_ changes: [ScenarioInput: Double]) -> Scenario {
        var changed = self
        for (input, value) in changes { changed.given[input] = Estimate(value) }
        return changed
    }
}

extension ScenarioValues {
    /// Returns the values with others for some inputs.
    func with(_ changes: [ScenarioInput: Double]) -> ScenarioValues {
        var changed = self
        for (input, value) in changes { changed[input] = value }
        return changed
    }
}
