import EventLoop
import Foundation
import JobQueue
import Model
import Postgres
import Services
import Statistics
import TestSupport

/// Coordinators over one database, each with connections of its own, and one more to look and to
/// do harm with.
struct HistoryCluster: Sendable {
    /// Requests of workers that report.
    enum Fence: Sendable {
        case whole
        /// Reports pass as if their lease were the one that holds the work now: what a queue does
        /// that matches the job alone. Only here to be caught.
        case none
    }

    let fence: Fence
    let database: HistoryDatabase
    let coordinators: [JobQueue]
    /// Of all histories so far.
    let transitions: TransitionLog
    private let loop: EventLoop
    private let control: PostgresPool
    private let pools: [PostgresPool]
    private let label: String
    private let url: String

    init(_ name: String, fence: Fence = .whole) async throws {
        self.fence = fence
        url = try await PostgresServer.shared().databaseURL(name, copying: .queue)
        let url = url
        let loop = try EventLoop(name: "histories")
        let control = PostgresPool(
            PostgresConfiguration.queue(
                url: url, sessionSettings: ["plan_cache_mode": "force_generic_plan"]),
            maximumConnections: 2, on: loop)
        transitions = TransitionLog(pool: control)
        let label = "history-\(UUID().uuidString.prefix(8))"
        let pools = (0..<HistoryGenerator.coordinators).map { number in
            PostgresPool(
                PostgresConfiguration.queue(
                    url: url, applicationName: "\(label)-\(number)",
                    sessionSettings: JobQueue.sessionSettings),
                maximumConnections: 4, on: loop)
        }
        coordinators = pools.map {
            // Leases and delays end by steps, not by the clock.
            var settings = JobQueue.Settings(
                leaseSeconds: 3_600, retry: Backoff(firstSeconds: 1e-9, maxSeconds: 1e-9))
            // What is moved to a mirror ends as it would have with its own origin.
            settings.maxAttemptsAtMirrors = 0
            settings.freshURLSeconds = 86_400
            return JobQueue(pool: $0, settings: settings, random: SeededRandom(seed: 1))
        }
        self.loop = loop
        self.control = control
        self.pools = pools
        self.label = label
        database = HistoryDatabase(pool: control)
    }

    func close() async {
        for pool in pools + [control] { await pool.shutdown() }
        loop.shutdown()
        try? await PostgresServer.shared().drop(databaseAt: url)
    }

    // MARK: Faults

    /// Runs `body` of a coordinator and kills its connection after so many round trips of another;
    /// returns when the killed session is gone and the coordinator answers again.
    func killing<Value: Sendable>(
        _ coordinator: Int, after trips: Int, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let database = database
        let name = "\(label)-\(coordinator)"
        async let value = body()
        for _ in 0..<trips { _ = try await database.isAlive([]) }
        let killed = try await database.kill(applicationName: name)
        let answer = try await value
        while try await database.isAlive(killed) { await Task.yield() }
        while !killed.isEmpty, (try? await coordinators[coordinator].jobs.claims.hasWork()) == nil {
        }
        return answer
    }
}
