import Statistics

/// Notes on a plan.
extension Plan {
    /// Notes the number of workers from which on an origin's limit binds.
    private static func atOrigin(_ values: ScenarioValues, _ sizing: Sizing) -> [String] {
        let demand = sizing.demand
        guard let total = sizing.workers.total else { return [] }
        var notes: [String] = []
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        if let most = night.originMost, let workers = night.workersAtOrigin, workers <= total {
            notes.append(
                "From \(Scenario.grouped(workers)) \(workers == 1 ? "worker" : "workers") on, "
                    + "\(most.input.row.path) limits the fill: more workers do not end it "
                    + "sooner.")
        }
        let pool = OnDemandPool(
            values, demand, miss: sizing.missSpeed, heedsOrigin: true)
        if let most = pool.originMost, let workers = pool.workersAtOrigin, workers <= total,
            demand.peakMissesPerSecond > 0
        {
            notes.append(
                "From \(Scenario.grouped(workers)) \(workers == 1 ? "worker" : "workers") on, "
                    + "\(most.input.row.path) limits on-demand fetches: more workers do not "
                    + "shorten their waits.")
        }
        return notes
    }

    static func notes(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing,
        _ simulated: SimulatedWaits?
    ) -> [String] {
        let demand = sizing.demand
        var notes = atOrigin(values, sizing)
        if values[.deadlineHours] > 24 {
            notes.append(
                "fill.deadlineHours is more than a day: the next day's fill starts after "
                    + "24 h, so the plan uses 24 h.")
        }
        let law = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: 1)
        if let peak = law.peakN, let total = sizing.workers.total, Double(total) > peak + 1 {
            notes.append(
                "Beyond \(Scenario.grouped(wholeDown(peak))) workers each additional worker lowers "
                    + "the total throughput (worker.coherency): start spare workers only to "
                    + "replace others.")
        }
        if demand.hasUsersByRequests {
            notes.append(
                "The number of users is calculated from the measured requests and the "
                    + "assumed viewing of each user; set audience.monthlyActiveUsers if you "
                    + "know it.")
        }
        notes += peaks(scenario, demand) + content(scenario, values, demand)
        notes += waits(values, demand, simulated)
        if let currency = scenario.money.currency {
            let rates = scenario.money.exchange.filter { $0.key != currency }
                .sorted { $0.key < $1.key }
                .map { "1 \($0.key) = \(rate($0.value)) \(currency)" }
            let date = scenario.money.exchangeDate ?? "no date"
            notes.append(
                rates.isEmpty
                    ? "No exchange rate is given for currencies other than \(currency): "
                        + "these are not converted."
                    : "Converted with \(rates.joined(separator: ", ")) (\(scenario.money.exchangeSource ?? "given"), \(date)); "
                        + "other currencies are not converted.")
        }
        let check = sizing.workers.squareRootCheck
        if let check, let planned = sizing.workers.forOnDemand, check > planned,
            demand.peakMissesPerSecond > 0
        {
            notes.append(
                "Square-root staffing needs \(Scenario.grouped(check)) workers so that hardly any "
                    + "fetch waits; the plan allows waits within the target.")
        }
        let measurements: [ScenarioInput] = [
            .segmentsPerSecond, .serviceSeconds, .connectionMegabits, .originLatency,
        ]
        if scenario.given[.segmentsPerSecond] == nil, scenario.given[.cpuPerGigabyte] == nil {
            let isMeasured = measurements.contains { scenario.measured[$0] != nil }
            notes.append(
                (isMeasured ? "The CPU time of a worker" : "Worker speed")
                    + " is as measured by Dray (docs/performance.md), over HTTP without TLS; "
                    + (isMeasured
                        ? "--calibrate with JSON of `dray benchmark transfer` measures it on your "
                            + "machines." : "use --calibrate for your machines."))
        }
        return notes
    }

    /// Notes how waits were found beyond the formulas' range.
    private static func waits(
        _ values: ScenarioValues, _ demand: Demand, _ simulated: SimulatedWaits?
    ) -> [String] {
        guard let reason = FormulaRange(values).reason, demand.peakMissesPerSecond > 0 else {
            return []
        }
        let method =
            simulated?.note
            ?? "Waits are by formulas, and \(reason) is outside the range in which these are "
            + "within \(FormulaRange.errorPercent) % of simulated waits. They were not simulated, "
            + "because no pool suffices or because it is too large: they are rough estimates."
        let isBursty = values[.arrivalCV2] > FormulaRange.arrivalCV2.upperBound
        return [method] + (isBursty ? [FormulaRange.burstNote] : [])
    }

    /// Notes the source of the peak, for viewers and for other requests.
    private static func peaks(_ scenario: Scenario, _ demand: Demand) -> [String] {
        var notes: [String] = []
        let isWatched = demand.meanConcurrentViewers > 0
        if isWatched {
            let watch = demand.meanConcurrentViewers
            let ratio = demand.peakConcurrentUsers / demand.meanConcurrentViewers
            notes.append(
                "By Little's law "
                    + "\(watch < 10 ? rate(watch) : Scenario.grouped(watch.rounded())) users "
                    + "watch concurrently on average over the day; the peak is "
                    + "\(Scenario.grouped((ratio * 10).rounded() / 10)) times that.")
        }
        if (scenario.given[.meanRequests] == nil) != (scenario.given[.peakRequests] == nil) {
            notes.append(
                "One of mean and peak requests was measured; the other follows from the peak "
                    + "over the mean, \(rate(demand.peakOverMean)).")
        }
        return notes
    }
}
