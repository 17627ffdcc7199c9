import Model
import Rendering

/// Measures the cost of workers that poll an empty queue.
struct IdleBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    let note: @Sendable (String) -> Void

    /// Seconds until all requests have arrived and their connections are open.
    private static let settleSeconds = 3.0

    func run() async throws -> IdleReport {
        let database = try await cluster.addDatabase(named: "idle")
        // A queue that was used and is now empty.
        try await database.fillFinished(max(options.finished, 1_000), as: "idle", options)
        try await database.tables.settle()
        let workers = IdleWorkers(
            client: try cluster.client(
                of: database.coordinator, connections: 2 * options.idleWorkers),
            queue: try await database.tables.firstQueueName(), count: options.idleWorkers
        ) { _ in }
        return try await withThrowingTaskGroup(of: IdleReport?.self) { group in
            group.addTask {
                try await workers.run()
                return nil
            }
            group.addTask { try await watch(database) }
            defer { group.cancelAll() }
            while let report = try await group.next() {
                if let report { return report }
            }
            throw Failure(.workerInternal, "the idle workers ended")
        }
    }

    private func watch(_ database: BenchmarkDatabase) async throws -> IdleReport {
        try await Task.sleep(for: .seconds(IdleWorkers.startSeconds + Self.settleSeconds))
        note("watching \(options.idleWorkers) idle workers for \(options.seconds) s")
        let start = ContinuousClock.now
        let before = cluster.cpuTimes(of: database.coordinator)
        var connections = 0
        for _ in 0..<options.seconds {
            try await Task.sleep(for: .seconds(1))
            connections = max(connections, try await database.tables.connections())
        }
        let used = cluster.cpuTimes(of: database.coordinator) - before
        let seconds = start.duration(to: .now).inSeconds
        func percent(_ cpu: Double) -> Double { (cpu / seconds * 100).rounded(places: 2) }
        return IdleReport(
            idleWorkers: options.idleWorkers, seconds: seconds.rounded(places: 1),
            postgresCPUPercent: percent(used.postgres),
            coordinatorCPUPercent: percent(used.coordinator),
            cpuPercent: percent(used.postgres + used.coordinator),
            databaseConnections: connections,
            coordinatorResidentBytes: ProcessUsage.peakResidentBytes(
                of: database.coordinator.pid))
    }
}

/// The result of `IdleBenchmark`; percentages are of one core.
struct IdleReport: BenchmarkReport {
    let mode = "idle"
    var idleWorkers: Int
    var seconds: Double
    var postgresCPUPercent: Double
    var coordinatorCPUPercent: Double
    /// CPU of the server and the coordinator together.
    var cpuPercent: Double
    /// Maximum number of the coordinator's connections.
    var databaseConnections: Int
    var coordinatorResidentBytes: Int64

    var text: String {
        func shown(_ percent: Double) -> String { HumanFormat.fixed(percent, places: 2) + " %" }
        return "\(HumanFormat.count(idleWorkers, "idle worker")), "
            + "\(HumanFormat.fixed(seconds, places: 1)) s\n\n"
            + figures([
                (
                    "CPU",
                    "\(shown(cpuPercent)) of a core: PostgreSQL \(shown(postgresCPUPercent)), "
                        + "coordinator \(shown(coordinatorCPUPercent))"
                ),
                ("Database connections", HumanFormat.count(databaseConnections)),
                ("Coordinator", "up to \(HumanFormat.bytes(coordinatorResidentBytes))"),
            ])
    }
}
