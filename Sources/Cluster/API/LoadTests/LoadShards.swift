package import Model

// Load tests on workers of a cluster, from a worker's perspective.

/// A load test that needs workers.
package struct LoadTestCall: Codable, Hashable, Sendable {
    package var id: LoadTestID
    /// Queue whose workers may join; nil for any worker of the cluster.
    package var queue: String?

    package init(id: LoadTestID, queue: String?) {
        self.id = id
        self.queue = queue
    }

    /// Returns true if a worker of these queues may join; an empty list means all queues.
    package func isFor(_ queues: [String]) -> Bool {
        guard let queue, !queues.isEmpty else { return true }
        return queues.contains(queue)
    }
}

/// `POST /v1/load-tests/{id}/shards`: a worker joins a test. A repeated request has the same
/// answer.
package struct LoadTestJoin: Codable, Sendable {
    package var worker: WorkerID
    /// Host and process, 1 to 200 characters.
    package var name: String
    /// True if the worker fetches its parts of a test's data. Without it, it is not needed for a test
    /// with data: it would send another load.
    package var takesData: Bool?

    package init(worker: WorkerID, name: String, takesData: Bool? = true) {
        self.worker = worker
        self.name = name
        self.takesData = takesData
    }
}

/// The answer to `LoadTestJoin`.
package struct LoadTestAssignment: Codable, Sendable {
    /// Nil if no worker is needed any more, or if this one has had its shard.
    package var scenario: String?
    /// Number of parts of the test's data; nil without data.
    package var parts: Int?
    /// Number of blocks of a replay's URLs, which the worker fetches before it is ready; nil for other
    /// tests.
    package var urlBlocks: Int?

    package init(scenario: String?, parts: Int? = nil, urlBlocks: Int? = nil) {
        self.scenario = scenario
        self.parts = parts
        self.urlBlocks = urlBlocks
    }
}

/// `POST /v1/load-tests/{id}/parts`: a worker fetches its shard's parts of the test's data, once it
/// knows the start.
///
/// Shard s of n gets the parts p with p mod n = s. A shard without one, because there are fewer parts
/// than shards, gets part s modulo their number, which others have as well. All workers get the blocks
/// of a replay's URLs, as soon as they have joined.
package struct LoadTestPartsRequest: Codable, Sendable {
    package var worker: WorkerID
    /// Number from which on parts are wanted, from 0.
    package var from: Int
    /// True to fetch blocks of URLs in place of parts.
    package var urls: Bool?

    package init(worker: WorkerID, from: Int, urls: Bool? = nil) {
        self.worker = worker
        self.from = from
        self.urls = urls
    }
}

/// The answer to `LoadTestPartsRequest`.
package struct LoadTestParts: Codable, Sendable {
    /// The next ones by number, up to `WireLimits.loadPageBytes` together but at least one; empty
    /// after the last.
    package var parts: [LoadTestData.Part]

    package init(parts: [LoadTestData.Part]) { self.parts = parts }
}

/// `POST /v1/load-tests/{id}/reports`: a worker reports the progress of its shard, every few
/// seconds. Seconds that were reported before are ignored.
package struct LoadTestReport: Codable, Sendable {
    package var worker: WorkerID
    package var progress: Progress
    /// From `ready` on: cores that the worker's loops have, 1 to 10,000.
    package var cores: Int?
    /// Complete seconds, in order.
    package var intervals: [Interval]
    /// finished: measurements by URL, target and rendition.
    package var breakdown: String?
    /// failed: the failure.
    package var failure: Failure?
    /// The last received order: the answer is delayed while it would be the same.
    package var known: LoadTestOrder.Kind?
    /// Number of received changes of the load: the order has those after them, at once. Nil to get
    /// none.
    package var changes: Int?
    /// Maximum delay, 0 to `WireLimits.loadWaitMilliseconds`.
    package var waitMilliseconds: Int

    /// Progress of a worker; earlier values may be repeated at any time.
    package enum Progress: String, Codable, CaseIterable, Sendable {
        /// Measures its targets.
        case preparing
        /// Ready to start, or started.
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

/// An order for a worker with a shard of a load test.
package struct LoadTestOrder: Codable, Sendable {
    package var kind: Kind
    /// run: seconds until the test's start, by the database's clock at the end of the request;
    /// negative after it.
    package var startsInSeconds: Double?
    /// run: index of the shard, and their number.
    package var shard: Int?
    package var shards: Int?
    /// run: changes of the load that the worker does not have, by revision; nil for none. They are of
    /// the whole test: each shard divides them as the scenario's load.
    package var changes: [LoadTestChange]?

    package enum Kind: String, Codable, CaseIterable, Sendable {
        case wait
        case run
        /// Send nothing more; report the remaining results and the end.
        case stop
        /// The shard has ended, or is not this worker's: its reports change nothing.
        case leave
    }

    package init(_ kind: Kind) { self.kind = kind }
}
