extension Plan {
    /// Problems of a plan, a sentence each; if no pool suffices, with what would.
    static func problems(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing, _ options: Options
    ) -> (sentences: [String], remedies: [Remedy], split: Split?) {
        let advice = Advice(scenario, options, values, sizing)
        var problems = sizing.workers.stops.map { stop in
            reason(stop, values, sizing) + basis(of: stop, scenario)
        }
        let remedies = problems.isEmpty ? [] : advice.remedies()
        let split = advice.split()
        problems += advice.sentences(remedies, split)
        problems += besideFill(values, sizing, advice)
        problems += ofDatabase(values, sizing, advice)
        problems += ofStorage(values, sizing, advice)
        return (problems, remedies, split)
    }

    /// Describes how well the limit of a goal is known; empty for a given one.
    private static func basis(of stop: Sizing.Stop, _ scenario: Scenario) -> String {
        guard let input = ScenarioInput.named(stop.limit), input != .headroom else { return "" }
        if scenario.given[input] == nil {
            return " \(stop.limit) is an assumption; --calibrate measures it."
        }
        guard let most = scenario.lowerBounds[input] else { return "" }
        return most.isFinite
            ? " The search ended before it found that limit, which is below \(rate(most)): search "
                + "again on a quiet machine first."
            : " The origin allows at least that: the search did not reach its limit. Search on from "
                + "a higher load first."
    }

    /// Describes why no pool reaches a goal.
    private static func reason(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let demand = sizing.demand
        if stop.limit == ScenarioInput.headroom.row.path {
            return withoutHeadroom(stop, values, sizing)
        }
        let isOrigin = stop.limit.hasPrefix("origin.")
        switch stop.goal {
        case .deadline:
            let start =
                "No pool suffices: no number of workers ends the nightly fill by its deadline"
            guard isOrigin else { return "\(start), \(ofFill(stop, values, sizing))" }
            let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
            let most = night.originMost?.perSecond ?? 0
            let (left, needed) = apart(most, demand.fillSegmentsPerSecond)
            return "\(start): \(stop.limit) leaves it \(left) fetches per second, and it needs "
                + "\(needed).\(timeOfFill(demand, most))"
                + (most > 0 || sizing.workers.forOnDemand == nil
                    ? "" : " \(causeOfMisses(values, demand))")
        case .onDemand:
            let start =
                "No pool suffices: no number of workers keeps on-demand fetches within "
                + "onDemand.waitSeconds at the peak"
            if stop.limit == ScenarioInput.dispatchSeconds.row.path {
                return "\(start): \(stop.limit) alone takes longer."
            }
            guard isOrigin else {
                return "\(start), \(ofWorkers(stop)). \(causeOfMisses(values, demand))"
            }
            let most = OriginLimits(values).most(of: sizing.missSpeed)?.perSecond ?? 0
            if demand.peakMissesPerSecond < most {
                return start + atUse(stop, values, sizing, most)
            }
            let (allowed, wanted) = apart(most, demand.peakMissesPerSecond)
            return "\(start): \(stop.limit) allows \(allowed) fetches per second, and there are "
                + "\(wanted). \(causeOfMisses(values, demand))"
        }
    }

    /// Puts first that the missed goals rest on doubtful measurements, if they do.
    package mutating func rest(on doubts: [String]) {
        guard sizing.workers.total == nil, !doubts.isEmpty else { return }
        problems.insert(
            "That no pool suffices rests on \(doubts.joined(separator: " and on ")): measure again "
                + "before you change the plan.", at: 0)
    }

    static func ofWorkers(_ stop: Sizing.Stop) -> String {
        stop.limit == "workers"
            ? "not even \(Scenario.grouped(Sizing.maxWorkers)), the maximum of a plan"
            : "because more of them gain nothing (\(stop.limit))"
    }

    /// Describes a fill for which the origin's limit leaves `most` fetches per second; empty if that
    /// suffices for a day's fill in a day.
    private static func timeOfFill(_ demand: Demand, _ most: Double) -> String {
        guard most > 0 else { return " On-demand fetches alone use it up." }
        let hours = demand.fillSegmentsPerDay / most / 3_600
        return hours <= 24
            ? "" : " A day's fill then takes \(rate(hours)) h, so it never catches up."
    }

    /// Formats three significant digits, or `digits` of them.
    static func rate(_ value: Double, digits: Int = 3) -> String {
        guard value.isFinite, value != 0 else { return Scenario.plain(value) }
        let least = (1..<digits).reduce(1.0) { power, _ in power * 10 }
        var scale = 1.0
        while abs(value) * scale < least, scale < least * 1e4 { scale *= 10 }
        return Scenario.grouped((value * scale).rounded() / scale)
    }

    /// Formats two different numbers with three significant digits, or as many as show the
    /// difference.
    static func apart(_ one: Double, _ other: Double) -> (String, String) {
        var (texts, digits) = ((rate(one), rate(other)), 4)
        while texts.0 == texts.1, digits <= 12 {
            texts = (rate(one, digits: digits), rate(other, digits: digits))
            digits += 1
        }
        return texts
    }

    static func percent(_ share: Double) -> String {
        share.isFinite ? "\(Scenario.grouped((share * 100).rounded())) %" : "more than all"
    }
}
