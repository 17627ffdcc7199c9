import API
import Foundation
import Model
import TestSupport
import Testing

/// A cluster of separate processes, as an operator starts them by hand: a durable PostgreSQL,
/// coordinators and workers that know all of these.
final class ProcessCluster {
    struct Coordinator {
        var process: ChildProcess
        let port: Int

        var url: String { "http://127.0.0.1:\(port)" }
    }

    let postgres: PostgresServer
    private(set) var coordinators: [Coordinator] = []
    private(set) var workers: [ChildProcess] = []
    private let leaseSeconds: Int

    /// For requests that no client of Dray's makes.
    static let authorization = ["Authorization": "Bearer \(AccessToken.test.text)"]

    /// - Parameters:
    ///   - connections: concurrent transfers of each worker.
    ///   - admitsLoopback: allows workers to connect to origins on loopback.
    init(
        coordinators: Int, workers: Int, connections: Int, leaseSeconds: Int,
        workerOptions: [String] = [], admitsLoopback: Bool = true
    ) async throws {
        self.leaseSeconds = leaseSeconds
        postgres = try await PostgresServer(isDurable: true)
        for _ in 0..<coordinators {
            self.coordinators.append(try await startCoordinator(port: 0))
        }
        let admitted = admitsLoopback ? ["--allow-addresses", "127.0.0.0/8"] : []
        for _ in 0..<workers {
            try startWorker(["--connections", "\(connections)"] + admitted + workerOptions)
        }
        try await waitForWorkers(workers)
    }

    @discardableResult
    func startWorker(
        _ options: [String], roots: [String] = ProcessCluster.roots,
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let worker = try DrayProcess.start(
            ["worker", "--coordinator", urls] + roots.flatMap { ["--root", $0] } + options,
            environment: environment)
        workers.append(worker)
        return worker
    }

    /// Where temporary directories of tests lie.
    static let roots = ["/tmp", "/dev/shm"]

    func waitForWorkers(_ count: Int) async throws {
        try await waitUntil(deadlineSeconds: 30, "the first heartbeat of \(count) workers") {
            try await status().workers.count == count
        }
    }

    /// All coordinators, separated by commas.
    var urls: String { coordinators.map(\.url).joined(separator: ",") }

    /// Starts `dray` with the cluster to speak to.
    func start(_ arguments: [String], coordinators: String? = nil) throws -> ChildProcess {
        try DrayProcess.start(
            arguments, environment: ["DRAY_COORDINATOR": coordinators ?? urls])
    }

    private func startCoordinator(port: Int) async throws -> Coordinator {
        let process = try DrayProcess.start(
            ["coordinator", "--database", postgres.url, "--listen", "127.0.0.1:\(port)"],
            environment: ["DRAY_LEASE_SECONDS": "\(leaseSeconds)"])
        let words = "export DRAY_COORDINATOR=http://127.0.0.1:"
        try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
            guard process.ending == nil else { throw POSIXFailure(process.errors) }
            return process.output.hasSuffix("\n")
        }
        let text = process.output.dropLast()
        try #require(text.hasPrefix(words))
        return Coordinator(
            process: process, port: try #require(Int(text.dropFirst(words.count))))
    }

    /// Ends a coordinator with a signal, runs `meanwhile`, and starts it again on its port.
    func restartCoordinator(
        _ index: Int, by signal: Int32, meanwhile: () async throws -> Void = {}
    ) async throws {
        coordinators[index].process.signal(signal)
        let ending = try await coordinators[index].process.wait()
        #expect(ending == (signal == SIGKILL ? .signalled(SIGKILL) : .exited(0)))
        try await meanwhile()
        coordinators[index] = try await startCoordinator(port: coordinators[index].port)
    }

    // MARK: What it is doing

    /// `dray status --json`.
    func status() async throws -> ClusterStatus {
        let process = try start(["status", "--json"])
        let ending = try await process.wait()
        guard ending == .exited(0) else { throw POSIXFailure(process.errors) }
        return try JSONDecoder().decode(ClusterStatus.self, from: Data(process.output.utf8))
    }

    /// Waits until the status counts this many segments as done.
    func waitForSegments(_ count: Int) async throws {
        try await waitUntil(deadlineSeconds: 60, "\(count) segments done") {
            try await status().catalogs.first?.totals.segmentsDone ?? 0 >= count
        }
    }

    /// Jobs under the leases of a worker, whose name ends with its process id.
    func jobsHeld(by worker: ChildProcess) async throws -> Int {
        let answer = try await postgres.execute(
            """
            SELECT count(*) FROM lease JOIN span ON span.lease_id = lease.id
            JOIN job ON job.lane_id = span.lane_id AND job.id BETWEEN span.first_id AND span.last_id
            JOIN worker ON worker.id = lease.worker_id WHERE worker.name LIKE '%-\(worker.pid)'
            """)
        return try #require(Int(answer.prefix { $0.isNumber }))
    }

    /// Jobs that a crash of the database may take back from their leases: claims do not wait for the
    /// disk, and are on it after three rounds of the WAL writer, 0.2 s each, at the latest.
    func jobsGrantedLately() async throws -> Int {
        let answer = try await postgres.execute(
            "SELECT coalesce(sum(jobs), 0) FROM span WHERE granted_at > now() - interval '2 s'")
        return try #require(Int(answer.prefix { $0.isNumber }))
    }

    /// Ends everything that still runs in good order.
    func stop() async throws {
        for process in workers + coordinators.map(\.process) where process.ending == nil {
            process.signal(SIGTERM)
            let ending = try await process.wait()
            #expect(ending == .exited(0), "\(process.errors)")
        }
        try await postgres.stop()
    }
}
