extension Plan {
    /// What stands against a plan, a sentence each.
    static func problems(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing
    ) -> [String] {
        var problems: [String] = []
        for stop in sizing.workers.stops {
            let isAssumed =
                ScenarioInput.named(stop.limit).map { scenario.given[$0] == nil } ?? false
            problems.append(
                reason(stop, values, sizing)
                    + (isAssumed ? " \(stop.limit) is assumed: --calibrate measures it." : ""))
        }
        let database = sizing.database.coresInUse / values[.databaseCores]
        if database > 1 - values[.headroom] {
            problems.append(
                "database.cores is too low: \(percent(database)) of it would be in use, "
                    + "\(percent(1 - values[.headroom])) is allowed by pool.headroom.")
        }
        if let storage = values.known(.storageGigabytes),
            sizing.demand.edgeStorageBytes > storage * 1e9
        {
            problems.append(
                "edge.storageGigabytes is too low: the catalog needs "
                    + "\(Scenario.plain((sizing.demand.edgeStorageBytes / 1e9).rounded(.up))).")
        }
        return problems
    }

    /// Why no pool reaches a goal, and what would help.
    private static func reason(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let demand = sizing.demand
        let isOrigin = stop.limit.hasPrefix("origin.")
        switch stop.goal {
        case .deadline:
            let start =
                "No pool suffices: no number of workers ends the nightly fill by its deadline"
            guard isOrigin else {
                return "\(start), \(ofWorkers(stop)). Split the catalog over several clusters, or "
                    + "give it more hours."
            }
            let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
            let most = night.originMost?.perSecond ?? 0
            return "\(start): \(stop.limit) leaves it \(rate(most)) fetches a second, it asks for "
                + "\(rate(demand.fillSegmentsPerSecond)). \(moreTime(values, demand, most))"
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
            return "\(start): \(stop.limit) allows \(rate(most)) fetches a second, they are "
                + "\(rate(demand.peakMissesPerSecond)). A higher edge.hitRatio would help, or a "
                + "higher limit."
        }
    }

    private static func ofWorkers(_ stop: Sizing.Stop) -> String {
        stop.limit == "workers"
            ? "not even \(Sizing.mostWorkers), the most that a plan reckons with"
            : "as more of them gain nothing (\(stop.limit))"
    }

    /// What a fill needs where the origin lets it have `most` fetches a second.
    private static func moreTime(
        _ values: ScenarioValues, _ demand: Demand, _ most: Double
    ) -> String {
        let others = "a higher limit or a lower catalog.changePerDay would help"
        guard most > 0 else { return "Misses alone use it up: \(others)." }
        let hours = demand.fillSegmentsPerDay / most / 3_600
        guard hours <= 24 else {
            return
                "A day's fill takes \(rate(hours)) h at that, so it would never catch up: \(others)."
        }
        let deadline = ((hours + values[.bootSeconds] / 3_600) * 10).rounded(.up) / 10
        return
            "A fill.deadlineHours of \(Scenario.plain(min(24, deadline))) would help, or \(others)."
    }

    /// Three significant digits.
    private static func rate(_ value: Double) -> String {
        guard value.isFinite, value != 0 else { return Scenario.plain(value) }
        var scale = 1.0
        while abs(value) * scale < 100, scale < 1e6 { scale *= 10 }
        return Scenario.plain((value * scale).rounded() / scale)
    }

    /// From which number of workers on an origin's limit is what binds.
    private static func atOrigin(_ values: ScenarioValues, _ sizing: Sizing) -> [String] {
        let demand = sizing.demand
        guard let total = sizing.workers.total else { return [] }
        var notes: [String] = []
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        if let most = night.originMost, let workers = night.workersAtOrigin, workers <= total {
            notes.append(
                "From \(workers) \(workers == 1 ? "worker" : "workers") on the fill is bound by "
                    + "\(most.input.row.path): more of them do not end it sooner.")
        }
        let pool = OnDemandPool(
            values, demand, miss: sizing.missSpeed, heedsOrigin: true)
        if let most = pool.originMost, let workers = pool.workersAtOrigin, workers <= total,
            demand.peakMissesPerSecond > 0
        {
            notes.append(
                "From \(workers) \(workers == 1 ? "worker" : "workers") on on-demand fetches are "
                    + "bound by \(most.input.row.path): more workers do not shorten their waits.")
        }
        return notes
    }

    static func notes(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing
    ) -> [String] {
        let demand = sizing.demand
        var notes = atOrigin(values, sizing)
        if values[.deadlineHours] > 24 {
            notes.append(
                "fill.deadlineHours is more than a day: the next day's fill comes after 24 h, so each "
                    + "has to be done in that. The plan reckons with 24 h.")
        }
        let law = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: 1)
        if let peak = law.peakN, let total = sizing.workers.total, Double(total) > peak + 1 {
            notes.append(
                "Beyond \(Int(peak)) workers each more takes from what all do (worker.coherency): "
                    + "start the spare ones only in place of others.")
        }
        notes += peaks(scenario, values, demand)
        if let currency = scenario.money.currency {
            let rates = scenario.money.exchange.filter { $0.key != currency }
                .sorted { $0.key < $1.key }
                .map { "1 \($0.key) = \(Scenario.plain($0.value)) \(currency)" }
            let date = scenario.money.exchangeDate ?? "no date"
            notes.append(
                rates.isEmpty
                    ? "No rate is given for other currencies than \(currency): they stay as they are."
                    : "Reckoned with \(rates.joined(separator: ", ")) (given, \(date)); other "
                        + "currencies stay as they are.")
        }
        let check = sizing.workers.squareRootCheck
        if let check, let planned = sizing.workers.forOnDemand, check > planned {
            notes.append(
                "Square-root staffing asks for \(check) workers where hardly any fetch may wait at "
                    + "all; the plan lets them wait within their target.")
        }
        if scenario.given[.segmentsPerSecond] == nil, scenario.given[.cpuPerGigabyte] == nil {
            notes.append(
                "Workers' speed is Dray's own measured one (docs/performance.md), over HTTP "
                    + "without TLS; --calibrate takes that of your machines.")
        }
        return notes
    }

    /// What the peak is by, of viewers and of all else.
    private static func peaks(
        _ scenario: Scenario, _ values: ScenarioValues, _ demand: Demand
    ) -> [String] {
        var notes: [String] = []
        if demand.meanConcurrentViewers > 0 {
            let ratio = demand.peakConcurrentUsers / demand.meanConcurrentViewers
            notes.append(
                "By Little's law \(Scenario.plain(demand.meanConcurrentViewers.rounded())) watch "
                    + "at once on average over the day; the peak is "
                    + "\(Scenario.plain((ratio * 10).rounded() / 10)) times that.")
        }
        let ratio = Scenario.plain(values[.peakToMean])
        if scenario.given[.meanRequests] != nil || scenario.given[.peakRequests] != nil {
            if scenario.given[.meanRequests] == nil || scenario.given[.peakRequests] == nil {
                notes.append(
                    "Of the mean and the peak of requests one was counted; the other is by "
                        + "audience.peakToMean, \(ratio).")
            }
        } else if scenario.given[.peakToMean] == nil, values.actionRequestsPerDay > 0 {
            notes.append(
                "audience.peakToMean, \(ratio), is that of actions; viewers at the peak are by "
                    + "audience.\(scenario.given[.peakConcurrentUsers] == nil ? "peakShare" : "peakConcurrentUsers")."
            )
        }
        return notes
    }

    static func percent(_ share: Double) -> String {
        share.isFinite ? "\(Scenario.plain((share * 100).rounded())) %" : "more than all"
    }
}
