extension Plan {
    /// Problems of a plan, a sentence each.
    static func problems(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing
    ) -> [String] {
        var problems: [String] = []
        for stop in sizing.workers.stops {
            let isAssumed =
                stop.limit != ScenarioInput.headroom.row.path
                && ScenarioInput.named(stop.limit).map { scenario.given[$0] == nil } ?? false
            problems.append(
                reason(stop, values, sizing)
                    + (isAssumed ? " \(stop.limit) is an assumption; --calibrate measures it." : "")
            )
        }
        problems += besideFill(values, sizing)
        let database = sizing.database.coresInUse / values[.databaseCores]
        if database > 1 - values[.headroom] {
            problems.append(
                "database.cores is too low: the plan would use \(percent(database)) of "
                    + "it; pool.headroom allows \(percent(1 - values[.headroom])).")
        }
        if let storage = values.known(.storageGigabytes),
            sizing.demand.edgeStorageBytes > storage * 1e9
        {
            let fits = storage * 1e9 / sizing.demand.edgeStorageBytes * values[.storedShare]
            problems.append(
                "edge.storageGigabytes is too low: what is stored of the catalog needs "
                    + "\(Scenario.plain((sizing.demand.edgeStorageBytes / 1e9).rounded(.up))). "
                    + "An edge.storedShare of \(rate((fits * 1_000).rounded(.down) / 1_000)) "
                    + "would fit.")
        }
        return problems
    }

    /// Describes why no pool reaches a goal, and possible remedies.
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
            guard isOrigin else {
                return "\(start), \(ofFill(stop, values, sizing))"
            }
            let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
            let most = night.originMost?.perSecond ?? 0
            return "\(start): \(stop.limit) leaves it \(rate(most)) fetches per second, and it "
                + "needs \(rate(demand.fillSegmentsPerSecond)). "
                + "\(moreTime(values, demand, most))"
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
                return start + atUse(stop, values, sizing, most)
            }
            return "\(start): \(stop.limit) allows \(rate(most)) fetches per second, and there "
                + "are \(rate(demand.peakMissesPerSecond)). A higher edge.hitRatio would help, "
                + "or a higher limit."
        }
    }

    static func ofWorkers(_ stop: Sizing.Stop) -> String {
        stop.limit == "workers"
            ? "not even \(Sizing.maxWorkers), the maximum of a plan"
            : "because more of them gain nothing (\(stop.limit))"
    }

    /// Describes the fill's needs if the origin allows it `most` fetches per second.
    private static func moreTime(
        _ values: ScenarioValues, _ demand: Demand, _ most: Double
    ) -> String {
        let others = "a higher limit or a lower catalog.changePerDay"
        guard most > 0 else { return "Misses alone use it up: \(others) would help." }
        let hours = demand.fillSegmentsPerDay / most / 3_600
        guard hours <= 24 else {
            return
                "A day's fill then takes \(rate(hours)) h, so it never catches up: "
                + "\(others) would help."
        }
        let deadline = ((hours + values[.bootSeconds] / 3_600) * 10).rounded(.up) / 10
        return
            "A fill.deadlineHours of \(Scenario.plain(min(24, deadline))) would help, and so would "
            + "\(others)."
    }

    /// Formats three significant digits.
    static func rate(_ value: Double) -> String {
        guard value.isFinite, value != 0 else { return Scenario.plain(value) }
        var scale = 1.0
        while abs(value) * scale < 100, scale < 1e6 { scale *= 10 }
        return Scenario.plain((value * scale).rounded() / scale)
    }

    static func percent(_ share: Double) -> String {
        share.isFinite ? "\(Scenario.plain((share * 100).rounded())) %" : "more than all"
    }
}
