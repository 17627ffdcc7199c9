import Model

/// Machines and connections for workers, viewers and the database.
extension Sizing.Database {
    // Measured: 500 idle workers take 4 % of a core (docs/queue.md). A title's segment writes 4
    // rows in 0.021 transactions of some statements each (docs/planning.md).
    private static let coresPerIdleWorker = 0.04 / 500
    private static let rowsPerSegment = 4.0
    private static let statementsPerSegment = 0.1
    /// A worker's heartbeats and lease requests per second.
    private static let statementsPerWorker = 0.2

    init(_ values: ScenarioValues, _ demand: Demand, workers: Int) {
        segmentsPerSecond = max(
            demand.fillSegmentsPerSecond + demand.meanMissesPerSecond, demand.peakMissesPerSecond)
        statementsPerSecond =
            segmentsPerSecond * Self.statementsPerSegment
            + Double(workers) * Self.statementsPerWorker
        rowsPerSecond = segmentsPerSecond * Self.rowsPerSegment
        walBytesPerSecond = segmentsPerSecond * values[.walPerSegment]
        coresInUse =
            segmentsPerSecond * values[.databaseCPUPerSegment] * 1e-6
            + Double(workers) * Self.coresPerIdleWorker
        diskBytes = demand.catalogSegments * values[.sites] * values[.diskPerSegment]
        let coordinatorCores = segmentsPerSecond * values[.coordinatorCPUPerSegment] * 1e-6
        let used = 1 - values[.headroom]
        // Measured with 500 idle workers at one.
        let forWorkers = Double(workers) / 500
        coordinators =
            max(1, wholeUp(max(coordinatorCores / values[.coordinatorCores] / used, forWorkers)))
            + 1
    }
}

extension Sizing.Machines {
    init(
        _ values: ScenarioValues, workers: Int?, _ database: Sizing.Database, edge: Int
    ) {
        let cores = values[.machineCores]
        let forWorkers = workers.map { wholeUp(Double($0) * WorkerSpeed.cores(values) / cores) }
        let coordinators = max(
            2,
            wholeUp(Double(database.coordinators) * min(values[.coordinatorCores], cores) / cores))
        self.workers = forWorkers
        self.coordinators = coordinators
        // Each on the priced machines, with a standby of the same size.
        let servers = 2 * max(1, wholeUp(values[.databaseCores] / cores))
        self.database = servers
        self.edge = edge
        total = forWorkers.map { $0 + coordinators + servers + edge }
    }
}

extension Sizing.Connections {
    init(
        _ values: ScenarioValues, _ demand: Demand, workers: Int?, _ database: Sizing.Database,
        _ fill: WorkerSpeed, _ miss: WorkerSpeed
    ) {
        edge = demand.peakConcurrentUsers
        originMost = [
            workers.map { $0 * Int(values[.connections]) },
            values.quota(.originConnections).map { wholeDown($0) },
        ].compactMap { $0 }.min()
        originInUse = max(
            demand.fillSegmentsPerSecond * fill.transferSeconds
                + demand.meanMissesPerSecond * miss.transferSeconds,
            demand.peakMissesPerSecond * miss.transferSeconds)
        // A coordinator's pool of eight, and its listening connection.
        self.database = database.coordinators * 9
        coordinators = workers.map { $0 * 2 }
    }
}

extension Sizing.OriginUse {
    init?(
        _ values: ScenarioValues, _ demand: Demand, _ fill: WorkerSpeed, _ miss: WorkerSpeed
    ) {
        let night = demand.fillSegmentsPerSecond + demand.meanMissesPerSecond
        let requests = max(night, demand.peakMissesPerSecond)
        let inUse = max(
            demand.fillSegmentsPerSecond * fill.transferSeconds
                + demand.meanMissesPerSecond * miss.transferSeconds,
            demand.peakMissesPerSecond * miss.transferSeconds)
        // With retries.
        let bits = max(
            (demand.fillSegmentsPerSecond * fill.segmentBytes
                + demand.meanMissesPerSecond * miss.segmentBytes) * 8,
            demand.peakMissBitsPerSecond)
        connectionShare = values.quota(.originConnections).map { inUse / $0 }
        requestShare = values.quota(.originRequests).map { requests / $0 }
        bandwidthShare = values.quota(.originMegabits).map { bits / ($0 * 1e6) }
        if connectionShare == nil, requestShare == nil, bandwidthShare == nil { return nil }
    }
}

/// Maximum count of a plan: products of two counts fit into 64 bits for purchased resources.
private let maxCount = 1_000_000_000_000

/// Returns the smallest whole number that is at least `value`, at most `maxCount`.
func wholeUp(_ value: Double) -> Int {
    // 1e-9: a value that is whole except for rounding is not rounded up.
    min(maxCount, max(0, Int(saturating: (value - 1e-9).rounded(.up))))
}

/// Returns the largest whole number that is at most `value`, from 0 to `maxCount`.
package func wholeDown(_ value: Double) -> Int { min(maxCount, max(0, Int(saturating: value))) }
