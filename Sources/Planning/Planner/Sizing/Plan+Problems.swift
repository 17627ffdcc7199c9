extension Plan {
    /// Problems of a plan, a sentence each.
    static func problems(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing, _ options: Options
    ) -> [String] {
        var advice = Advice(scenario, options, sizing.workers.stops)
        var problems = sizing.workers.stops.map { stop in
            reason(stop, values, sizing, &advice) + basis(of: stop, scenario)
        }
        problems += besideFill(values, sizing)
        let database = sizing.database.coresInUse / values[.databaseCores]
        if database > 1 - values[.headroom] {
            let (use, allowed) = apart(database * 100, (1 - values[.headroom]) * 100)
            problems.append(
                "database.cores is too low: the plan would use \(use) % of it; pool.headroom allows "
                    + "\(allowed) %.")
        }
        if let storage = values.known(.storageGigabytes),
            sizing.demand.edgeStorageBytes > storage * 1e9
        {
            let fits = storage * 1e9 / sizing.demand.edgeStorageBytes * values[.storedShare]
            let share = advice.storedShare(from: fits, gigabytes: storage)
            problems.append(
                "edge.storageGigabytes is too low: what is stored of the catalog needs "
                    + "\(Scenario.plain((sizing.demand.edgeStorageBytes / 1e9).rounded(.up)))."
                    + (share.map {
                        " An edge.storedShare of \(Scenario.plain($0)) would fit."
                    } ?? ""))
        }
        return problems
    }

    /// Describes how well the limit of a goal is known; empty for a given one.
    private static func basis(of stop: Sizing.Stop, _ scenario: Scenario) -> String {
        guard let input = ScenarioInput.named(stop.limit), input != .headroom else { return "" }
        if scenario.given[input] == nil {
            return " \(stop.limit) is an assumption; --calibrate measures it."
        }
        return scenario.lowerBounds.contains(input)
            ? " The origin allows at least that: the search did not reach its limit. Search on from "
                + "a higher load first." : ""
    }

    /// Describes why no pool reaches a goal, and possible remedies.
    private static func reason(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ advice: inout Advice
    ) -> String {
        let demand = sizing.demand
        if stop.limit == ScenarioInput.headroom.row.path {
            return withoutHeadroom(stop, values, sizing, &advice)
        }
        let isOrigin = stop.limit.hasPrefix("origin.")
        switch stop.goal {
        case .deadline:
            let start =
                "No pool suffices: no number of workers ends the nightly fill by its deadline"
            guard isOrigin else {
                return "\(start), \(ofFill(stop, values, sizing, &advice))"
            }
            let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
            let most = night.originMost?.perSecond ?? 0
            let (left, needed) = apart(most, demand.fillSegmentsPerSecond)
            return "\(start): \(stop.limit) leaves it \(left) fetches per second, and it needs "
                + "\(needed). \(moreTime(values, demand, most, &advice))"
        case .onDemand:
            let start =
                "No pool suffices: no number of workers keeps on-demand fetches within "
                + "onDemand.waitSeconds at the peak"
            if stop.limit == ScenarioInput.dispatchSeconds.row.path {
                return "\(start): \(stop.limit) alone takes longer."
            }
            guard isOrigin else {
                return "\(start), \(ofWorkers(stop)). Raise edge.hitRatio, or split the cluster."
            }
            let most = OriginLimits(values).most(of: sizing.missSpeed)?.perSecond ?? 0
            if demand.peakMissesPerSecond < most {
                return start + atUse(stop, values, sizing, most, &advice)
            }
            let (allowed, wanted) = apart(most, demand.peakMissesPerSecond)
            return "\(start): \(stop.limit) allows \(allowed) fetches per second, and there are "
                + "\(wanted). A higher edge.hitRatio would help, or a higher limit."
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

    /// Describes the fill's needs if the origin allows it `most` fetches per second.
    private static func moreTime(
        _ values: ScenarioValues, _ demand: Demand, _ most: Double, _ advice: inout Advice
    ) -> String {
        let others = "a higher limit or a lower catalog.changePerDay"
        guard most > 0 else { return "Misses alone use it up: \(others) would help." }
        let hours = demand.fillSegmentsPerDay / most / 3_600
        guard hours <= 24 else {
            return
                "A day's fill then takes \(rate(hours)) h, so it never catches up: "
                + "\(others) would help."
        }
        let deadline = advice.value(
            of: .deadlineHours, for: .deadline,
            Self.deadlines(from: hours + values[.bootSeconds] / 3_600, values))
        guard let deadline else {
            return "Even a whole day would not be enough: \(others) would help."
        }
        return
            "A fill.deadlineHours of \(Scenario.plain(deadline)) would help, and so would "
            + "\(others)."
    }

    /// Returns tenths of an hour, up to a whole day after workers have started.
    static func deadlines(from hours: Double, _ values: ScenarioValues) -> Advice.Grid {
        let last = wholeUp((24 + values[.bootSeconds] / 3_600) * 10)
        return Advice.Grid(parts: 10, first: min(last, wholeUp(hours * 10)), last: last)
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
