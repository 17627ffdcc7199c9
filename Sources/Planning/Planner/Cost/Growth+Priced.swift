/// Costs of a plan that fails by the limits of its origin alone.
extension Growth.Step {
    /// The same month if the origin had no limits.
    var withoutOriginLimits: Growth.Step {
        var values = values
        for input in [ScenarioInput.originConnections, .originRequests, .originMegabits] {
            values[input] = .nan
        }
        return Growth.Step(values: values, sizing: Sizing(values))
    }
}

extension Plan {
    /// Returns the limits of the origin with which no pool suffices; empty if one does, or if
    /// something else stops it.
    static func originStops(_ sizing: Sizing) -> [String] {
        let stops = sizing.workers.stops.map(\.limit)
        guard stops.allSatisfy({ $0.hasPrefix("origin.") }) else { return [] }
        return stops.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}
