import Statistics

/// A queue in front of equal servers, without their number.
package struct QueueQuestion: Sendable, Hashable {
    /// In erlangs: arrivals per second times seconds of service.
    package var load: Double
    package var serviceSeconds: Double
    package var arrivalCV2: Double
    package var serviceCV2: Double
    package var correction: WaitingModel.Correction
    /// The distribution that service times are simulated with.
    package var serviceShape: TimeDistribution.Shape

    package init(
        load: Double, serviceSeconds: Double = 1, arrivalCV2: Double = 1, serviceCV2: Double = 1,
        correction: WaitingModel.Correction = .kimura,
        serviceShape: TimeDistribution.Shape = .lognormal
    ) {
        self.load = load
        self.serviceSeconds = serviceSeconds
        self.arrivalCV2 = arrivalCV2
        self.serviceCV2 = serviceCV2
        self.correction = correction
        self.serviceShape = serviceShape
    }

    /// Asks about the queue of `model`.
    package init(_ model: WaitingModel) {
        self.init(
            load: model.load, serviceSeconds: model.serviceSeconds, arrivalCV2: model.arrivalCV2,
            serviceCV2: model.serviceCV2, correction: model.correction,
            serviceShape: Self.standardShape(serviceCV2: model.serviceCV2))
    }

    /// Returns the distribution of service times where none is chosen.
    package static func standardShape(serviceCV2: Double) -> TimeDistribution.Shape {
        serviceCV2 == 1 ? .phases : .lognormal
    }

    /// The name of the distribution that service times are simulated with.
    package var shapeName: String {
        switch serviceShape {
        case _ where serviceCV2 == 0: "constant"
        case .lognormal: "lognormal"
        case .phases where serviceCV2 < 1: "gamma"
        case .phases where serviceCV2 == 1: "exponential"
        case .phases: "two-exponential"
        }
    }

    package func model(
        servers: Int, by other: WaitingModel.Correction? = nil
    ) -> WaitingModel {
        WaitingModel(
            servers: servers, load: load, serviceSeconds: serviceSeconds, arrivalCV2: arrivalCV2,
            serviceCV2: serviceCV2, correction: other ?? correction)
    }

    /// Returns waits by the formula within its range, and by simulation beyond it. Runs for
    /// seconds.
    ///
    /// - Parameter simulation: nil for the formula in any case.
    package func waits(servers: Int, _ simulation: QueueSimulation?) -> QueueWaits {
        let model = model(servers: servers)
        guard let simulation, load > 0, model.utilisation < 1 else { return .formula(model) }
        return .simulation(simulation.run(self, servers: servers))
    }

    /// Returns the minimum number of servers with which a share of `targetLevel` waits at most
    /// `withinSeconds`; nil if more than `atMost` are needed.
    ///
    /// Simulations of more servers have the same arrivals and service times, so no job waits longer
    /// in them (Kiefer and Wolfowitz 1955): bisection finds the minimum.
    package func fewestServers(
        targetLevel: Double, withinSeconds: Double, atMost: Int, _ simulation: QueueSimulation?
    ) -> Int? {
        guard let simulation else {
            return WaitingModel.fewestServers(
                load: load, serviceSeconds: serviceSeconds, arrivalCV2: arrivalCV2,
                serviceCV2: serviceCV2, correction: correction, targetLevel: targetLevel,
                withinSeconds: withinSeconds, atMost: atMost)
        }
        guard load < Double(atMost) else { return nil }
        return minSufficient(from: max(1, Int(load)), atMost: atMost) { servers in
            Double(servers) > load
                && simulation.once(self, servers: servers).serviceLevel(
                    withinSeconds: withinSeconds) >= targetLevel
        }
    }
}

/// Waits for one of several servers, calculated or simulated.
package enum QueueWaits: Sendable {
    case formula(WaitingModel)
    case simulation(SimulatedQueue)

    package var servers: Int {
        switch self {
        case .formula(let model): model.servers
        case .simulation(let queue): queue.servers
        }
    }

    package var probabilityOfWait: Double {
        switch self {
        case .formula(let model): model.probabilityOfWait
        case .simulation(let queue): queue.probabilityOfWait
        }
    }

    package var meanWaitSeconds: Double {
        switch self {
        case .formula(let model): model.meanWaitSeconds
        case .simulation(let queue): queue.meanWaitSeconds
        }
    }

    /// Half-width of the 95 % interval of a simulated mean wait; nil by the formula, and if no job
    /// waited.
    package var marginSeconds: Double? {
        switch self {
        case .formula: nil
        case .simulation(let queue): queue.marginSeconds
        }
    }

    package var meanQueueLength: Double {
        switch self {
        case .formula(let model): model.meanQueueLength
        case .simulation(let queue): queue.meanQueueLength
        }
    }

    /// Returns the wait that a share of `quantile` (0 to 1) of all jobs does not exceed.
    package func waitSeconds(quantile: Double) -> Double {
        switch self {
        case .formula(let model): model.waitSeconds(quantile: quantile)
        case .simulation(let queue): queue.waitSeconds(quantile: quantile)
        }
    }

    package func serviceLevel(withinSeconds: Double) -> Double {
        switch self {
        case .formula(let model): model.serviceLevel(withinSeconds: withinSeconds)
        case .simulation(let queue): queue.serviceLevel(withinSeconds: withinSeconds)
        }
    }
}
