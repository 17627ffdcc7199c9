/// A plan: what is needed, how well that does, how long it lasts, what it costs, how sure that is.
package struct Plan: Codable, Sendable {
    package var name: String
    package var sizing: Sizing
    /// The pool as planned, with one worker fewer and with one more.
    package var outcomes: [Outcome]
    package var growth: Growth
    package var uncertainty: Uncertainty?
    /// The pool job by job, where that was asked for.
    package var simulation: PlanSimulation?
    /// A real run beside what the plan's inputs say of it, where one was given.
    package var check: RunCheck?
    package var costs: [ProviderCost]
    /// What stands against the plan: limits of origins, deadlines that no number of workers meets.
    package var problems: [String]
    package var notes: [String]
    /// Every input with its value, whether it was assumed, and its source.
    package var inputs: [InputInUse]

    /// How a pool of a size does.
    package struct Outcome: Codable, Hashable, Sendable {
        package let workers: Int
        /// Of all transfers that can be under way, at the peak.
        package let utilisation: Double
        /// Jobs that wait on average; nil for a queue that grows without end, as the waits then are.
        package let queueLength: Double?
        /// Seconds from submission to the start of the transfer.
        package let waitP50: Double?
        package let waitP95: Double?
        package let waitP99: Double?
        /// How long the nightly fill takes; nil for longer than there is.
        package let fillHours: Double?
    }

    package struct InputInUse: Codable, Hashable, Sendable {
        package let path: String
        package let unit: String
        /// Nil for nothing, which `source` then tells the meaning of.
        package let value: Estimate?
        package let isAssumed: Bool
        package let source: String
    }
}

extension Plan {
    /// What a plan is made with, besides the scenario.
    package struct Options: Sendable {
        package var prices: [PriceBook] = []
        package var months = 36
        /// Draws for the ranges; 0 leaves them out.
        package var draws = 1_000
        /// Of the draws, and of the simulation.
        package var seed: UInt64 = 1
        /// Jobs to simulate at most, in each of two runs; nil leaves the simulation out.
        package var simulatedJobs: Int?

        package init() {}
    }

    /// Plans for `scenario`; throws what no plan can be made of.
    package init(_ scenario: Scenario, _ options: Options = Options()) throws(PlannerError) {
        try scenario.check()
        let values = ScenarioValues(scenario)
        let sizing = Sizing(values)
        self.name = scenario.name
        self.sizing = sizing
        outcomes = Self.outcomes(values, sizing)
        growth = Growth(values, sizing, months: options.months)
        problems = Self.problems(values, sizing)
        notes = Self.notes(scenario, sizing)
        inputs = Self.inputs(scenario)
        costs = try ProviderCost.all(scenario, values, sizing, options.prices)
        simulation = options.simulatedJobs.map {
            PlanSimulation(values, sizing, jobs: $0, seed: options.seed)
        }
        uncertainty =
            options.draws > 0
            ? try Uncertainty(scenario, options, sizing) : nil
    }

    private static func outcomes(_ values: ScenarioValues, _ sizing: Sizing) -> [Outcome] {
        let total = sizing.workers.total
        return [total - 1, total, total + 1].filter { $0 > 0 }.map { workers in
            outcome(values, sizing.demand, workers: workers)
        }
    }

    /// How `workers` workers do at the peak, and in the night.
    package static func outcome(
        _ values: ScenarioValues, _ demand: Demand, workers: Int
    ) -> Outcome {
        let pool = OnDemandPool(values, demand)
        let model = pool.waiting(workers)
        let fill = WorkerSpeed(values, bytes: demand.fillSegmentBytes)
        let night = NightPool(values, demand, fill: fill, miss: pool.scalability.gamma)
        func wait(_ quantile: Double) -> Double? {
            finite(model.waitSeconds(quantile: quantile)).map { $0 + pool.dispatchSeconds }
        }
        return Outcome(
            workers: workers, utilisation: model.utilisation,
            queueLength: finite(model.meanQueueLength), waitP50: wait(0.5), waitP95: wait(0.95),
            waitP99: wait(0.99), fillHours: night.hours(demand, workers: workers))
    }

    private static func finite(_ value: Double) -> Double? { value.isFinite ? value : nil }

    /// What every input came to and where from, in the order of their table.
    private static func inputs(_ scenario: Scenario) -> [InputInUse] {
        ScenarioInput.allCases.map { input in
            let row = input.row
            let isAssumed = scenario.given[input] == nil
            var source = "given"
            if isAssumed {
                source = row.source
                if case .none(let meaning) = row.standard { source = meaning }
                if input == .monthlyActiveUsers, scenario.estimate(input) == nil {
                    source = "reckoned back from who is there in a day, or at once"
                }
            } else if let origin = scenario.origins[input] {
                source = origin
            }
            return InputInUse(
                path: row.path, unit: row.unit, value: scenario.estimate(input),
                isAssumed: isAssumed, source: source)
        }
    }
}
