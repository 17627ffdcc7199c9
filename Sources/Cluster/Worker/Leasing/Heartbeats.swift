import API
import CoordinatorClient
import Model
import Services

/// Extends leases and quotas after a third of their time, and reports progress every second.
struct Heartbeats: Sendable {
    let source: HeartbeatSource
    let client: CoordinatorClient
    let leases: LeaseKeeper
    let limits: Limits
    let loadTests: LoadTestWorker
    let log: Logger

    /// Interval of checks for a due heartbeat while there are quotas, for which others may wait.
    private static let quotaTick = Duration.milliseconds(50)

    /// Runs until the task is cancelled.
    func run() async {
        var lastAt: HeldWork.Instant?
        var last: HeartbeatSource.State?
        while !Task.isCancelled {
            try? await Task.sleep(for: limits.hasQuotas ? Self.quotaTick : LeaseKeeper.tick)
            let askedAt = HeldWork.Instant.now
            let state = source.state()
            let isDue =
                lastAt.map {
                    source.hasUnreported(state, since: last)
                        || askedAt - $0 >= source.patience(state)
                } ?? true
            guard isDue || !state.urgent.isEmpty || limits.needReport(state.uses) else { continue }
            lastAt = askedAt
            let heartbeat = source.heartbeat(state)
            do {
                let answer = try await client.heartbeat(heartbeat, retrySeconds: 5)
                last = state
                source.reported(state)
                leases.take(answer, asked: heartbeat.leases, at: askedAt)
                limits.take(answer, askedAt: askedAt)
                loadTests.take(answer.loadTests)
            } catch {
                source.notReported(heartbeat)
                // The cluster must learn soon that the worker lives: until then its work counts as
                // lost.
                lastAt = nil
                log.debug("a heartbeat failed", ["error": "\(error)"])
            }
        }
    }
}
