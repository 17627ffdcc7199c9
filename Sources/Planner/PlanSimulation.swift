import Glibc

/// A plan's pool simulated job by job, beside what the plan says of it.
package struct PlanSimulation: Codable, Hashable, Sendable {
    package let seed: UInt64
    package let rows: [Row]
    /// What was simulated, a sentence each.
    package let notes: [String]

    /// A figure as it was reckoned and as it was simulated; nil for what has no end.
    package struct Row: Codable, Hashable, Sendable {
        package let figure: String
        /// `s`, `h`, or empty for a share or a count.
        package let unit: String
        package let predicted: Double?
        package let simulated: Double?
    }

    /// On-demand jobs of the peak, and jobs of a day, that are simulated at most.
    package static let mostJobs = 2_000_000

    /// How often workers fail, where nobody says: once in a hundred hours, which is an assumption.
    static let hoursBetweenFailures = 100.0
    /// A lease by default (docs/queue.md): so long what a killed worker held waits.
    static let leaseSeconds = 30.0

    init(_ values: ScenarioValues, _ sizing: Sizing, jobs: Int, seed: UInt64) {
        self.seed = seed
        guard sizing.workers.total != nil else {
            rows = []
            notes = ["Nothing was simulated: no pool suffices."]
            return
        }
        let peak = PeakRun(values, sizing, jobs: jobs, seed: seed)
        let day = DayRun(values, sizing, jobs: jobs, seed: seed)
        rows = peak.rows + day.rows
        notes = peak.notes + day.notes
    }
}

/// The busiest hour as if it never ended: what the formulas say must come out.
private struct PeakRun {
    private(set) var rows: [PlanSimulation.Row] = []
    private(set) var notes: [String] = []

    init(_ values: ScenarioValues, _ sizing: Sizing, jobs: Int, seed: UInt64) {
        let pool = OnDemandPool(values, sizing.demand)
        let workers = sizing.workers.total ?? 0
        let model = pool.waiting(workers)
        guard pool.arrivalsPerSecond > 0 else {
            notes.append("Nothing is fetched on demand, so no peak was simulated.")
            return
        }
        guard model.utilisation < 1, model.servers <= 1_000_000 else {
            notes.append("The peak was not simulated: the pool does not hold it.")
            return
        }
        var simulation = PoolSimulation(
            workers: 1, slotsPerWorker: model.servers,
            arrivalsPerSecond: [pool.arrivalsPerSecond],
            service: TimeDistribution(meanSeconds: model.serviceSeconds, cv2: pool.serviceCV2),
            jobs: jobs)
        simulation.arrivalCV2 = pool.arrivalCV2
        simulation.warmUpJobs = jobs / 10
        simulation.seed = seed
        let result = simulation.run()
        func row(_ figure: String, _ unit: String, _ predicted: Double, _ simulated: Double) {
            rows.append(
                PlanSimulation.Row(
                    figure: "at the peak, \(figure)", unit: unit,
                    predicted: predicted.isFinite ? predicted : nil, simulated: simulated))
        }
        row("in use", "", model.utilisation, result.utilisation)
        row("queue", "", model.meanQueueLength, result.meanQueueLength)
        row("mean wait", "s", model.meanWaitSeconds, result.waits.mean)
        for (name, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            row(
                "\(name) of waits", "s", model.waitSeconds(quantile: quantile),
                result.waits.quantile(quantile))
        }
        notes.append(
            "The peak: \(jobs) on-demand fetches at \(Self.rounded(pool.arrivalsPerSecond)) a second, "
                + "\(workers) workers with \(model.servers) transfers in all; waits without the time "
                + "to hand a job out.")
    }

    static func rounded(_ value: Double) -> String {
        Scenario.plain((value * 1_000).rounded() / 1_000)
    }
}

/// A day: fetches by the hour, the fill from its start, workers that fail.
private struct DayRun {
    private(set) var rows: [PlanSimulation.Row] = []
    private(set) var notes: [String] = []
    /// Least is asked for then, and the fill begins.
    private static let quietHour = 3

    init(_ values: ScenarioValues, _ sizing: Sizing, jobs: Int, seed: UInt64) {
        let demand = sizing.demand
        let workers = sizing.workers.total ?? 0
        let slots = workers * max(1, Int(values[.connections]))
        let ofDay = demand.meanMissesPerSecond * 86_400
        guard demand.fillSegmentsPerDay + ofDay <= Double(jobs), slots <= 100_000 else {
            notes.append(
                "The day was not simulated: it has more than \(jobs) fetches, or the pool more than "
                    + "100000 transfers.")
            return
        }
        guard demand.fillSegmentsPerDay >= 1 else {
            notes.append("Nothing is filled at night, so no day was simulated.")
            return
        }
        let night = NightPool(
            values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        var simulation = PoolSimulation(
            workers: workers, slotsPerWorker: slots / workers,
            arrivalsPerSecond: Self.hours(demand),
            service: TimeDistribution(
                meanSeconds: Double(slots) / night.segmentsPerSecond(workers: workers),
                cv2: values[.serviceCV2]), jobs: Int(ofDay))
        simulation.untilSeconds = 86_400
        simulation.arrivalCV2 = values[.arrivalCV2]
        simulation.backlogJobs = Int(demand.fillSegmentsPerDay)
        simulation.backlogStartSeconds = Double(Self.quietHour) * 3_600
        simulation.failures = PoolSimulation.Failures(
            meanSecondsBetween: PlanSimulation.hoursBetweenFailures * 3_600,
            repairSeconds: max(1, values[.bootSeconds]), leaseSeconds: PlanSimulation.leaseSeconds)
        simulation.seed = seed
        let result = simulation.run()
        // The quiet of the night leaves more to the fill than the mean that the plan reckons with.
        let predicted = night.hours(demand, workers: workers)
        let simulated = result.backlogDoneSeconds.map {
            ($0 - simulation.backlogStartSeconds) / 3_600
        }
        rows.append(
            PlanSimulation.Row(
                figure: "fill takes", unit: "h", predicted: predicted, simulated: simulated))
        notes.append(
            "A day: \(simulation.jobs) fetches on demand by the hour, \(simulation.backlogJobs) of "
                + "the fill from \(Self.quietHour):00 on, workers that fail every "
                + "\(Int(PlanSimulation.hoursBetweenFailures)) hours (assumed): "
                + "\(result.failures) failures, \(result.lostRuns) transfers done again.")
    }

    /// Misses a second in each hour: a day's wave with the plan's mean and its peak, which is at 21:00.
    static func hours(_ demand: Demand) -> [Double] {
        let mean = demand.meanMissesPerSecond
        guard mean > 0 else { return [0] }
        let ratio = max(1, demand.peakMissesPerSecond / mean)
        func wave(_ sharpness: Double) -> [Double] {
            (0..<24).map { exp(sharpness * (cos(2 * .pi * Double($0 - 21) / 24) - 1)) }
        }
        func peakToMean(_ sharpness: Double) -> Double {
            24 / wave(sharpness).reduce(0, +)
        }
        var (low, high) = (0.0, 200.0)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if peakToMean(middle) < ratio { low = middle } else { high = middle }
        }
        let shape = wave(low)
        let sum = shape.reduce(0, +)
        return shape.map { $0 / sum * 24 * mean }
    }
}
