import API
import Metrics
import Model
import Schedule
import Services
import Transfer

/// Applies answers to heartbeats to the leases held, drops those that end by this worker's clock, and stops the transfers
/// of dropped ones.
struct LeaseKeeper: Sendable {
    let held: HeldWork
    let engine: TransferEngine
    let pace: LeasePace
    let surplus: SurplusJobs
    let metrics: WorkerMetrics
    let log: Logger

    /// Drops leases when they expire by this worker's clock, independently of heartbeats, until the
    /// task is cancelled.
    func run() async {
        while !Task.isCancelled { cancel(await held.nextLost()) }
    }

    /// Handles the answer to a heartbeat that listed the leases `asked`.
    func take(_ answer: HeartbeatAnswer, asked: [LeaseID], at askedAt: HeldWork.Instant) {
        held.extend(answer.leases, seconds: answer.seconds, askedAt: askedAt)
        stop(answer.cancelled)
        pause(answer.paused)
        surplus.giveBack(answer.wantedJobs ?? 0)
        let (asked, alive) = (Set(asked), Set(answer.leases))
        cancel(held.dropLost { asked.contains($0) && !alive.contains($0) })
    }

    private func cancel(_ lost: [LeaseID]) {
        guard !lost.isEmpty else { return }
        metrics.lostLeases.add(lost.count)
        log.warning("leases were lost", ["count": lost.count])
        for lease in lost { engine.cancelAll(group: lease.description) }
        pace.wake()
    }

    /// Stops cancelled jobs: nothing of them is kept or reported.
    private func stop(_ jobs: [JobID]?) {
        guard let jobs, !jobs.isEmpty else { return }
        let stopped = held.cancel(jobs)
        for (lease, jobs) in stopped { engine.cancelAll(group: lease.description, jobs: jobs) }
        guard !stopped.isEmpty else { return }
        log.info("jobs were cancelled", ["count": stopped.values.reduce(0) { $0 + $1.count }])
    }

    /// Stops downloads of paused assets. Their jobs are returned; what was received is kept for
    /// who continues.
    private func pause(_ jobs: [JobID]?) {
        guard let jobs, !jobs.isEmpty else { return }
        let paused = held.pending(of: jobs)
        for (lease, jobs) in paused { engine.cancelAll(group: lease.description, jobs: jobs) }
        guard !paused.isEmpty else { return }
        log.info(
            "downloads of paused assets stop",
            ["count": paused.values.reduce(0) { $0 + $1.count }])
    }
}
