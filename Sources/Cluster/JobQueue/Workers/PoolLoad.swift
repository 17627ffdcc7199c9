/// The present work for workers.
package struct PoolLoad: Sendable {
    package var backlogs: [Backlog]
    /// Number of jobs that workers hold.
    package var leased: Int
    /// Number of workers that hold jobs.
    package var busy: Int
    /// Number of connected workers.
    package var workers: Int
    /// True if a queue has a job that can be leased now, of a catalog or not.
    package var hasWork: Bool

    package init(backlogs: [Backlog], leased: Int, busy: Int, workers: Int, hasWork: Bool) {
        self.backlogs = backlogs
        self.leased = leased
        self.busy = busy
        self.workers = workers
        self.hasWork = hasWork
    }

    /// The remaining work of a running catalog.
    package struct Backlog: Sendable {
        /// Number of jobs, including leased ones.
        package var jobs: Int
        /// Seconds until its deadline, by the database's clock; negative after it, nil without one.
        package var deadlineSeconds: Double?
        /// Seconds until its jobs may be leased; 0 or less if they may.
        package var beginsSeconds: Double
        /// Seconds since its jobs could first be leased.
        package var runningSeconds: Double
        /// True if its queue is not paused and its site's schedule is open.
        package var isOpen: Bool
        /// True if its site cannot be written, or if no connected worker may write to it. Its jobs
        /// wait, except for one that tries the site.
        package var isFaulty: Bool

        package init(
            jobs: Int, deadlineSeconds: Double? = nil, beginsSeconds: Double = 0,
            runningSeconds: Double = 0, isOpen: Bool = true, isFaulty: Bool = false
        ) {
            self.jobs = jobs
            self.deadlineSeconds = deadlineSeconds
            self.beginsSeconds = beginsSeconds
            self.runningSeconds = runningSeconds
            self.isOpen = isOpen
            self.isFaulty = isFaulty
        }
    }
}
