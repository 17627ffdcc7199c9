import Statistics

/// The uncertainty of a plan and its causes, by repeated draws of the inputs.
package struct Uncertainty: Codable, Hashable, Sendable {
    package let draws: Int
    package let seed: UInt64
    package let ranges: [Range]
    /// The most influential inputs for workers, cost, egress and storage, largest influence first.
    package let influences: [Influence]
    /// Ratio of draws in which the planned workers suffice; nil if there is no plan.
    package let planSuffices: Double?
    /// The same for each figure of the plan, and for all of them together.
    package let sufficiency: [Sufficiency]
    package let allSuffice: Double
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

    init(_ drawn: Draws, _ planned: Sizing) {
        draws = drawn.count
        seed = drawn.seed
        let figures = drawn.figures
        planSuffices = planned.workers.total.map { total in
            figures.share { $0.barelyNeeded <= Double(total) }
        }
        noPoolSuffices = figures.share { !$0.workers.isFinite }
        let goals = Goals(planned)
        sufficiency = Figure.allCases.map { figure in
            Sufficiency(
                figure: figure.rawValue, share: figures.share { goals.suffice(figure, $0) })
        }
        allSuffice = figures.share { draw in
            Figure.allCases.allSatisfy { goals.suffice($0, draw) }
        }
        ranges = figures.ranges
        influences = drawn.influences
    }
}

extension Uncertainty {
    /// A figure that a plan is sized for.
    enum Figure: String, CaseIterable {
        case workers
        case edgeServers = "edge servers"
        case storage = "edge storage"
        case fill
        case requests = "peak requests"
        case egress = "peak egress"
    }

    /// The share of draws for which the plan suffices in one figure.
    package struct Sufficiency: Codable, Hashable, Sendable {
        package let figure: String
        package let share: Double
    }

    /// The plan's value of each figure.
    struct Goals {
        private let planned: Sizing

        init(_ planned: Sizing) { self.planned = planned }

        /// Returns true if the plan suffices for a draw, without its headroom.
        func suffice(_ figure: Figure, _ draw: Figures.Draw) -> Bool {
            let demand = planned.demand
            func isWithin(_ value: Double, _ planned: Double) -> Bool {
                value <= planned * (1 + 1e-9)
            }
            switch figure {
            case .workers: return draw.barelyNeeded <= Double(planned.workers.total ?? 0)
            case .edgeServers:
                let servers = Double(planned.edge.servers)
                return isWithin(draw.egress, servers * planned.edge.megabitsPerSecond * 1e6)
                    && isWithin(draw.edgeCores, servers * planned.edge.cores)
            case .storage: return isWithin(draw.storage, demand.edgeStorageBytes)
            case .fill: return isWithin(draw.fill, demand.fillBitsPerSecond)
            case .requests: return isWithin(draw.requests, demand.peakRequestsPerSecond)
            case .egress: return isWithin(draw.egress, demand.peakEgressBitsPerSecond)
            }
        }
    }
}
