import Statistics

/// Reasons why no pool reaches a goal, other than workers alone or an exceeded origin limit.
extension Plan {
    /// Describes a goal that is reached only without the headroom.
    static func withoutHeadroom(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let isDeadline = stop.goal == .deadline
        let night = NightPool(values, sizing.demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let pool = OnDemandPool(values, sizing.demand)
        let law = isDeadline ? night.scalability : pool.scalability
        let asked = isDeadline ? night.segmentsPerSecond : pool.arrivalsPerSecond
        let peak = law.peakN ?? Double(Sizing.maxWorkers)
        let workers = max(1, min(wholeDown(peak), Sizing.maxWorkers))
        let most = law.throughput(Double(workers))
        // Rounded down to a reachable value.
        let headroom = max(0, ((1 - asked / most) * 1_000).rounded(.down) / 1_000)
        let goal =
            isDeadline
            ? "end the nightly fill by its deadline"
            : "keep on-demand fetches within onDemand.waitSeconds at the peak"
        return "No pool suffices with pool.headroom: workers \(goal), but never with more than "
            + "\(rate(headroom * 100)) % of the pool unused (with \(workers) of them), and "
            + "pool.headroom requires \(rate(values[.headroom] * 100)) %. Lower pool.headroom "
            + "to \(Scenario.plain(headroom)), or "
            + (isDeadline ? "split the catalog over several clusters." : "split the cluster.")
    }

    /// Describes what limits a fill other than an origin, and possible remedies.
    static func ofFill(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let demand = sizing.demand
        if stop.limit == ScenarioInput.bootSeconds.row.path {
            return "because worker.bootSeconds leaves no time for it."
        }
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let most = min(night.scalability.peakN ?? .infinity, Double(Sizing.maxWorkers))
        if night.fillPerSecond(workers: max(1, wholeDown(most))) == 0 {
            return "because misses alone use all of their capacity (\(stop.limit)). Raise "
                + "edge.hitRatio, or split the cluster."
        }
        var longer = values
        longer[.deadlineHours] = 24 + values[.bootSeconds] / 3_600
        let day = NightPool(
            longer, Demand(longer), fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let isEnough =
            day.fewest(utilisation: 1 - values[.headroom], atMost: Sizing.maxWorkers) != nil
        return "\(ofWorkers(stop)). Split the catalog over several clusters"
            + (isEnough ? ", or give it more hours." : "; even a whole day would not be enough.")
    }

    /// Describes an origin's limit that is above the demand but too close to it.
    static func atUse(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ most: Double
    ) -> String {
        let pool = OnDemandPool(values, sizing.demand)
        let share = sizing.demand.peakMissesPerSecond / most
        var text =
            ": \(stop.limit) would be used to \(rate(share * 100)) %"
        if let workers = pool.workersAtOrigin {
            let wait = pool.waitSeconds(workers, quantile: values[.percentile])
            if wait.isFinite {
                text +=
                    ", and \(rate(values[.percentile] * 100)) % of them start within "
                    + "\(rate(wait)) s, not \(rate(values[.waitSeconds])) s"
            }
        }
        let enough = sufficientLimit(stop, values, sizing)
        return text
            + (enough.map {
                ". An \(stop.limit) of \(rate($0)) would help, or a higher edge.hitRatio."
            }
                ?? ". A higher edge.hitRatio would help, or a higher limit.")
    }

    /// Returns the lowest sufficient limit of the origin, to three digits; nil if no limit alone
    /// suffices.
    private static func sufficientLimit(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> Double? {
        guard let input = ScenarioInput.named(stop.limit), let now = values.known(input) else {
            return nil
        }
        func suffices(_ limit: Double) -> Bool {
            var changed = values
            changed[input] = limit
            return OnDemandPool(changed, sizing.demand).fewest(
                level: values[.percentile], withinSeconds: values[.waitSeconds],
                maxUtilisation: 1 - values[.headroom], atMost: Sizing.maxWorkers) != nil
        }
        var (low, high) = (now, now * 2)
        while !suffices(high) {
            (low, high) = (high, high * 2)
            if high > now * 1e6 { return nil }
        }
        for _ in 0..<30 {
            let middle = (low + high) / 2
            if suffices(middle) { high = middle } else { low = middle }
        }
        if input.row.isWhole { return high.rounded(.up) }
        var scale = 1.0
        while high * scale < 100, scale < 1e6 { scale *= 10 }
        return (high * scale).rounded(.up) / scale
    }

    /// Notes long waits of on-demand fetches for transfers of the fill.
    static func besideFill(_ values: ScenarioValues, _ sizing: Sizing) -> [String] {
        let demand = sizing.demand
        guard let workers = sizing.workers.total, demand.meanMissesPerSecond > 0,
            demand.fillSegmentsPerDay >= 1
        else { return [] }
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let wait = night.waitBesideFill(
            workers, OnDemandPool(values, demand), quantile: values[.percentile])
        guard wait > values[.waitSeconds] else { return [] }
        let target = "onDemand.waitSeconds is \(rate(values[.waitSeconds]))"
        let until = wait.isFinite ? "wait up to \(rate(wait)) s" : "wait without end"
        return [
            "While the fill runs, \(rate(values[.percentile] * 100)) % of on-demand fetches \(until), "
                + "\(target): every transfer is in use then, and one has to end first. More "
                + "worker.connections, more pool.spareWorkers or shorter viewing.segmentSeconds help."
        ]
    }
}
