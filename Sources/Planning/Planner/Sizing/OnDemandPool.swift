import Model
package import Statistics

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
    package let method: WaitMethod
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

    package init(
        _ values: ScenarioValues, _ demand: Demand, _ method: WaitMethod = .formulas
    ) {
        self.init(
            values, demand, miss: WorkerSpeed(values, bytes: demand.missBytes), heedsOrigin: true,
            method)
    }

    init(
        _ values: ScenarioValues, _ demand: Demand, miss: WorkerSpeed, heedsOrigin: Bool,
        _ method: WaitMethod = .formulas
    ) {
        arrivalsPerSecond = demand.peakMissesPerSecond
        let scalability = Scalability(
            alpha: values[.contention], beta: values[.coherency], gamma: miss.segmentsPerSecond)
        self.scalability = scalability
        let connections = max(1, Int(values[.connections]))
        self.connections = connections
        arrivalCV2 = values[.arrivalCV2]
        serviceCV2 = values[.serviceCV2]
        correction = values.correction
        self.method = method
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

    /// Returns the queue of `workers` workers, by formulas.
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

    /// Returns the waits of `workers` workers by the pool's method. The first
    /// simulation of a pool takes a tenth of a second.
    package func waits(_ workers: Int) -> QueueWaits {
        let model = waiting(workers)
        guard case .simulation(let queues) = method, model.load > 0, model.utilisation < 1
        else { return .formula(model) }
        return .simulation(queues.queue(QueueQuestion(model), servers: model.servers))
    }

    /// Returns the seconds from submission to the start of the transfer that a share of `quantile`
    /// does not exceed; infinite for a growing queue.
    package func waitSeconds(_ workers: Int, quantile: Double) -> Double {
        waitSeconds(waits(workers), quantile: quantile)
    }

    /// Adds the quantiles of dispatch time and of the wait. The sum is at least the quantile of the
    /// total if both are long together, and otherwise slightly above it.
    func waitSeconds(_ waits: QueueWaits, quantile: Double) -> Double {
        waits.waitSeconds(quantile: quantile) + dispatch.seconds(quantile: quantile)
    }

    /// Returns the minimum number of workers with which a share of `level` of all fetches starts
    /// within `seconds`, at a utilization of at most `maxUtilisation`; nil if no number suffices.
    ///
    /// - Parameter correction: a formula to use in place of the pool's method.
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
        let found = minSufficient(from: first, atMost: most) { workers in
            let waits = correction.map { .formula(waiting(workers, by: $0)) } ?? waits(workers)
            return waits.serviceLevel(withinSeconds: left) >= level
        }
        guard let found, correction == nil, case .corrected(let difference) = method else {
            return found
        }
        let more = (difference * waiting(found).load.squareRoot()).rounded()
        return min(most, max(first, found + Int(saturating: more)))
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
