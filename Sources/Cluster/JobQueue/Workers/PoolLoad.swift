/// What there is to do for workers now.
package struct PoolLoad: Sendable {
    package var backlogs: [Backlog]
    /// Jobs that workers hold.
    package var leased: Int
    /// Workers that hold jobs.
    package var busy: Int
    /// Workers that are heard of.
    package var workers: Int
    /// Whether a queue has a job that can be leased now, of a catalog or not.
    package var hasWork: Bool

    package init(backlogs: [Backlog], leased: Int, busy: Int, workers: Int, hasWork: Bool) {
        self.backlogs = backlogs
        self.leased = leased
        self.busy = busy
        self.workers = workers
        self.hasWork = hasWork
    }

    /// What a running catalog lacks.
    package struct Backlog: Sendable {
        /// Jobs to do, those that are leased among them.
        package var jobs: Int
        /// Until its deadline, by the database's clock; negative when it is over, nil without one.
        package var deadlineSeconds: Double?
        /// Until its work may be handed out; 0 or less when it may.
        package var beginsSeconds: Double
        /// Since its work could be handed out first.
        package var runningSeconds: Double
        /// Its queue is not paused, and its site's schedule lets it be fed.
        package var isOpen: Bool
        /// Its site cannot be written, or no worker that is heard of may write it: its work waits, but for what tries
        /// whether it can be again.
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
