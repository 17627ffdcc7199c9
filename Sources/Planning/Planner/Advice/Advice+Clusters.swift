/// Clusters in place of one, each with an equal part of the fetches and of the origin's limits.
package struct Split: Codable, Hashable, Sendable {
    /// The fewest of which each reaches the goals that the workers of one cluster miss.
    package let clusters: Int
    /// Workers of each; nil if it misses another goal.
    package let workers: Int?
    /// The goals that workers limited.
    package let goals: [Sizing.Stop.Goal]
}

extension Advice {
    /// Clusters to try at most.
    private static let maxClusters = 1_000

    /// Returns the fewest clusters for the goals that workers limit, by computing the plan of one of
    /// them; nil if there are no such goals, or no number suffices.
    func split() -> Split? {
        let others: [ScenarioInput] = [.bootSeconds, .dispatchSeconds]
        let goals = sizing.workers.stops.filter { stop in
            !stop.limit.hasPrefix("origin.") && !others.contains { $0.row.path == stop.limit }
        }.map(\.goal)
        guard !goals.isEmpty else { return nil }
        return clusters { sized in
            !sized.sizing.workers.stops.contains { goals.contains($0.goal) }
        }.map { count in
            Split(
                clusters: count, workers: sized(scenario.divided(by: count)).workers.total,
                goals: goals)
        }
    }

    /// Returns the fewest clusters, two or more, of which each suffices; nil if no number does.
    func clusters(where suffices: (Sized) -> Bool) -> Int? {
        let steps = Steps(
            count: Self.maxClusters - 1, scenario: { scenario.divided(by: $0 + 2) },
            values: { step in
                var changed = values
                changed.clusters = step + 2
                return changed
            })
        return nearest(steps, where: suffices).map { $0 + 2 }
    }

    /// Describes a split, a sentence after another one; empty without one.
    func text(_ split: Split?) -> String {
        guard let split else { return "" }
        let limits: [ScenarioInput] = [.originConnections, .originRequests, .originMegabits]
        let hasLimits = limits.contains { values.known($0) != nil }
        let parts =
            "each with an equal part of the fetches"
            + (hasLimits ? " and of the origin's limits" : "")
        let count = Scenario.grouped(split.clusters)
        if let workers = split.workers {
            return " Otherwise, split the cluster into \(count), \(parts): "
                + "\(Scenario.grouped(workers)) workers each suffice."
        }
        let reached = split.goals.map {
            $0 == .deadline ? "the fill ends by its deadline" : "on-demand fetches start in time"
        }
        return " Split into \(count) clusters, \(parts), \(reached.joined(separator: " and "))."
    }
}

extension Scenario {
    /// Returns the scenario of one of `count` clusters.
    func divided(by count: Int) -> Scenario {
        var divided = self
        divided.clusters = count
        return divided
    }
}
