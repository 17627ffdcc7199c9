/// `GET /v1/workers/wanted`: the number of workers that an autoscaler should keep now.
package struct WorkersWanted: Codable, Hashable, Sendable {
    package var workers: Int
    package var reason: Reason
    /// Jobs without a worker that can be leased now or soon.
    package var waiting: Int
    /// Jobs that workers hold.
    package var leased: Int
    /// Live workers, and live or lost ones that hold jobs.
    package var current: Int
    package var busy: Int
    /// Required rate of all workers together to meet every deadline.
    package var segmentsPerSecond: Double

    /// The deciding reason.
    package enum Reason: String, Codable, CaseIterable, Sendable {
        /// Nothing waits and nothing runs.
        case idle
        /// One is enough, and there is work.
        case running
        /// Deadlines require this number.
        case deadline
        /// A deadline has passed, or is too near to be met: as many as help.
        case overdue
        /// Fewer suffice for waiting jobs, but those that hold jobs finish them first.
        case finishing
        /// Slightly fewer suffice: not worth stopping any.
        case steady
        /// The minimum or the maximum allowed number.
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

/// A worker's total work since its start, in its heartbeats. Counts and sums only grow, so that a
/// repeated report counts once.
package struct WorkDone: Codable, Hashable, Sendable {
    /// Successful fetches, and their bytes.
    package var fetches = 0
    package var bytes: Int64 = 0
    /// Time during which it had something to fetch.
    package var busySeconds = 0.0
    /// Sums over fetches of the first to fourth powers of their seconds on the network.
    package var seconds = 0.0
    package var seconds2 = 0.0
    package var seconds3 = 0.0
    package var seconds4 = 0.0
    /// CPU time of its process; nil if the process also does other work.
    package var cpuSeconds: Double?
    /// Maximum simultaneous fetches, and cores of its machine.
    package var connections: Int
    package var cores: Int

    package init(connections: Int, cores: Int) {
        self.connections = connections
        self.cores = cores
    }

    /// Adds a successful fetch.
    package mutating func add(seconds value: Double, bytes count: Int64) {
        fetches += 1
        bytes += count
        let square = value * value
        seconds += value
        seconds2 += square
        seconds3 += square * value
        seconds4 += square * square
    }
}

/// `GET /v1/workers/history?seconds=…`: the work of all workers by minute, oldest first.
package struct WorkersHistory: Codable, Sendable {
    package var minutes: [Minute]

    /// The workers' increments of work reported in one minute.
    package struct Minute: Codable, Hashable, Sendable {
        /// Its beginning, in seconds since 1970, by the database's clock.
        package var start: Double
        /// Workers that did something.
        package var workers: Int
        /// Busy time of the longest busy worker.
        package var longestBusySeconds: Double
        /// Possible simultaneous transfers times busy seconds.
        package var slotSeconds: Double
        /// Sums over the workers; `connections` and `cores` are those of all together. `cpuSeconds`
        /// is nil if one of them does not report it.
        package var done: WorkDone

        package init(
            start: Double, workers: Int, longestBusySeconds: Double, slotSeconds: Double,
            done: WorkDone
        ) {
            self.start = start
            self.workers = workers
            self.longestBusySeconds = longestBusySeconds
            self.slotSeconds = slotSeconds
            self.done = done
        }
    }

    package init(minutes: [Minute]) { self.minutes = minutes }

    /// Retention time in seconds, and maximum minutes in an answer.
    package static let keptSeconds = 7 * 86_400
    package static let maxMinutes = keptSeconds / 60
}
