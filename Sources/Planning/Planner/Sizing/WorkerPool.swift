import Glibc
package import Statistics

/// The time from a job's submission to its lease by an idle worker, by median and 99th percentile.
///
/// The distribution between and beyond them is assumed to be lognormal.
package struct DispatchTime: Sendable {
    private let median: Double
    private let p99: Double

    package init(_ values: ScenarioValues) {
        p99 = values[.dispatchSeconds]
        median = min(values[.dispatchMedian], p99)
    }

    /// Returns the seconds that a share of `quantile` (above 0, below 1) does not exceed.
    package func seconds(quantile: Double) -> Double {
        guard median > 0 else { return quantile > 0.5 ? p99 : 0 }
        return median * pow(p99 / median, normalQuantile(quantile) / Self.normalP99)
    }

    private static let normalP99 = normalQuantile(0.99)
}

/// A pool of workers for on-demand fetches, and the waits of fetches.
///
/// Transfer slots are the servers of a G/G/c queue. Losses by contention (the Universal Scalability
/// Law) lengthen each transfer. An origin's limit bounds the concurrent transfers: from the number
/// of workers that reaches it on, more of them have no effect.
package struct OnDemandPool: Sendable {
    package let arrivalsPerSecond: Double
    package let scalability: Scalability
    package let connections: Int
    package let arrivalCV2: Double
    package let serviceCV2: Double
    package let correction: WaitingModel.Correction
    /// Time before any wait for a transfer slot.
    package let dispatch: DispatchTime
    /// The origin's limit; nil without one.
    package let originMost: OriginLimits.Most?
    private let atOrigin: AtOrigin?

    /// The number of workers from which on the origin's limit binds, and the concurrent transfers
    /// there.
    private struct AtOrigin {
        let workers: Int
        let transfers: Int
        let perSecond: Double
    }

    package init(_ values: ScenarioValues, _ demand: Demand) {
        self.init(
            values, demand, miss: WorkerSpeed(values, bytes: demand.missBytes), heedsOrigin: true)
    }

    init(_ values: ScenarioValues, _ demand: Demand, miss: WorkerSpeed, heedsOrigin: Bool) {
        arrivalsPerSecond = demand.peakMissesPerSecond
        let scalability = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: miss.segmentsPerSecond)
        self.scalability = scalability
        let connections = max(1, Int(values[.connections]))
        self.connections = connections
        arrivalCV2 = values[.arrivalCV2]
        serviceCV2 = values[.serviceCV2]
        correction = values.correction
        dispatch = DispatchTime(values)
        originMost = heedsOrigin ? OriginLimits(values).most(of: miss) : nil
        atOrigin = originMost.flatMap { most in
            let reach = scalability.fewest(
                forThroughput: most.perSecond, atMost: Sizing.maxWorkers)
            return reach.map { reach in
                let workers = max(1, reach)
                let seconds =
                    Double(workers * connections) / scalability.throughput(Double(workers))
                return AtOrigin(
                    workers: workers, transfers: max(1, wholeDown(most.perSecond * seconds + 1e-9)),
                    perSecond: max(1e-12, most.perSecond))
            }
        }
    }

    /// Number of workers from which on the origin's limit binds; nil if it never does.
    package var workersAtOrigin: Int? { atOrigin?.workers }

    /// Returns the queue of `workers` workers.
    package func waiting(
        _ workers: Int, by correction: WaitingModel.Correction? = nil
    ) -> WaitingModel {
        var servers = workers * connections
        var perSecond = scalability.throughput(Double(workers))
        if let atOrigin, workers >= atOrigin.workers {
            (servers, perSecond) = (atOrigin.transfers, atOrigin.perSecond)
        }
        return WaitingModel(
            servers: servers, arrivalsPerSecond: arrivalsPerSecond,
            serviceSeconds: Double(servers) / perSecond, arrivalCV2: arrivalCV2,
            serviceCV2: serviceCV2, correction: correction ?? self.correction)
    }

    /// Returns the seconds from submission to the start of the transfer that a share of `quantile`
    /// does not exceed; infinite for a growing queue.
    ///
    /// It adds the quantiles of dispatch time and of the wait. The sum is at least the quantile of
    /// the total if both are long together, and otherwise slightly above it.
    package func waitSeconds(_ workers: Int, quantile: Double) -> Double {
        waiting(workers).waitSeconds(quantile: quantile) + dispatch.seconds(quantile: quantile)
    }

    /// Returns the minimum number of workers with which a share of `level` of all fetches starts
    /// within `seconds`, at a utilization of at most `maxUtilisation`; nil if no number suffices.
    package func fewest(
        level: Double, withinSeconds seconds: Double, maxUtilisation: Double, atMost: Int,
        by correction: WaitingModel.Correction? = nil
    ) -> Int? {
        guard arrivalsPerSecond > 0 else { return 0 }
        let left = seconds - dispatch.seconds(quantile: level)
        if left < 0 { return nil }
        if let originMost, arrivalsPerSecond >= originMost.perSecond { return nil }
        let first = scalability.fewest(
            forThroughput: arrivalsPerSecond / maxUtilisation, atMost: atMost)
        guard let first else { return nil }
        // Throughput falls beyond the law's peak and stays constant beyond the origin's limit.
        var most = max(first, min(atMost, scalability.peakN.map { wholeDown($0) } ?? atMost))
        if let atOrigin { most = max(first, min(most, atOrigin.workers)) }
        return minSufficient(from: first, atMost: most) { workers in
            waiting(workers, by: correction).serviceLevel(withinSeconds: left) >= level
        }
    }

    /// Returns ⌈a + β√a⌉ transfers in workers: a check on the plan, for a probability `waiting` of
    /// any wait.
    package func squareRootStaffing(sizedAs workers: Int, waiting share: Double) -> Int {
        let model = waiting(max(1, workers))
        guard model.load < 1e12 else { return Sizing.maxWorkers }
        let slots = WaitingModel.squareRootStaffing(
            load: model.load, targetProbabilityOfWait: min(1, max(1e-9, share)))
        return (slots + connections - 1) / connections
    }
}

