import Statistics

/// The number of workers, or the limit that no number of them overcomes.
extension Sizing.Workers {
    init(
        _ values: ScenarioValues, _ demand: Demand, _ fill: WorkerSpeed, _ miss: WorkerSpeed,
        _ method: WaitMethod
    ) {
        let most = Sizing.maxWorkers
        let pool = OnDemandPool(values, demand, miss: miss, heedsOrigin: true, method)
        let night = NightPool(values, demand, fill: fill, miss: miss)
        let used = 1 - values[.headroom]
        func onDemand(
            _ utilisation: Double, by correction: WaitingModel.Correction? = nil,
            of pool: OnDemandPool
        ) -> Int? {
            pool.fewest(
                level: values[.percentile], withinSeconds: values[.waitSeconds],
                maxUtilisation: utilisation, atMost: most, by: correction)
        }
        // A drawn boot time may exceed a drawn deadline.
        let isInTime = demand.fillSegmentsPerDay == 0 || Self.hasTime(values)
        let forDeadline = isInTime ? night.fewest(utilisation: used, atMost: most) : nil
        let forOnDemand = onDemand(used, of: pool)
        self.forDeadline = forDeadline
        self.forOnDemand = forOnDemand
        forOnDemandOtherwise = onDemand(used, by: values.correction.other, of: pool)
        let needed = Self.larger(forDeadline, forOnDemand)
        self.needed = needed
        let barelyForDeadline = isInTime ? night.fewest(utilisation: 1, atMost: most) : nil
        let barelyOnDemand = onDemand(0.999, of: pool)
        let barely = Self.larger(barelyForDeadline, barelyOnDemand)
        barelyNeeded = needed.map { min($0, barely ?? $0) } ?? barely
        let spare = Int(values[.spareWorkers])
        self.spare = spare
        total = needed.map { $0 + spare }
        squareRootCheck = needed.map {
            pool.squareRootStaffing(sizedAs: $0, waiting: 1 - values[.percentile])
        }
        let rise = 1 - 1 / demand.peakOverMean
        let booting = min(1, values[.bootSeconds] / (values[.rampMinutes] * 60))
        aheadForBoot = wholeUp(Double(forOnDemand ?? 0) * rise * booting)
        let peak = pool.scalability.peakN.flatMap {
            $0 < Double(most) ? max(1, wholeDown($0)) : nil
        }
        mostUsefulForDeadline = [peak, night.workersAtOrigin].compactMap { $0 }.min()
        mostUsefulOnDemand = [peak, pool.workersAtOrigin].compactMap { $0 }.min()
        var stops: [Sizing.Stop] = []
        if forDeadline == nil {
            var limit = ScenarioInput.headroom.row.path
            if !isInTime {
                limit = ScenarioInput.bootSeconds.row.path
            } else if barelyForDeadline == nil {
                let origin = night.originAllows ? nil : night.originMost?.input
                limit = origin?.row.path ?? Self.ofWorkers(values)
            }
            stops.append(Sizing.Stop(goal: .deadline, limit: limit))
        }
        if forOnDemand == nil {
            var limit = Self.ofWorkers(values)
            if barelyOnDemand != nil {
                limit = ScenarioInput.headroom.row.path
            } else if pool.dispatch.seconds(quantile: values[.percentile]) > values[.waitSeconds] {
                limit = ScenarioInput.dispatchSeconds.row.path
            } else if let origin = pool.originMost {
                let free = OnDemandPool(
                    values, demand, miss: miss, heedsOrigin: false, method)
                if demand.peakMissesPerSecond >= origin.perSecond
                    || onDemand(used, of: free) != nil
                {
                    limit = origin.input.row.path
                }
            }
            stops.append(Sizing.Stop(goal: .onDemand, limit: limit))
        }
        self.stops = stops
    }

    /// Returns true if any time is left until the deadline after workers have started.
    private static func hasTime(_ values: ScenarioValues) -> Bool {
        values[.deadlineHours] * 3_600 > values[.bootSeconds]
    }

    private static func larger(_ one: Int?, _ other: Int?) -> Int? {
        guard let one, let other else { return nil }
        return max(1, one, other)
    }

    /// Returns the input that keeps a larger pool from meeting the demand, other than the origin.
    private static func ofWorkers(_ values: ScenarioValues) -> String {
        if values[.coherency] > 0 { return ScenarioInput.coherency.row.path }
        return values[.contention] > 0 ? ScenarioInput.contention.row.path : "workers"
    }
}

extension WaitingModel.Correction {
    /// The alternative correction.
    package var other: WaitingModel.Correction { self == .kimura ? .allenCunneen : .kimura }
}
