import Glibc
package import Statistics

/// From a job's submission to a worker that is free, by its median and its 99th percentile.
///
/// Lognormal between and beyond them, which is an assumption.
package struct DispatchTime: Sendable {
    private let median: Double
    private let p99: Double

    package init(_ values: ScenarioValues) {
        p99 = values[.dispatchSeconds]
        median = min(values[.dispatchMedian], p99)
    }

    /// Seconds that a share of `quantile` (over 0, under 1) does not exceed.
    package func seconds(quantile: Double) -> Double {
        guard median > 0 else { return quantile > 0.5 ? p99 : 0 }
        return median * pow(p99 / median, normalQuantile(quantile) / Self.normalP99)
    }

    private static let normalP99 = normalQuantile(0.99)
}

/// A pool of workers that fetch on demand, and how long a fetch waits there.
///
/// Transfers under way are the servers of a G/G/c queue; what the pool does not gain by more workers
/// (the Universal Scalability Law) makes each transfer take longer. What an origin allows bounds the
/// transfers under way: from the workers on that reach it, more of them change nothing.
package struct OnDemandPool: Sendable {
    package let arrivalsPerSecond: Double
    package let scalability: Scalability
    package let connections: Int
    package let arrivalCV2: Double
    package let serviceCV2: Double
    package let correction: WaitingModel.Correction
    /// Before any waiting for a transfer.
    package let dispatch: DispatchTime
    /// What the origin allows; nil without limits.
    package let originMost: OriginLimits.Most?
    private let atOrigin: AtOrigin?

    /// Where the origin binds: from how many workers on, and the transfers that are under way then.
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
                forThroughput: most.perSecond, atMost: Sizing.mostWorkers)
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

    /// From so many workers on the origin binds; nil when it never does.
    package var workersAtOrigin: Int? { atOrigin?.workers }

    /// The queue in front of `workers` workers.
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

    /// Seconds from submission to the start of the transfer that a share of `quantile` does not
    /// exceed, infinite for a queue that grows without end.
    ///
    /// Quantiles of the time to hand a job out and of the wait are added, which is no less than the
    /// quantile of their sum where both are long together, and little more where not.
    package func waitSeconds(_ workers: Int, quantile: Double) -> Double {
        waiting(workers).waitSeconds(quantile: quantile) + dispatch.seconds(quantile: quantile)
    }

    /// The fewest workers with which a share of `level` of all fetches begins within `seconds`, and no
    /// more than `mostUtilisation` of them is in use; nil when no number does.
    package func fewest(
        level: Double, withinSeconds seconds: Double, mostUtilisation: Double, atMost: Int,
        by correction: WaitingModel.Correction? = nil
    ) -> Int? {
        guard arrivalsPerSecond > 0 else { return 0 }
        let left = seconds - dispatch.seconds(quantile: level)
        if left < 0 { return nil }
        if let originMost, arrivalsPerSecond >= originMost.perSecond { return nil }
        let first = scalability.fewest(
            forThroughput: arrivalsPerSecond / mostUtilisation, atMost: atMost)
        guard let first else { return nil }
        // Beyond the peak, more workers do less; from the origin's limit on they do as much.
        var most = max(first, min(atMost, scalability.peakN.map { wholeDown($0) } ?? atMost))
        if let atOrigin { most = max(first, min(most, atOrigin.workers)) }
        return leastSufficient(from: first, atMost: most) { workers in
            waiting(workers, by: correction).serviceLevel(withinSeconds: left) >= level
        }
    }

    /// ⌈a + β√a⌉ transfers in workers: a check on the plan, for a share of `waiting` that waits at all.
    package func squareRootStaffing(sizedAs workers: Int, waiting share: Double) -> Int {
        let model = waiting(max(1, workers))
        guard model.load < 1e12 else { return Sizing.mostWorkers }
        let slots = WaitingModel.squareRootStaffing(
            load: model.load, targetProbabilityOfWait: min(1, max(1e-9, share)))
        return (slots + connections - 1) / connections
    }
}

/// The pool while the fill runs: fetches of the fill, and misses at their mean.
package struct NightPool: Sendable {
    package let segmentsPerSecond: Double
    package let missesPerSecond: Double
    /// Of the mixture of both, as it is asked for.
    package let scalability: Scalability
    /// What the origin leaves the fill; nil without limits.
    package let originMost: OriginLimits.Most?
    private let fillPerSecond: Double
    private let fill: WorkerSpeed
    private let miss: WorkerSpeed

    package init(
        _ values: ScenarioValues, _ demand: Demand, fill: WorkerSpeed, miss: WorkerSpeed
    ) {
        let misses = demand.meanMissesPerSecond
        let all = demand.fillSegmentsPerSecond + misses
        // What a worker does of a mixture: the harmonic mean of what it does of each.
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

    /// Whether the origin lets the fill end by its deadline.
    var originAllows: Bool {
        fillPerSecond == 0 || originMost?.allows(fillPerSecond) ?? true
    }

    func fewest(utilisation: Double, atMost: Int) -> Int? {
        guard originAllows else { return nil }
        guard segmentsPerSecond > 0 else { return 0 }
        return scalability.fewest(
            forThroughput: segmentsPerSecond / utilisation, atMost: atMost)
    }

    /// Fetches of both kinds a second that `workers` workers do of the mixture that is asked for, as
    /// far as the origin lets the fill.
    package func segmentsPerSecond(workers: Int) -> Double {
        let byWorkers = scalability.throughput(Double(workers))
        return min(byWorkers, originMost.map { $0.perSecond + missesPerSecond } ?? byWorkers)
    }

    /// Fetches of the fill a second that `workers` workers do beside the misses; 0 for none.
    package func fillPerSecond(workers: Int) -> Double {
        let inUse = Double(workers) * scalability.efficiency(Double(workers))
        let byWorkers = (inUse - missesPerSecond / miss.segmentsPerSecond) * fill.segmentsPerSecond
        return max(0, min(byWorkers, originMost?.perSecond ?? byWorkers))
    }

    /// Seconds from submission to the start of its transfer that a share of `quantile` of the misses
    /// does not exceed while the fill runs; infinite for a queue that grows without end.
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

    /// While the fill runs every transfer is in use, and a fetch on demand waits until enough have
    /// ended: as many a second as end, less those before it (M/M/c with priority, saturated).
    static func meanWaitBesideFill(fillSeconds: Double, slots: Int, load: Double) -> Double {
        let spare = Double(slots) - load
        return spare > 0 ? fillSeconds / spare : .infinity
    }

    /// The fewest workers that fill as fast as the origin allows; nil without limits, or when no
    /// number gets there.
    package var workersAtOrigin: Int? {
        guard let originMost, fillPerSecond > 0 else { return nil }
        let inUse =
            originMost.perSecond / fill.segmentsPerSecond
            + missesPerSecond / miss.segmentsPerSecond
        let single = Scalability(
            alpha: scalability.alpha, beta: scalability.beta, gamma: 1)
        return single.fewest(forThroughput: inUse, atMost: Sizing.mostWorkers).map { max(1, $0) }
    }

    /// How long `workers` workers need for a day's fill; nil when they never end.
    package func hours(_ demand: Demand, workers: Int) -> Double? {
        guard workers > 0 else { return nil }
        guard demand.fillSegmentsPerDay > 0 else { return 0 }
        let rate = fillPerSecond(workers: workers)
        return rate > 0 ? demand.fillSegmentsPerDay / rate / 3_600 : nil
    }
}
