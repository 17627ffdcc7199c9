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
    package var growth: Growth
    package var uncertainty: Uncertainty?
    /// The assumed inputs that matter most, the most influential first; empty without draws.
    package var keyInputs: [KeyInput]
    /// The simulation job by job, if requested.
    package var simulation: PlanSimulation?
    /// A comparison with a real run, if given.
    package var check: RunCheck?
    /// Empty without prices, and if no pool suffices.
    package var costs: [ProviderCost]
    /// CDNs instead of own edge servers; empty without their prices.
    package var cdns: [CDNCost]
    /// Nil without two options in one currency.
    package var recommendation: Recommendation?
    /// Problems of the plan: limits of origins, deadlines that no number of workers meets.
    package var problems: [String]
    package var notes: [String]
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

        package init() {}
    }

    /// Plans for `scenario`; throws if the scenario is invalid.
    package init(_ scenario: Scenario, _ options: Options = Options()) throws(PlannerError) {
        try scenario.check()
        let likely = ScenarioValues(scenario)
        let draws = options.draws > 0 ? Draws(scenario, options) : nil
        confidence = draws == nil ? nil : options.confidence
        var values = likely
        if let draws, let confidence = options.confidence {
            values = DesignPoint(scenario, confidence: confidence, draws.figures).values
        }
        let sizing = Sizing(values)
        self.name = scenario.name
        service = scenario.service
        self.sizing = sizing
        self.likely = Sizing(likely)
        outcomes = Self.outcomes(values, sizing)
        let forecast = Growth.forecast(values, sizing, months: options.months)
        growth = Growth(forecast)
        problems = Self.problems(scenario, values, sizing)
        if sizing.workers.total == nil, let workers = self.likely.workers.total {
            problems.append(
                "On the likely values of the inputs \(workers) workers suffice: a lower confidence, or "
                    + "narrower ranges of the inputs that matter most, may help.")
        }
        notes = Self.notes(scenario, values, sizing)
        let lastMonth = growth.months.last?.month ?? 0
        if lastMonth < options.months {
            notes.append(
                "The forecast ends with month \(lastMonth): the next month would have "
                    + "more than \(Scenario.grouped(Growth.maxUsers)) users.")
        }
        inputs = Self.inputs(scenario)
        // This month and the following ones.
        let billed = Array(forecast.prefix(max(1, options.months)))
        costs = try ProviderCost.all(scenario, billed, options.prices)
        cdns =
            costs.isEmpty
            ? [] : CDNCost.all(scenario, billed, options.cdns, origins: options.prices)
        recommendation = Recommendation(costs, cdns)
        simulation = options.simulatedJobs.map {
            PlanSimulation(values, sizing, jobs: $0, seed: options.seed)
        }
        let uncertainty = draws.map { Uncertainty($0, sizing) }
        self.uncertainty = uncertainty
        keyInputs = uncertainty.map { KeyInput.all(scenario, $0) } ?? []
    }

    private static func outcomes(_ values: ScenarioValues, _ sizing: Sizing) -> [Outcome] {
        guard let middle = sizing.workers.total ?? sizing.workers.maxUseful else { return [] }
        return [middle - 1, middle, middle + 1].filter { $0 > 0 }.map { workers in
            outcome(values, sizing.demand, workers: workers)
        }
    }

    /// Returns the performance of `workers` workers at the peak and during the fill.
    package static func outcome(
        _ values: ScenarioValues, _ demand: Demand, workers: Int
    ) -> Outcome {
        let pool = OnDemandPool(values, demand)
        let model = pool.waiting(workers)
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let miss = WorkerSpeed(values, bytes: demand.missBytes)
        let night = NightPool(values, demand, fill: fill, miss: miss)
        func wait(_ quantile: Double) -> Double? {
            finite(pool.waitSeconds(workers, quantile: quantile))
        }
        let other = pool.waiting(workers, by: pool.correction.other)
        let beside =
            demand.meanMissesPerSecond > 0 && demand.fillSegmentsPerDay >= 1
            ? finite(night.waitBesideFill(workers, pool, quantile: 0.95)) : nil
        let fillHours = night.hours(demand, workers: workers)
        let window = demand.fillWindowSeconds / 3_600 * (1 + 1e-9)
        let inTime = pool.waitSeconds(workers, quantile: values[.percentile])
        let isOnDemand = demand.peakMissesPerSecond == 0 || inTime <= values[.waitSeconds]
        return Outcome(
            workers: workers, utilisation: model.utilisation,
            queueLength: finite(model.meanQueueLength), waitP50: wait(0.5), waitP95: wait(0.95),
            waitP99: wait(0.99), meanWait: finite(model.meanWaitSeconds),
            meanWaitOtherwise: finite(other.meanWaitSeconds),
            fillHours: fillHours, waitP95BesideFill: beside,
            isEnough: isOnDemand && fillHours.map { $0 <= window } ?? false)
    }

    private static func finite(_ value: Double) -> Double? { value.isFinite ? value : nil }
}
