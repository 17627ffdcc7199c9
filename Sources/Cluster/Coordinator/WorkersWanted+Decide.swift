package import API
package import JobQueue
import Model

/// An autoscaler's policy for its pool.
package struct PoolPolicy: Sendable {
    /// Segments per second of one worker.
    package var workerSegmentsPerSecond: Double
    /// Target time of a catalog without a deadline, from its start; at least 1.
    package var withinSeconds = 3_600.0
    /// Seconds from the request for a worker until it works.
    package var bootSeconds = 30.0
    package var minimum = 0
    package var maximum = 100
    /// Fraction of the workers that must be surplus before one is removed.
    package var tolerance = 0.2

    package init(workerSegmentsPerSecond: Double) {
        self.workerSegmentsPerSecond = workerSegmentsPerSecond
    }

    /// Minimum time in the calculation: an overdue catalog still takes time.
    var minSeconds: Double { min(60, withinSeconds) }
}

extension WorkersWanted {
    /// Returns the number of workers that `load` needs under `policy`.
    ///
    /// Keeps no state: hysteresis depends on the present workers, which are in the database. So all
    /// coordinators give the same answer.
    package static func decide(_ load: PoolLoad, _ policy: PoolPolicy) -> WorkersWanted {
        let near = load.backlogs.filter {
            $0.isOpen && $0.jobs > 0 && $0.beginsSeconds <= policy.bootSeconds
        }
        let (rate, isOverdue) = neededRate(near.filter { !$0.isFaulty }, policy)
        let jobs = near.reduce(0) { $0 + $1.jobs }
        let waiting = max(0, jobs - load.leased)
        var wanted = Int(min(1e6, (rate / policy.workerSegmentsPerSecond).rounded(.up)))
        var reason: Reason = isOverdue ? .overdue : .deadline
        if wanted <= 1 {
            let isIdle = jobs == 0 && load.leased == 0 && !load.hasWork
            (wanted, reason) = isIdle ? (0, .idle) : (1, .running)
        }
        // A stopped worker returns its jobs, and the next worker starts them again. An autoscaler
        // does not choose which one stops, so busy workers are never surplus.
        if wanted < load.busy { (wanted, reason) = (load.busy, .finishing) }
        let few = (1 - policy.tolerance) * Double(load.workers)
        if wanted > 0, wanted < load.workers, Double(wanted) > few {
            (wanted, reason) = (load.workers, .steady)
        }
        if wanted < policy.minimum { (wanted, reason) = (policy.minimum, .minimum) }
        if wanted > policy.maximum { (wanted, reason) = (policy.maximum, .maximum) }
        return WorkersWanted(
            workers: wanted, reason: reason, waiting: waiting, leased: load.leased,
            current: load.workers, busy: load.busy, segmentsPerSecond: rate)
    }

    /// Returns the jobs per second that meet every deadline, and true if one can no longer be met.
    /// For each deadline, the rate is all jobs due by then over the time left (earliest deadline
    /// first; Liu and Layland 1973).
    private static func neededRate(
        _ backlogs: [PoolLoad.Backlog], _ policy: PoolPolicy
    ) -> (rate: Double, isOverdue: Bool) {
        let due = backlogs.map { backlog in
            let left = backlog.deadlineSeconds ?? policy.withinSeconds - backlog.runningSeconds
            return (seconds: left - policy.bootSeconds, jobs: backlog.jobs)
        }.sorted { $0.seconds < $1.seconds }
        var (jobs, rate, isOverdue) = (0, 0.0, false)
        for backlog in due {
            jobs += backlog.jobs
            let needed = Double(jobs) / max(policy.minSeconds, backlog.seconds)
            guard needed > rate else { continue }
            (rate, isOverdue) = (needed, backlog.seconds < policy.minSeconds)
        }
        return (rate, isOverdue)
    }
}
