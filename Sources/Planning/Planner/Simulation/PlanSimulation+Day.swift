import Glibc
import Statistics

/// Simulates a day: on-demand fetches by the hour, the fill from its start, worker failures.
struct DayRun {
    private(set) var rows: [PlanSimulation.Row] = []
    private(set) var hours: [PlanSimulation.Hour] = []
    private(set) var notes: [String] = []
    /// Hour with the lowest demand, at which the fill begins.
    private static let quietHour = 3
    private static let maxTransfers = 100_000

    init(
        _ values: ScenarioValues, _ sizing: Sizing, workers: Int, jobs: Int, seed: UInt64
    ) {
        let day = PlannedDay(values, sizing, workers: workers, fillStart: Self.quietHour)
        if let reason = Self.tooLarge(day, jobs: jobs) {
            notes.append("The day was not simulated: \(reason)")
            return
        }
        guard day.fillJobs + day.onDemandJobs >= 1 else {
            notes.append("Nothing is fetched, so no day was simulated.")
            return
        }
        let failures = PoolSimulation.Failures(
            meanSecondsBetween: values[.hoursBetweenFailures] * 3_600,
            repairSeconds: max(1, values[.bootSeconds]), leaseSeconds: PlanSimulation.leaseSeconds)
        var simulation = PoolSimulation(
            workers: workers, slotsPerWorker: day.slots / workers, arrivalsPerSecond: day.rates,
            service: TimeDistribution(meanSeconds: day.missSeconds, cv2: values[.serviceCV2]),
            // More than needed: the simulation ends with the day.
            jobs: day.onDemandJobs > 0 ? wholeDown(day.onDemandJobs * 2) + 1_000 : 0)
        simulation.untilSeconds = ArrivalProcess.daySeconds
        simulation.arrivalCV2 = values[.arrivalCV2]
        simulation.backlogJobs = wholeDown(day.fillJobs)
        simulation.backlogStartSeconds = day.fillStartSeconds
        simulation.backlogService = TimeDistribution(
            meanSeconds: day.fillSeconds, cv2: values[.serviceCV2])
        simulation.failures = failures
        simulation.seed = seed
        let result = simulation.run()
        guard result.isComplete else {
            notes.append("The simulated day never ends: workers fail before they finish any work.")
            return
        }
        compare(day, result)
        compareFailures(day, failures, result)
        showHours(day, result)
        notes.append(
            "A day: \(Scenario.grouped(result.waits.count)) fetches on demand by the hour, "
                + "\(Scenario.grouped(simulation.backlogJobs)) of the fill from \(Self.quietHour):00 on, first "
                + "come, first served, on-demand fetches first. Workers fail after "
                + "\(PeakRun.rounded(values[.hoursBetweenFailures])) hours on average, are "
                + "replaced in \(PeakRun.rounded(failures.repairSeconds)) s, and their jobs "
                + "are handed out again after \(Int(PlanSimulation.leaseSeconds)) s.")
    }

    /// Describes why a day cannot be simulated, and what would allow it; nil if it can.
    private static func tooLarge(_ day: PlannedDay, jobs: Int) -> String? {
        guard day.slots <= maxTransfers else {
            return "the pool has \(Scenario.grouped(day.slots)) transfers, and a day can be "
                + "simulated with at most \(Scenario.grouped(maxTransfers))."
        }
        let fetches = (day.fillJobs + day.onDemandJobs).rounded(.up)
        guard fetches > Double(jobs) else { return nil }
        let most = PlanSimulation.allowedJobs.upperBound
        return "it has \(Scenario.grouped(fetches)) fetches, and --jobs is "
            + "\(Scenario.grouped(jobs)). "
            + (fetches <= Double(most)
                ? "Use --jobs \(Scenario.plain(fetches))."
                : "At most \(Scenario.grouped(most)) can be simulated (--jobs).")
    }

