extension Plan {
    /// What stands against a plan, a sentence each.
    static func problems(_ values: ScenarioValues, _ sizing: Sizing) -> [String] {
        var problems: [String] = []
        if sizing.workers.forDeadline == nil {
            problems.append(
                "No number of workers ends the nightly fill by its deadline: more of them gain "
                    + "nothing (worker.contention, worker.coherency). Split the catalog over "
                    + "several clusters, or give it more hours.")
        }
        if sizing.workers.forOnDemand == nil {
            problems.append(
                "No number of workers keeps on-demand fetches within onDemand.waitSeconds at the "
                    + "peak: more of them gain nothing. Raise edge.hitRatio, or split the cluster.")
        }
        if let origin = sizing.origin, origin.share > 1 {
            let path = origin.bindingInput.row.path
            problems.append(
                "\(path) is too low: the plan asks for \(percent(origin.share)) of it. No number "
                    + "of workers mends that; \(advice(values, sizing)).")
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

    /// What would bring the origin within its limits.
    private static func advice(_ values: ScenarioValues, _ sizing: Sizing) -> String {
        guard let share = sizing.origin?.share else { return "" }
        let demand = sizing.demand
        let isNight =
            demand.fillSegmentsPerSecond + demand.meanMissesPerSecond >= demand.peakMissesPerSecond
        guard isNight else { return "a higher edge.hitRatio would" }
        let hours = (values[.deadlineHours] * share * 10).rounded(.up) / 10
        return "a fill.deadlineHours of about \(Scenario.plain(hours)) would"
    }

    static func notes(_ scenario: Scenario, _ sizing: Sizing) -> [String] {
        var notes: [String] = []
        let demand = sizing.demand
        if demand.meanConcurrentViewers > 0 {
            let ratio = demand.peakConcurrentUsers / demand.meanConcurrentViewers
            notes.append(
                "By Little's law \(Scenario.plain(demand.meanConcurrentViewers.rounded())) watch "
                    + "at once on average over the day; the peak is "
                    + "\(Scenario.plain((ratio * 10).rounded() / 10)) times that.")
            if ratio < 1 {
                notes.append(
                    "The peak is under the day's average: audience.peakShare and "
                        + "viewing.minutesPerDay do not go together.")
            }
        }
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
        if let planned = sizing.workers.forOnDemand, check > planned {
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

    static func percent(_ share: Double) -> String {
        share.isFinite ? "\(Scenario.plain((share * 100).rounded())) %" : "more than all"
    }
}
