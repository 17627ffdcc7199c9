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

/// What a worker has done since it began, in its heartbeats: counts and sums that only grow, so that what
/// is told twice counts once.
package struct WorkDone: Codable, Hashable, Sendable {
    /// Fetches that ended well, and their bytes.
    package var fetches = 0
    package var bytes: Int64 = 0
    /// Time in which it had something to fetch.
    package var busySeconds = 0.0
    /// Sums over fetches of the first to fourth powers of their seconds on the network.
    package var seconds = 0.0
    package var seconds2 = 0.0
    package var seconds3 = 0.0
    package var seconds4 = 0.0
    /// CPU time of its process; nil where that does other work as well.
    package var cpuSeconds: Double?
    /// Fetches that it can have under way, and cores of its machine.
    package var connections: Int
    package var cores: Int

    package init(connections: Int, cores: Int) {
        self.connections = connections
        self.cores = cores
    }

    /// Adds a fetch that ended well.
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

/// `GET /v1/workers/history?seconds=…`: what all workers did, minute by minute, oldest first.
package struct WorkersHistory: Codable, Sendable {
    package var minutes: [Minute]

    /// What workers told in one minute that they had done since they told it before.
    package struct Minute: Codable, Hashable, Sendable {
        /// Its beginning, in seconds since 1970, by the database's clock.
        package var start: Double
        /// Workers that did something.
        package var workers: Int
        /// Of the one that was busy for longest, and of all of them.
        package var longestBusySeconds: Double
        /// Transfers that they could have had under way, times the seconds they were busy.
        package var slotSeconds: Double
        /// Their sums; `connections` and `cores` are those of all workers together. `cpuSeconds` is nil
        /// where one of them does not tell it.
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

    /// For how long it is kept, in seconds, and most minutes in an answer.
    package static let keptSeconds = 7 * 86_400
    package static let mostMinutes = keptSeconds / 60
}
