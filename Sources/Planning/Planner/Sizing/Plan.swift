/// A plan: resources, performance, growth, costs and their uncertainty.
package struct Plan: Codable, Sendable {
    package var name: String
    package var service: ServiceKind
    /// Share of the draws in which each figure suffices; nil for a plan on likely values.
    package var confidence: Double?
    /// The resources, sized for `confidence`.
    package var sizing: Sizing
    /// The same on likely values.
    package var likely: Sizing
    /// The pool as planned, with one worker fewer and with one more. If no pool suffices, around
    /// the largest useful one, if there is one.
    package var outcomes: [Outcome]
    /// Nil if waits are by formulas, and without on-demand fetches.
    package var simulatedWaits: SimulatedWaits?
    package var growth: Growth
    package var uncertainty: Uncertainty?
    /// The assumed inputs that matter most, the most influential first; empty without draws.
    package var keyInputs: [KeyInput]
    /// The simulation job by job, if requested.
    package var simulation: PlanSimulation?
    /// A comparison with a real run, if given.
    package var check: RunCheck?
    /// Empty without prices, and if no pool suffices for another reason than its origin's limits.
    package var costs: [ProviderCost]
    /// Limits of the origin with which no pool suffices: costs are those without any limit of the
    /// origin. Empty if a pool suffices.
    package var costsWithoutLimits: [String]
    /// CDNs instead of own edge servers; empty without their prices.
    package var cdns: [CDNCost]
    /// Nil without two options in one currency.
    package var recommendation: Recommendation?
    /// Problems of the plan: limits of origins, deadlines that no number of workers meets.
    package var problems: [String]
    /// Values with which a pool suffices, each remedy by itself; empty if one does already.
    package var remedies: [Remedy]
    /// Clusters in place of one, if the workers of one miss a goal; nil if no number of them helps.
    package var split: Split?
    package var notes: [String]
    /// Those of `notes` that tell how far measurements of `--calibrate` can be relied on.
    package var calibrationNotes: [String] = []
    /// Asks for another exchange rate if that of the costs is old.
    package var exchangeWarning: String?
    /// Every input with its value, a flag for assumptions, and its source.
    package var inputs: [InputInUse]

    /// The performance of a pool of one size.
    package struct Outcome: Codable, Hashable, Sendable {
        package let workers: Int
        /// Ratio of transfer slots in use, at the peak.
        package let utilisation: Double
        /// Mean number of waiting jobs; nil for a growing queue, like the waits.
        package let queueLength: Double?
        /// Seconds from submission to the start of the transfer.
        package let waitP50: Double?
        package let waitP95: Double?
        package let waitP99: Double?
        /// Mean seconds of waiting for a free slot, by the chosen correction and by the other one;
        /// without the dispatch time.
        package let meanWait: Double?
        package let meanWaitOtherwise: Double?
        /// Half-width of the 95 % interval of a simulated mean wait; nil by formulas, and if no fetch
        /// waited.
        package let meanWaitMargin: Double?
        /// Duration of the nightly fill; nil if it exceeds the available time.
        package let fillHours: Double?
        /// 95th percentile of waits during the fill, with mean misses; nil without misses or fill,
        /// and for a growing queue.
        package let waitP95BesideFill: Double?
        /// True if the pool reaches both goals without headroom.
        package let isEnough: Bool
    }
}

extension Plan {
    /// Options of a plan besides the scenario.
    package struct Options: Sendable {
        package var prices: [PriceBook] = []
        package var cdns: [CDNPrices] = []
        package var months = 36
        /// Draws for the ranges; 0 omits them.
        package var draws = 1_000
        /// Share of the draws in which each figure suffices; nil sizes on likely values. Needs draws.
        package var confidence: Double?
        /// Seed of the draws and of the simulation.
        package var seed: UInt64 = 1
        /// Maximum number of simulated jobs in each of two runs; nil omits the simulation.
        package var simulatedJobs: Int?
        /// Fetches to simulate for each number of workers, if formulas of waits do not hold; 1,000
        /// or more. Some twenty numbers at most take up to two seconds.
        package var waitJobs = 1_000_000

        package init() {}
    }