    private mutating func add(
        _ figure: String, _ unit: String, _ predicted: Double?, _ simulated: Double?
    ) {
        rows.append(
            PlanSimulation.Row(
                figure: figure, unit: unit,
                predicted: predicted.flatMap { $0.isFinite ? $0 : nil },
                simulated: simulated.flatMap { $0.isFinite ? $0 : nil }))
    }

    private mutating func compare(_ day: PlannedDay, _ result: SimulationResult) {
        add("in a day, in use", "", day.utilisation, result.utilisation)
        if day.onDemandJobs > 0 {
            add("in a day, queue", "", day.meanQueueLength, result.meanQueueLength)
            add("in a day, mean wait", "s", day.meanWaitSeconds, result.waits.mean)
            for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
                add(
                    "in a day, \(name) of waits", "s", day.waitSeconds(share),
                    result.waits.quantile(share))
            }
        }
        if day.fillJobs >= 1 {
            add(
                "fill takes", "h", day.fillHours,
                result.backlogDoneSeconds.map { ($0 - day.fillStartSeconds) / 3_600 })
        }
    }

    private mutating func compareFailures(
        _ day: PlannedDay, _ failures: PoolSimulation.Failures, _ result: SimulationResult
    ) {
        // A failed worker cannot fail again before its replacement has started.
        let cycle = failures.meanSecondsBetween + failures.repairSeconds
        let lost = Double(day.workers) * result.seconds / cycle
        add("workers lost", "", lost, Double(result.failures))
        let back = max(0, 1 - failures.repairSeconds / max(1, result.seconds))
        add("workers back", "", lost * back, Double(result.replacements))
        add(
            "fetches repeated", "",
            lost * Double(day.slots / day.workers) * min(1, day.utilisation),
            Double(result.lostRuns))
    }

    private mutating func showHours(_ day: PlannedDay, _ result: SimulationResult) {
        let rates = day.rates.count == 24 ? day.rates : [Double](repeating: 0, count: 24)
        hours = rates.indices.map { hour in
            let waits = result.waitsByPart.count == 24 ? result.waitsByPart[hour] : WaitHistogram()
            let filled = result.backlogDoneByPart.count == 24 ? result.backlogDoneByPart[hour] : 0
            let predicted = day.waitSeconds(0.95, hour: hour)
            return PlanSimulation.Hour(
                hour: hour, onDemandPlanned: rates[hour],
                onDemandSimulated: Double(waits.count) / 3_600,
                fillSimulated: Double(filled) / 3_600,
                waitPredicted: rates[hour] > 0 && predicted.isFinite ? predicted : nil,
                waitSimulated: waits.count > 0 ? waits.quantile(0.95) : nil)
        }
    }
}

/// A plan's day, hour by hour.
struct PlannedDay {
    let workers: Int
    /// Concurrent transfers.
    let slots: Int
    /// Misses per second in each hour.
    let rates: [Double]
    let fillJobs: Double
    let fillStartSeconds: Double
    /// Nil if it never ends.
    let fillHours: Double?
    /// Time of an on-demand transfer and of the fill's, with contention and origin limits.
    let missSeconds: Double
    let fillSeconds: Double
    private let models: [WaitingModel]

