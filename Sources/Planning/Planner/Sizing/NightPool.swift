import Glibc
package import Statistics

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