    /// Plans for `scenario`; throws if the scenario is invalid.
    package init(_ scenario: Scenario, _ options: Options = Options()) throws(PlannerError) {
        try scenario.check()
        let likely = ScenarioValues(scenario)
        let size = PlanSize(scenario, options)
        let (values, formulas, method) = (size.values, size.formulas, size.method)
        let sizing = size.sizing()
        confidence = size.draws == nil ? nil : options.confidence
        self.name = scenario.name
        service = scenario.service
        self.sizing = sizing
        self.likely = Sizing(likely)
        let outcomes = Self.outcomes(values, sizing, method)
        self.outcomes = outcomes
        simulatedWaits = SimulatedWaits(method, values, sizing, formulas, outcomes)
        let forecast = Growth.forecast(
            values, sizing, months: options.months, method.forOtherLoads(values, sizing, formulas))
        growth = Growth(forecast)
        (problems, remedies, split) = Self.problems(scenario, values, sizing, options)
        if sizing.workers.total == nil, let workers = self.likely.workers.total {
            problems.append(
                "On the likely values of the inputs \(Scenario.grouped(workers)) workers suffice: a "
                    + "lower confidence, or narrower ranges of the inputs that matter most, may help."
            )
        }
        notes = Self.notes(scenario, values, sizing, simulatedWaits)
        let lastMonth = growth.months.last?.month ?? 0
        if lastMonth < options.months {
            notes.append(
                "The forecast ends with month \(lastMonth): the next month would have "
                    + "more than \(Scenario.grouped(Growth.maxUsers)) users.")
        }
        inputs = Self.inputs(scenario)
        // This month and the following ones.
        let planned = Array(forecast.prefix(max(1, options.months)))
        let stops = Self.originStops(sizing)
        let billed = stops.isEmpty ? planned : planned.map(\.withoutOriginLimits)
        costs = try ProviderCost.all(scenario, billed, options.prices)
        costsWithoutLimits = costs.isEmpty ? [] : stops
        cdns =
            costs.isEmpty
            ? [] : CDNCost.all(scenario, billed, options.cdns, origins: options.prices)
        recommendation = Recommendation(costs, cdns)
        simulation = options.simulatedJobs.map {
            PlanSimulation(values, sizing, method, jobs: $0, seed: options.seed)
        }
        // Draws are by formulas, and so is the number of workers to compare them with.
        let hasBoth = sizing.workers.total != nil && formulas.workers.total != nil
        let uncertainty = size.draws.map { Uncertainty($0, hasBoth ? formulas : sizing) }
        self.uncertainty = uncertainty
        keyInputs = uncertainty.map { KeyInput.all(scenario, $0) } ?? []
    }

    private static func outcomes(
        _ values: ScenarioValues, _ sizing: Sizing, _ method: WaitMethod
    ) -> [Outcome] {
        guard let middle = sizing.workers.total ?? sizing.workers.maxUseful else { return [] }
        return [middle - 1, middle, middle + 1].filter { $0 > 0 }.map { workers in
            outcome(values, sizing.demand, method, workers: workers)
        }
    }

    /// Returns the performance of `workers` workers at the peak and during the fill.
    package static func outcome(
        _ values: ScenarioValues, _ demand: Demand, _ method: WaitMethod = .formulas, workers: Int
    ) -> Outcome {
        let pool = OnDemandPool(values, demand, method)
        let waits = pool.waits(workers)
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let miss = WorkerSpeed(values, bytes: demand.missBytes)
        let night = NightPool(values, demand, fill: fill, miss: miss)
        func wait(_ quantile: Double) -> Double? {
            finite(pool.waitSeconds(waits, quantile: quantile))
        }
        let other = pool.waiting(workers, by: pool.correction.other)
        let beside =
            demand.meanMissesPerSecond > 0 && demand.fillSegmentsPerDay >= 1
            ? finite(night.waitBesideFill(workers, pool, quantile: 0.95)) : nil
        let fillHours = night.hours(demand, workers: workers)
        let window = demand.fillWindowSeconds / 3_600 * (1 + 1e-9)
        let inTime = pool.waitSeconds(waits, quantile: values[.percentile])
        let isOnDemand = demand.peakMissesPerSecond == 0 || inTime <= values[.waitSeconds]
        return Outcome(
            workers: workers, utilisation: pool.waiting(workers).utilisation,
            queueLength: finite(waits.meanQueueLength), waitP50: wait(0.5), waitP95: wait(0.95),
            waitP99: wait(0.99), meanWait: finite(waits.meanWaitSeconds),
            meanWaitOtherwise: finite(other.meanWaitSeconds), meanWaitMargin: waits.marginSeconds,
            fillHours: fillHours, waitP95BesideFill: beside,
            isEnough: isOnDemand && fillHours.map { $0 <= window } ?? false)
    }

    private static func finite(_ value: Double) -> Double? { value.isFinite ? value : nil }
}