    init(_ values: ScenarioValues, _ sizing: Sizing, workers: Int, fillStart: Int) {
        let demand = sizing.demand
        self.workers = workers
        slots = workers * max(1, Int(values[.connections]))
        rates = Self.hours(demand, shape: values.hourlyShape)
        fillJobs = demand.fillSegmentsPerDay.rounded(.down)
        fillStartSeconds = Double(fillStart) * 3_600
        let pool = OnDemandPool(values, demand)
        let night = NightPool(
            values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        fillHours = night.hours(demand, workers: workers)
        let efficiency = Double(workers) * pool.scalability.efficiency(Double(workers))
        func seconds(_ speed: WorkerSpeed, _ most: OriginLimits.Most?, _ slots: Int) -> Double {
            let byWorkers = efficiency * speed.segmentsPerSecond
            return Double(slots) / max(1e-9, min(byWorkers, most?.perSecond ?? byWorkers))
        }
        missSeconds = seconds(sizing.missSpeed, pool.originMost, slots)
        fillSeconds = seconds(sizing.fillSpeed, night.originMost, slots)
        let (servers, missSeconds) = (slots, missSeconds)
        models = rates.map { rate in
            WaitingModel(
                servers: servers, arrivalsPerSecond: rate, serviceSeconds: missSeconds,
                arrivalCV2: values[.arrivalCV2], serviceCV2: values[.serviceCV2],
                correction: values.correction)
        }
    }

    var onDemandJobs: Double { rates.reduce(0, +) * 86_400 / Double(rates.count) }

    /// Mean over a day; without on-demand fetches over the time until the fill ends.
    var utilisation: Double {
        let work = onDemandJobs * missSeconds + fillJobs * fillSeconds
        let seconds =
            onDemandJobs > 0
            ? ArrivalProcess.daySeconds : fillStartSeconds + (fillHours ?? .infinity) * 3_600
        return work / Double(slots) / seconds
    }

    /// Returns the part of an hour in which the fill runs.
    private func fillShare(_ hour: Int) -> Double {
        guard fillJobs >= 1 else { return 0 }
        let begin = fillStartSeconds / 3_600
        let end = begin + (fillHours ?? .infinity)
        func within(_ from: Double) -> Double {
            max(0, min(end, from + 1) - max(begin, from))
        }
        // The rest of it continues after midnight.
        return min(1, within(Double(hour)) + within(Double(hour + 24)))
    }

    private func meanWaitBesideFill(_ hour: Int) -> Double {
        NightPool.meanWaitBesideFill(
            fillSeconds: fillSeconds, slots: slots, load: models[hour].load)
    }

    private func share(atMost seconds: Double, hour: Int) -> Double {
        let filling = fillShare(hour)
        let beside = meanWaitBesideFill(hour)
        return filling * (beside.isFinite ? 1 - exp(-seconds / beside) : 0)
            + (1 - filling) * models[hour].serviceLevel(withinSeconds: seconds)
    }

    private func meanWait(_ hour: Int) -> Double {
        let filling = fillShare(hour)
        let beside = filling > 0 ? filling * meanWaitBesideFill(hour) : 0
        return beside + (filling < 1 ? (1 - filling) * models[hour].meanWaitSeconds : 0)
    }

    /// Mean number of waiting jobs over the day, by Little's law.
    var meanQueueLength: Double {
        rates.indices.reduce(0) { $0 + (rates[$1] > 0 ? rates[$1] * meanWait($1) : 0) }
            / Double(rates.count)
    }

    var meanWaitSeconds: Double {
        let rate = rates.reduce(0, +) / Double(rates.count)
        return rate > 0 ? meanQueueLength / rate : 0
    }

    /// Returns the wait that a share of a day's or an hour's fetches does not exceed; infinite for
    /// a growing queue.
    func waitSeconds(_ share: Double, hour: Int? = nil) -> Double {
        let parts = hour.map { [$0] } ?? Array(rates.indices)
        let all = parts.reduce(0) { $0 + rates[$1] }
        guard all > 0 else { return 0 }
        func reached(_ seconds: Double) -> Bool {
            parts.reduce(0) { $0 + rates[$1] / all * self.share(atMost: seconds, hour: $1) }
                >= share
        }
        if reached(0) { return 0 }
        var high = 1e-6
        while !reached(high) {
            high *= 2
            if high > 1e9 { return .infinity }
        }
        var low = 0.0
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if reached(middle) { high = middle } else { low = middle }
        }
        return high
    }

    /// Returns misses per second in each hour: by an access log's shape, or by a daily wave with
    /// the plan's mean and its peak at 21:00.
    static func hours(_ demand: Demand, shape: [Double]?) -> [Double] {
        let mean = demand.meanMissesPerSecond
        guard mean > 0 else { return [Double](repeating: 0, count: 24) }
        if let shape {
            let sum = shape.reduce(0, +)
            return shape.map { $0 / sum * 24 * mean }
        }
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
