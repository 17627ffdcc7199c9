/// `GET /v1/workers/wanted`: how many workers an autoscaler should keep now.
package struct WorkersWanted: Codable, Hashable, Sendable {
    package var workers: Int
    package var reason: Reason
    /// Jobs that no worker holds, and that one could be handed out now or soon.
    package var waiting: Int
    /// Jobs that workers hold.
    package var leased: Int
    /// Workers that are heard of, and those of them, or lost ones, that hold jobs.
    package var current: Int
    package var busy: Int
    /// What all of them have to do together to keep every deadline.
    package var segmentsPerSecond: Double

    /// What decided.
    package enum Reason: String, Codable, CaseIterable, Sendable {
        /// Nothing waits and nothing runs.
        case idle
        /// One is enough, and there is work.
        case running
        /// Deadlines need so many.
        case deadline
        /// A deadline is over, or so near that it cannot be kept: as many as help.
        case overdue
        /// Less would do for what waits: those that hold jobs finish them first.
        case finishing
        /// A few less would do: not worth stopping any.
        case steady
        /// As few, or as many, as are allowed.
        case minimum, maximum
    }

    package init(
        workers: Int, reason: Reason, waiting: Int, leased: Int, current: Int, busy: Int,
        segmentsPerSecond: Double
    ) {
        self.workers = workers
        self.reason = reason
        self.waiting = waiting
        self.leased = leased
        self.current = current
        self.busy = busy
        self.segmentsPerSecond = segmentsPerSecond
    }
}
