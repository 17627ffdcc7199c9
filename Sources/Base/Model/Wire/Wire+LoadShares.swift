// A load test on workers of a cluster, as these see it.

/// Tells a worker of a load test that wants workers.
package struct LoadTestCall: Codable, Hashable, Sendable {
    package var id: LoadTestID
    /// Whose workers; nil for any worker of the cluster.
    package var queue: String?

    package init(id: LoadTestID, queue: String?) {
        self.id = id
        self.queue = queue
    }

    /// Whether a worker that takes jobs from these queues, from all where there are none, is meant.
    package func isFor(_ queues: [String]) -> Bool {
        guard let queue, !queues.isEmpty else { return true }
        return queues.contains(queue)
    }
}

/// `POST /v1/load-tests/{id}/shares`: a worker takes a part in a test. A repeated request has the same
/// answer.
package struct LoadTestJoin: Codable, Sendable {
    package var worker: WorkerID
    /// Host and process, 1 to 200 characters.
    package var name: String

    package init(worker: WorkerID, name: String) {
        self.worker = worker
        self.name = name
    }
}

/// The answer to `LoadTestJoin`.
package struct LoadTestPlace: Codable, Sendable {
    /// Nil where no worker is wanted any more, or this one has had its part.
    package var scenario: String?

    package init(scenario: String?) { self.scenario = scenario }
}

/// `POST /v1/load-tests/{id}/reports`: a worker says how far its share is, which is to be heard of every
/// few seconds. Seconds that were reported before are ignored.
package struct LoadTestReport: Codable, Sendable {
    package var worker: WorkerID
    package var progress: Progress
    /// From `ready` on: cores that the worker's loops have, 1 to 10,000.
    package var cores: Int?
    /// Seconds that are whole, in order.
    package var intervals: [Interval]
    /// finished: what was measured of URLs, targets and renditions.
    package var breakdown: String?
    /// failed: why.
    package var failure: Failure?
    /// What the worker was told last: the answer is held while it would be the same.
    package var known: LoadTestOrder.Kind?
    /// For how long, 0 to `WireLimits.loadWaitMilliseconds`.
    package var waitMilliseconds: Int

    /// How far a worker is; the earlier ones may be repeated at any time.
    package enum Progress: String, Codable, CaseIterable, Sendable {
        /// Finds out what it would do.
        case preparing
        /// Could begin, or has begun.
        case ready
        case finished
        case failed
    }

    package struct Interval: Codable, Sendable {
        package var second: Int
        package var data: String

        package init(second: Int, data: String) {
            self.second = second
            self.data = data
        }
    }

    package init(worker: WorkerID, progress: Progress) {
        self.worker = worker
        self.progress = progress
        intervals = []
        waitMilliseconds = 0
    }
}

/// What a worker with a share of a load test is to do.
package struct LoadTestOrder: Codable, Sendable {
    package var kind: Kind
    /// run: until the test's start, by the database's clock at the end of the request; negative after it.
    package var startsInSeconds: Double?
    /// run: which part of how many.
    package var share: Int?
    package var shares: Int?

    package enum Kind: String, Codable, CaseIterable, Sendable {
        case wait
        case run
        /// Send nothing more; report what there is, and the end.
        case stop
        /// The share has ended, or is not this worker's: whatever it reports changes nothing.
        case leave
    }

    package init(_ kind: Kind) { self.kind = kind }
}
