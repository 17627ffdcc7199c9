import Statistics

/// The results of the draws.
struct Figures {
    /// The figures of one draw; infinite if no pool suffices.
    struct Draw {
        let workers: Double
        /// By how much the goals are missed; 0 if a pool suffices.
        let shortage: Double
        let barelyNeeded: Double
        let requests: Double
        let egress: Double
        let storage: Double
        let fill: Double
        /// True without any time for the fill, which then has no rate.
        let isWithoutTime: Bool
        let edgeCores: Double

        init(_ values: ScenarioValues, _ sizing: Sizing) {
            workers = sizing.workers.total.map { Double($0) } ?? .infinity
            shortage = sizing.shortage(values)
            barelyNeeded =
                sizing.workers.total == nil
                ? .infinity : sizing.workers.barelyNeeded.map { Double($0) } ?? .infinity
            requests = sizing.demand.peakRequestsPerSecond
            egress = sizing.demand.peakEgressBitsPerSecond
            storage = sizing.demand.edgeStorageBytes
            fill = sizing.demand.fillBitsPerSecond
            isWithoutTime = sizing.workers.stops.contains {
                $0.limit == ScenarioInput.bootSeconds.row.path
            }
            edgeCores = sizing.edge.coresInUse
        }
    }

    /// A provider's cost in each of its currencies.
    struct Cost {
        let provider: String
        let currency: String
        var values: [Double]
    }

    private(set) var draws: [Draw] = []
    private(set) var costs: [Cost] = []

    init(_ count: Int) { draws.reserveCapacity(count) }

    mutating func add(_ draw: Draw) { draws.append(draw) }

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

    func share(_ isTrue: (Draw) -> Bool) -> Double {
        Double(draws.count { isTrue($0) }) / Double(max(1, draws.count))
    }

    /// Returns the value that a share of `level` of the draws does not exceed.
    func quantile(_ level: Double, of figure: (Draw) -> Double) -> Double {
        let sorted = draws.map(figure).sorted()
        guard !sorted.isEmpty else { return 0 }
        let index = (level * Double(sorted.count) - 1e-9).rounded(.up) - 1
        return sorted[min(max(0, Int(index)), sorted.count - 1)]
    }

    /// Workers in the draws with a sufficient pool.
    var workers: [Double] { draws.map(\.workers).filter(\.isFinite) }

    var ranges: [Uncertainty.Range] {
        var all = [
            Self.range("peak requests", "1/s", draws.map(\.requests)),
            Self.range("peak egress", "bit/s", draws.map(\.egress)),
            Self.range("edge storage", "B", draws.map(\.storage)),
        ]
        let fill = draws.filter { !$0.isWithoutTime }.map(\.fill)
        if !fill.isEmpty { all.insert(Self.range("fill", "bit/s", fill), at: 2) }
        let workers = self.workers
        guard workers.count >= Uncertainty.fewest(draws: draws.count) else { return all }
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
            let position = share * Double(sorted.count - 1)
            let index = Int(position)
            guard index + 1 < sorted.count else { return last }
            return sorted[index] + (sorted[index + 1] - sorted[index]) * (position - Double(index))
        }
        return Uncertainty.Range(
            figure: figure, unit: unit, p10: quantile(0.1), p50: quantile(0.5), p90: quantile(0.9))
    }
}
