import API
import CoordinatorClient
import Model

/// Simulates idle workers: each holds a lease request open and sends heartbeats, as `dray worker`
/// does. They report all leased jobs as done at once.
struct IdleWorkers: Sendable {
    let client: CoordinatorClient
    let queue: String
    let count: Int
    /// Called for each fetch as soon as its lease was read.
    let granted: @Sendable (ContinuousClock.Instant) -> Void

    /// Time for which a worker lets the coordinator hold its request.
    private static let pollMilliseconds = WireLimits.waitMilliseconds
    /// Seconds between an idle worker's heartbeats.
    private static let heartbeatSeconds = Double(WireLimits.idleHeartbeatSeconds)
    /// Seconds over which the first requests are spread.
    static let startSeconds = 2.0

    /// Runs until it is cancelled; throws the failure of a request.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let worker = WorkerID.random()
                let fraction = Double(number) / Double(count)
                group.addTask {
                    try await Task.sleep(for: .seconds(fraction * Self.startSeconds))
                    while true { try await poll(worker) }
                }
                group.addTask {
                    try await Task.sleep(for: .seconds(fraction * Self.heartbeatSeconds))
                    while true {
                        _ = try await client.heartbeat(
                            Heartbeat(
                                worker: worker, leases: [], progress: [:],
                                name: "idle-\(number)", activeTransfers: 0))
                        try await Task.sleep(for: .seconds(Self.heartbeatSeconds))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func poll(_ worker: WorkerID) async throws {
        let grant = try await client.lease(
            LeaseRequest(
                worker: worker, queues: [queue], maxJobs: 64,
                waitMilliseconds: Self.pollMilliseconds))
        let now = ContinuousClock.now
        guard let lease = grant.lease else { return }
        for job in grant.jobs where job.kind == .fetch { granted(now) }
        let request = ReportRequest(
            worker: worker, results: grant.jobs.map { APILoad.report($0, lease) })
        _ = try await client.report(request)
    }
}