/// The pool during the fill: fetches of the fill, and misses at their mean.
package struct NightPool: Sendable {
    package let segmentsPerSecond: Double
    package let missesPerSecond: Double
    /// Scalability for the mixture of both in proportion to the demand.
    package let scalability: Scalability
    /// The origin's limit for the fill; nil without one.
    package let originMost: OriginLimits.Most?
    private let fillPerSecond: Double
    private let fill: WorkerSpeed
    private let miss: WorkerSpeed

    package init(
        _ values: ScenarioValues, _ demand: Demand, fill: WorkerSpeed, miss: WorkerSpeed
    ) {
        let misses = demand.meanMissesPerSecond
        let all = demand.fillSegmentsPerSecond + misses
        // A worker's speed with a mixture: the harmonic mean of its speeds with each kind.
        let seconds =
            all > 0
            ? (demand.fillSegmentsPerSecond / fill.segmentsPerSecond
                + misses / miss.segmentsPerSecond) / all : 1
        segmentsPerSecond = all
        missesPerSecond = misses
        scalability = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: 1 / seconds)
        originMost = OriginLimits(values).most(of: fill, beside: misses, of: miss)
        fillPerSecond = demand.fillSegmentsPerSecond
        self.fill = fill
        self.miss = miss
    }

    /// True if the origin's limits allow the fill to end by its deadline.
    var originAllows: Bool {
        fillPerSecond == 0 || originMost?.allows(fillPerSecond) ?? true
    }

    func fewest(utilisation: Double, atMost: Int) -> Int? {
        guard originAllows else { return nil }
        guard segmentsPerSecond > 0 else { return 0 }
        return scalability.fewest(
            forThroughput: segmentsPerSecond / utilisation, atMost: atMost)
    }

    /// Returns the fetches of both kinds per second of `workers` workers, within the origin's limit
    /// for the fill.
    package func segmentsPerSecond(workers: Int) -> Double {
        let byWorkers = scalability.throughput(Double(workers))
        return min(byWorkers, originMost.map { $0.perSecond + missesPerSecond } ?? byWorkers)
    }

    /// Returns the fetches of the fill per second of `workers` workers beside the misses; 0 for
    /// none.
    package func fillPerSecond(workers: Int) -> Double {
        let inUse = Double(workers) * scalability.efficiency(Double(workers))
        let byWorkers = (inUse - missesPerSecond / miss.segmentsPerSecond) * fill.segmentsPerSecond
        return max(0, min(byWorkers, originMost?.perSecond ?? byWorkers))
    }

    /// Returns the seconds from submission to the start of the transfer that a share of `quantile`
    /// of the misses does not exceed during the fill; infinite for a growing queue.
    package func waitBesideFill(
        _ workers: Int, _ pool: OnDemandPool, quantile: Double
    ) -> Double {
        let slots = workers * pool.connections
        let inUse = Double(workers) * scalability.efficiency(Double(workers))
        func seconds(_ speed: WorkerSpeed, _ most: OriginLimits.Most?) -> Double {
            let byWorkers = inUse * speed.segmentsPerSecond
            return Double(slots) / max(1e-9, min(byWorkers, most?.perSecond ?? byWorkers))
        }
        let mean = Self.meanWaitBesideFill(
            fillSeconds: seconds(fill, originMost), slots: slots,
            load: missesPerSecond * seconds(miss, pool.originMost))
        return mean * -log(1 - quantile) + pool.dispatch.seconds(quantile: quantile)
    }

    /// Returns the mean wait during the fill. All transfer slots are in use, so an on-demand fetch
    /// waits for slots to become free, less those taken by earlier fetches (M/M/c with priority,
    /// saturated).
    static func meanWaitBesideFill(fillSeconds: Double, slots: Int, load: Double) -> Double {
        let spare = Double(slots) - load
        return spare > 0 ? fillSeconds / spare : .infinity
    }

    /// Minimum number of workers that fill as fast as the origin allows; nil without limits, or if
    /// no number suffices.
    package var workersAtOrigin: Int? {
        guard let originMost, fillPerSecond > 0 else { return nil }
        let inUse =
            originMost.perSecond / fill.segmentsPerSecond
            + missesPerSecond / miss.segmentsPerSecond
        let single = Scalability(
            alpha: scalability.alpha, beta: scalability.beta, gamma: 1)
        return single.fewest(forThroughput: inUse, atMost: Sizing.maxWorkers).map { max(1, $0) }
    }

    /// Returns the hours that `workers` workers need for a day's fill; nil if they never finish.
    package func hours(_ demand: Demand, workers: Int) -> Double? {
        guard workers > 0 else { return nil }
        guard demand.fillSegmentsPerDay > 0 else { return 0 }
        let rate = fillPerSecond(workers: workers)
        return rate > 0 ? demand.fillSegmentsPerDay / rate / 3_600 : nil
    }
}
