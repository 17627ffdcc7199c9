import Statistics

/// Reasons why no pool reaches a goal, other than workers alone or an exceeded origin limit.
extension Plan {
    /// Describes a goal that is reached only without the headroom.
    static func withoutHeadroom(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ advice: inout Advice
    ) -> String {
        let isDeadline = stop.goal == .deadline
        let night = NightPool(values, sizing.demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let pool = OnDemandPool(values, sizing.demand)
        let law = isDeadline ? night.scalability : pool.scalability
        let asked = isDeadline ? night.segmentsPerSecond : pool.arrivalsPerSecond
        let peak = law.peakN ?? Double(Sizing.maxWorkers)
        let workers = max(1, min(wholeDown(peak), Sizing.maxWorkers))
        let most = law.throughput(Double(workers))
        let unused = max(0, 1 - asked / most)
        let goal =
            isDeadline
            ? "end the nightly fill by its deadline"
            : "keep on-demand fetches within onDemand.waitSeconds at the peak"
        let (reached, required) = apart(unused * 100, values[.headroom] * 100)
        let headroom = advice.value(
            of: .headroom, for: stop.goal,
            Advice.Grid(parts: 1_000, first: wholeDown(unused * 1_000), last: 0))
        let split = isDeadline ? "plit the catalog over several clusters." : "plit the cluster."
        return "No pool suffices with pool.headroom: workers \(goal), but never with more than "
            + "\(reached) % of the pool unused (with \(Scenario.grouped(workers)) of "
            + "them), and pool.headroom requires \(required) %. "
            + (headroom.map { "Lower pool.headroom to \(Scenario.plain($0)), or s\(split)" }
                ?? "S\(split)")
    }

    /// Describes what limits a fill other than an origin, and possible remedies.
    static func ofFill(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ advice: inout Advice
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
        let hours = advice.value(
            of: .deadlineHours, for: .deadline, deadlines(from: values[.deadlineHours], values))
        return "\(ofWorkers(stop)). Split the catalog over several clusters"
            + (hours.map {
                ", or give it more hours: a fill.deadlineHours of \(Scenario.plain($0)) suffices."
            }
                ?? "; even a whole day would not be enough.")
    }

    /// Describes an origin's limit that is above the demand but too close to it.
    static func atUse(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ most: Double,
        _ advice: inout Advice
    ) -> String {
        let pool = OnDemandPool(values, sizing.demand)
        let share = sizing.demand.peakMissesPerSecond / most
        var text =
            ": \(stop.limit) would be used to \(rate(share * 100)) %"
        if let workers = pool.workersAtOrigin {
            let wait = pool.waitSeconds(workers, quantile: values[.percentile])
            if wait.isFinite {
                let (start, target) = apart(wait, values[.waitSeconds])
                text +=
                    ", and \(rate(values[.percentile] * 100)) % of them start within \(start) s, "
                    + "not \(target) s"
            }
        }
        let enough = sufficientLimit(stop, values, sizing).flatMap { input, limits in
            advice.value(of: input, for: stop.goal, limits)
        }
        return text
            + (enough.map {
                ". An \(stop.limit) of \(Scenario.plain($0)) would help, or a higher "
                    + "edge.hitRatio."
            }
                ?? ". A higher edge.hitRatio would help, or a higher limit.")
    }

    /// Returns limits of the origin from the lowest on that suffices for the present values, to
    /// three digits, up to ten times as much; nil if no limit alone suffices.
    private static func sufficientLimit(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> (ScenarioInput, Advice.Grid)? {
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
        var (unit, parts) = (1.0, 1.0)
        if high >= 1_000 {
            while high >= 1_000 * unit { unit *= 10 }
        } else if !input.row.isWhole {
            while high * parts < 100, parts < 1e6 { parts *= 10 }
        }
        let first = wholeUp(high / unit * parts)
        return (input, Advice.Grid(unit: unit, parts: parts, first: first, last: first * 10))
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
        let (waited, allowed) = apart(wait, values[.waitSeconds])
        let target = "onDemand.waitSeconds is \(allowed)"
        let until = wait.isFinite ? "wait up to \(waited) s" : "wait without end"
        return [
            "While the fill runs, \(rate(values[.percentile] * 100)) % of on-demand fetches \(until), "
                + "\(target): every transfer is in use then, and one has to end first. More "
                + "worker.connections, more pool.spareWorkers or shorter viewing.segmentSeconds help."
        ]
    }
}
