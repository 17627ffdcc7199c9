import Statistics

extension Sizing {
    /// The demand over the most that any pool reaches, of the goal that is missed most; 0 if a pool
    /// suffices, infinite if no time is left for the fill.
    ///
    /// Unlike numbers of workers, it shows by how much a goal is missed. Below 1, the rate would be
    /// enough, but waits are too long.
    func shortage(_ values: ScenarioValues) -> Double {
        workers.stops.map { shortage(of: $0, values) }.max() ?? 0
    }

    private func shortage(of stop: Stop, _ values: ScenarioValues) -> Double {
        let unused = 1 - values[.headroom]
        switch stop.goal {
        case .deadline:
            guard stop.limit != ScenarioInput.bootSeconds.row.path else { return .infinity }
            let night = NightPool(values, demand, fill: fillSpeed, miss: missSpeed)
            return max(
                night.segmentsPerSecond / unused / Self.most(night.scalability),
                night.originMost.map { demand.fillSegmentsPerSecond / $0.perSecond } ?? 0)
        case .onDemand:
            let pool = OnDemandPool(values, demand)
            guard stop.limit != ScenarioInput.dispatchSeconds.row.path else {
                return pool.dispatch.seconds(quantile: values[.percentile]) / values[.waitSeconds]
            }
            return max(
                pool.arrivalsPerSecond / unused / Self.most(pool.scalability),
                pool.originMost.map { pool.arrivalsPerSecond / $0.perSecond } ?? 0)
        }
    }

    /// Returns the highest throughput of any number of workers.
    private static func most(_ scalability: Scalability) -> Double {
        scalability.throughput(min(scalability.peakN ?? .infinity, Double(maxWorkers)))
    }
}
