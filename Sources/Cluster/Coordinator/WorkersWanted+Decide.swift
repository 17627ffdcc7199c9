package import JobQueue
package import Model

/// What an autoscaler says of its pool.
package struct PoolPolicy: Sendable {
    /// What one worker does.
    package var workerSegmentsPerSecond: Double
    /// In how long a catalog without a deadline should be done, from its start; 1 and more.
    package var withinSeconds = 3_600.0
    /// From asking for a worker until it works.
    package var bootSeconds = 30.0
    package var minimum = 0
    package var maximum = 100
    /// Part of the workers that must be too many before any is let go.
    package var tolerance = 0.2

    package init(workerSegmentsPerSecond: Double) {
        self.workerSegmentsPerSecond = workerSegmentsPerSecond
    }

    /// The least time that is reckoned with: what is overdue is not done in no time.
    var leastSeconds: Double { min(60, withinSeconds) }
}

extension WorkersWanted {
    /// How many workers `load` wants under `policy`.
    ///
    /// Keeps no state: the workers that are there are the memory that hysteresis needs, and they are
    /// in the database. So any coordinator gives the same answer.
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
        // A worker that is stopped now gives back what it holds, and its successor begins anew. An
        // autoscaler does not choose which one stops, so that none is too many while it is busy.
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

    /// The jobs a second that keep every deadline: for each, all that is due by then over the time
    /// there is (earliest deadline first; Liu and Layland 1973), and whether one can no longer be kept.
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
            let needed = Double(jobs) / max(policy.leastSeconds, backlog.seconds)
            guard needed > rate else { continue }
            (rate, isOverdue) = (needed, backlog.seconds < policy.leastSeconds)
        }
        return (rate, isOverdue)
    }
}
