import API
import CoordinatorClient
import EventLoop
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

    /// Interval of checks for a due heartbeat: it reports what transfers and limits show by then.
    private static let usualTick = Duration.milliseconds(200)
    /// Interval of checks for a due heartbeat while there are quotas, for which others may wait.
    private static let quotaTick = Duration.milliseconds(50)

    /// Time until the next check for a due heartbeat. Free connections are reported as soon as it is
    /// known that there are no jobs for them.
    private var tick: Duration {
        let tick = limits.hasQuotas ? Self.quotaTick : Self.usualTick
        return min(tick, source.surplus.timeToIdle() ?? tick)
    }

    /// Runs until the task is cancelled, after the end of the lease loop.
    func run() async {
        var lastAt: HeldWork.Instant?
        var last: HeartbeatSource.State?
        /// True if coordinators may think that the worker could take jobs.
        var countsAsIdle = false
        while !Task.isCancelled {
            try? await Task.sleep(for: tick)
            let askedAt = HeldWork.Instant.now
            let state = source.state()
            let isDue =
                lastAt.map {
                    source.hasUnreported(state, since: last)
                        || askedAt - $0 >= source.patience(state, since: last)
                } ?? true
            guard isDue || !state.urgent.isEmpty || limits.needReport(state.uses) else { continue }
            lastAt = askedAt
            let heartbeat = source.heartbeat(state)
            countsAsIdle = countsAsIdle || state.idleConnections > 0
            do {
                let answer = try await client.heartbeat(heartbeat, retrySeconds: 5)
                last = state
                countsAsIdle = state.idleConnections > 0
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
        if countsAsIdle { await reportNoneIdle() }
    }

    /// Reports, before the worker ends, that it takes no jobs: others would return some for it.
    private func reportNoneIdle() async {
        // Not cancelled with its caller.
        await Task {
            _ = await waitAtMost(.seconds(2)) {
                let heartbeat = source.heartbeat(source.state())
                do {
                    _ = try await client.heartbeat(heartbeat, retrySeconds: 1)
                } catch {
                    log.debug("the last heartbeat failed", ["error": "\(error)"])
                }
            }
        }.value
    }
}
