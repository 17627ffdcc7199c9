/// What binds a worker's speed.
package enum WorkerBound: String, Codable, Sendable {
    /// Transfers under way, each of which takes its time: latency and the connection's bandwidth.
    case connections
    case cpu
    case network
    /// It was measured, not reckoned.
    case measured
}

/// How fast one worker is with fetches of one size.
package struct WorkerSpeed: Codable, Hashable, Sendable {
    /// Time of one transfer when nothing is short, in seconds.
    package let transferSeconds: Double
    /// What one worker alone does.
    package let segmentsPerSecond: Double
    package let bound: WorkerBound

    /// For fetches of `bytes` each.
    package init(_ values: ScenarioValues, bytes: Double) {
        transferSeconds = max(
            1e-6,
            values.known(.serviceSeconds)
                ?? values[.originLatency] / 1_000 + bytes * 8 / (values[.connectionMegabits] * 1e6))
        if let measured = values.known(.segmentsPerSecond) {
            segmentsPerSecond = measured
            bound = .measured
            return
        }
        let cores = Self.cores(values)
        let perSecond: [(WorkerBound, Double)] = [
            (
                .connections,
                values[.connections] / transferSeconds * values[.connectionEfficiency]
            ),
            (
                .cpu,
                cores
                    / max(
                        1e-9, values[.cpuPerSegment] * 1e-6 + bytes * values[.cpuPerGigabyte] * 1e-9
                    )
            ),
            // Its part of the machine's interface.
            (
                .network,
                values[.nicMegabits] * 1e6 * min(1, cores / values[.machineCores])
                    / max(1, bytes * 8)
            ),
        ]
        let least = perSecond.min { $0.1 < $1.1 } ?? (.cpu, 1)
        bound = least.0
        segmentsPerSecond = least.1
    }

    /// The cores that a worker has: an event loop a core.
    package static func cores(_ values: ScenarioValues) -> Double {
        min(values.known(.workerCores) ?? values[.machineCores], values[.machineCores])
    }
}

/// A pool of workers that fetch on demand, and how long a fetch waits there.
///
/// Transfers under way are the servers of a G/G/c queue; what the pool does not gain by more workers
/// (the Universal Scalability Law) makes each transfer take longer.
package struct OnDemandPool: Sendable {
    package let arrivalsPerSecond: Double
    package let scalability: Scalability
    package let connections: Int
    package let arrivalCV2: Double
    package let serviceCV2: Double
    /// Before any waiting for a transfer.
    package let dispatchSeconds: Double

    package init(_ values: ScenarioValues, _ demand: Demand) {
        arrivalsPerSecond = demand.peakMissesPerSecond
        scalability = Scalability(
            alpha: values[.contention], beta: values[.coherency],
            gamma: WorkerSpeed(values, bytes: demand.missBytes).segmentsPerSecond)
        connections = max(1, Int(values[.connections]))
        arrivalCV2 = values[.arrivalCV2]
        serviceCV2 = values[.serviceCV2]
        dispatchSeconds = values[.dispatchSeconds]
    }

    /// The queue in front of `workers` workers.
    package func waiting(_ workers: Int) -> WaitingModel {
        let slots = workers * connections
        return WaitingModel(
            servers: slots, arrivalsPerSecond: arrivalsPerSecond,
            serviceSeconds: Double(slots) / scalability.throughput(Double(workers)),
            arrivalCV2: arrivalCV2, serviceCV2: serviceCV2)
    }

    /// The fewest workers with which a share of `level` of all fetches begins within `seconds`, and no
    /// more than `mostUtilisation` of them is in use; nil when no number does.
    package func fewest(
        level: Double, withinSeconds seconds: Double, mostUtilisation: Double, atMost: Int
    ) -> Int? {
        guard arrivalsPerSecond > 0 else { return 0 }
        let first = scalability.fewest(
            forThroughput: arrivalsPerSecond / mostUtilisation, atMost: atMost)
        guard let first else { return nil }
        // Beyond the peak, more workers do less.
        let most = max(first, min(atMost, scalability.peakN.map { Int($0) } ?? atMost))
        return leastSufficient(from: first, atMost: most) { workers in
            waiting(workers).serviceLevel(withinSeconds: max(0, seconds - dispatchSeconds)) >= level
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
