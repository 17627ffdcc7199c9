import Statistics

/// A simulation of a plan's pool job by job, compared with the plan's figures.
package struct PlanSimulation: Codable, Hashable, Sendable {
    package let seed: UInt64
    package let rows: [Row]
    /// The simulated day; empty if none was simulated.
    package let hours: [Hour]
    /// The simulations, a sentence each.
    package let notes: [String]

    /// A figure as calculated and as simulated; nil for infinite ones.
    package struct Row: Codable, Hashable, Sendable {
        package let figure: String
        /// `s`, `h`, or empty for a share or a count.
        package let unit: String
        package let predicted: Double?
        package let simulated: Double?
    }

    /// An hour of the day: fetches per second, and the 95th percentile of on-demand waits, in
    /// seconds.
    package struct Hour: Codable, Hashable, Sendable {
        package let hour: Int
        package let onDemandPlanned: Double
        package let onDemandSimulated: Double
        package let fillSimulated: Double
        /// Nil without on-demand fetches, or for an infinite queue.
        package let waitPredicted: Double?
        package let waitSimulated: Double?
    }

    /// Default maximum number of simulated on-demand jobs at the peak, and of jobs of a day.
    package static let maxJobs = 2_000_000
    /// The range of that number.
    package static let allowedJobs = 1_000...20_000_000

    /// Default lease time (docs/queue.md): jobs of a killed worker wait so long.
    static let leaseSeconds = 30.0

    init(
        _ values: ScenarioValues, _ sizing: Sizing, _ method: WaitMethod, jobs: Int, seed: UInt64
    ) {
        self.seed = seed
        guard let workers = sizing.workers.total else {
            (rows, hours) = ([], [])
            notes = ["Nothing was simulated: no pool suffices."]
            return
        }
        let peak = PeakRun(values, sizing, method, workers: workers, jobs: jobs, seed: seed)
        let day = DayRun(values, sizing, workers: workers, jobs: jobs, seed: seed)
        rows = peak.rows + day.rows
        hours = day.hours
        notes =
            peak.notes + day.notes
            + (method == .formulas ? [] : ["The plan's figures of a day are by formulas."])
    }
}

/// Simulates the busiest hour as a steady state, to verify the plan's figures.
struct PeakRun {
    private(set) var rows: [PlanSimulation.Row] = []
    private(set) var notes: [String] = []

    init(
        _ values: ScenarioValues, _ sizing: Sizing, _ method: WaitMethod, workers: Int, jobs: Int,
        seed: UInt64
    ) {
        let pool = OnDemandPool(values, sizing.demand, method)
        let model = pool.waiting(workers)
        guard pool.arrivalsPerSecond > 0 else {
            notes.append("Nothing is fetched on demand, so no peak was simulated.")
            return
        }
        guard model.utilisation < 1, model.servers <= 1_000_000 else {
            notes.append("The peak was not simulated: the pool is too small for it.")
            return
        }
        var simulation = PoolSimulation(
            workers: 1, slotsPerWorker: model.servers,
            arrivalsPerSecond: [pool.arrivalsPerSecond],
            service: TimeDistribution(
                meanSeconds: model.serviceSeconds, cv2: pool.serviceCV2,
                shape: method == .formulas ? .phases : QueueQuestion(model).serviceShape),
            jobs: jobs)
        simulation.arrivalCV2 = pool.arrivalCV2
        simulation.warmUpJobs = jobs / 10
        simulation.seed = seed
        let result = simulation.run()
        let planned = pool.waits(workers)
        func row(_ figure: String, _ unit: String, _ predicted: Double, _ simulated: Double) {
            rows.append(
                PlanSimulation.Row(
                    figure: "at the peak, \(figure)", unit: unit,
                    predicted: predicted.isFinite ? predicted : nil,
                    simulated: simulated.isFinite ? simulated : nil))
        }
        row("in use", "", model.utilisation, result.utilisation)
        row("queue", "", planned.meanQueueLength, result.meanQueueLength)
        row("mean wait", "s", planned.meanWaitSeconds, result.waits.mean)
        for (name, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            row(
                "\(name) of waits", "s", planned.waitSeconds(quantile: quantile),
                result.waits.quantile(quantile))
        }
        notes.append(
            "The peak: \(Scenario.grouped(jobs)) on-demand fetches at "
                + "\(Self.rounded(pool.arrivalsPerSecond)) per second, "
                + "\(Scenario.grouped(workers)) workers with "
                + "\(Scenario.grouped(model.servers)) transfers in all; waits without the time to hand a job out."
        )
    }

    static func rounded(_ value: Double) -> String {
        Scenario.grouped((value * 1_000).rounded() / 1_000)
    }
}
