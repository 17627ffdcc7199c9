package import Model

// Load tests on workers of a cluster, from a client's perspective. Times are seconds since 1970 by
// the database's clock.

/// `POST /v1/load-tests`: runs a load test on workers. The answer is its status, also for a
/// repeated request.
package struct LoadTestSubmission: Codable, Sendable {
    package var id: LoadTestID
    /// 1 to 200 characters, for lists.
    package var name: String
    /// Queue whose workers may join; nil for any worker of the cluster.
    package var queue: String?
    /// The scenario for workers, which needs no file of the submitter.
    package var scenario: String
    /// Number of workers that it is divided among; nil for all that are ready at the end of the
    /// wait.
    package var workers: Int?
    /// Minimum number of workers at the end of the wait.
    package var atLeast: Int
    /// Time to wait for workers, within `WireLimits.loadWaitSeconds`.
    package var waitSeconds: Double
    /// Duration of its scenario, within `WireLimits.loadSeconds`.
    package var durationSeconds: Double
    /// Number of parts of its data, which `LoadTestData` brings; it does not start before. Nil for a
    /// test without data.
    package var parts: Int?
    /// URLs of a replay, one a line, for all workers, in blocks of up to `WireLimits.loadPageBytes`;
    /// nil for other tests.
    package var urls: [String]?
    /// The loads that it can be given while it runs; nil if its load cannot change.
    package var range: LoadRange?

    package init(
        id: LoadTestID, name: String, queue: String? = nil, scenario: String, workers: Int? = nil,
        atLeast: Int, waitSeconds: Double, durationSeconds: Double, parts: Int? = nil,
        urls: [String]? = nil, range: LoadRange? = nil
    ) {
        self.id = id
        self.name = name
        self.queue = queue
        self.scenario = scenario
        self.workers = workers
        self.atLeast = atLeast
        self.waitSeconds = waitSeconds
        self.durationSeconds = durationSeconds
        self.parts = parts
        self.urls = urls
        self.range = range
    }
}

/// `POST /v1/load-tests/{id}/load`: changes the load of a running test, from shortly after to its
/// planned end. The answer is the change. A repeated request has the same answer, unless another
/// change came between: the last one holds.
package struct LoadTestChangeRequest: Codable, Sendable {
    /// Arrivals per second, or users, of all shards together, in the test's `LoadRange`; 0 to pause.
    package var level: Double

    package init(level: Double) { self.level = level }
}

/// A change of the load of a running test.
package struct LoadTestChange: Codable, Hashable, Sendable {
    /// From 1, in the order of the changes: the latest holds from its time on.
    package var revision: Int
    /// Seconds since the test's start from which it holds.
    package var seconds: Double
    /// Arrivals per second, or users, of all shards together.
    package var level: Double

    package init(revision: Int, seconds: Double, level: Double) {
        self.revision = revision
        self.seconds = seconds
        self.level = level
    }
}

/// `POST /v1/load-tests/{id}/data`: parts of a test's data, which its shards divide. They are deleted
/// when the test ends. A repeated part changes nothing.
package struct LoadTestData: Codable, Sendable {
    package var parts: [Part]

    package struct Part: Codable, Sendable {
        /// From 0, below the test's number of parts.
        package var number: Int
        /// Rows of viewers' data, or requests of a replay. It may have secrets.
        package var data: String

        package init(number: Int, data: String) {
            self.number = number
            self.data = data
        }
    }

    package init(parts: [Part]) { self.parts = parts }
}

/// The answer to `LoadTestData`.
package struct LoadTestDataAnswer: Codable, Sendable {
    /// State of the test before; unless it waits, it takes no more data.
    package var state: LoadTestState

    package init(state: LoadTestState) { self.state = state }
}

/// A load test and its shards.
package struct LoadTestStatus: Codable, Sendable {
    package var id: LoadTestID
    package var name: String
    /// Nil for any worker of the cluster.
    package var queue: String?
    package var state: LoadTestState
    package var workers: Int?
    package var atLeast: Int
    package var created: Double
    /// End of the time to join.
    package var joinUntil: Double
    /// Start time; nil before it is set, then at first shortly in the future.
    package var started: Double?
    package var ended: Double?
    /// The reason why it never started, or was stopped without a request.
    package var failure: Failure?
    /// The loads that it can be given while it runs; nil if its load cannot change.
    package var range: LoadRange?
    /// The latest change of its load; nil for none.
    package var change: LoadTestChange?
    /// Shards by their numbers. Those without a number come last, because the test has not started
    /// or started without them.
    package var shards: [Shard]
    /// Time of the answer.
    package var now: Double

    package struct Shard: Codable, Sendable {
        package var worker: WorkerID
        /// Host and process.
        package var name: String
        /// Index of the shard, from 0; nil before the start.
        package var number: Int?
        package var state: LoadShardState
        /// The first second that was not reported.
        package var nextSecond: Int
        /// Cores that its worker's loops have; 0 before it is ready.
        package var cores: Int
        /// The failure of a failed shard.
        package var failure: Failure?

        package init(
            worker: WorkerID, name: String, number: Int?, state: LoadShardState, nextSecond: Int,
            cores: Int, failure: Failure?
        ) {
            self.worker = worker
            self.name = name
            self.number = number
            self.state = state
            self.nextSecond = nextSecond
            self.cores = cores
            self.failure = failure
        }
    }

    package init(
        id: LoadTestID, name: String, queue: String?, state: LoadTestState, workers: Int?,
        atLeast: Int, created: Double, joinUntil: Double, started: Double?, ended: Double?,
        failure: Failure?, range: LoadRange? = nil, change: LoadTestChange? = nil, shards: [Shard],
        now: Double
    ) {
        self.id = id
        self.name = name
        self.queue = queue
        self.state = state
        self.workers = workers
        self.atLeast = atLeast
        self.created = created
        self.joinUntil = joinUntil
        self.started = started
        self.ended = ended
        self.failure = failure
        self.range = range
        self.change = change
        self.shards = shards
        self.now = now
    }
}

/// `GET /v1/load-tests`: running tests, and those that ended within a day, latest first.
package struct LoadTestList: Codable, Sendable {
    package var tests: [LoadTestStatus]

    package init(tests: [LoadTestStatus]) { self.tests = tests }
}

/// `POST /v1/load-tests/{id}/follow`: returns changes of a test, and keeps it running. A test
/// without followers is stopped after a while.
package struct LoadTestFollow: Codable, Sendable {
    /// The first requested second of each shard, by number; 0 for missing ones. Earlier seconds are
    /// deleted.
    package var after: [Int]
    /// Maximum delay of the answer while nothing changes, 0 to `WireLimits.loadWaitMilliseconds`.
    package var waitMilliseconds: Int
    /// The previously received state of the test; another one is a change.
    package var known: LoadTestState?
    /// Number of received changes of the load: those after them are answered at once. Nil to get none.
    package var changes: Int?

    package init(
        after: [Int], waitMilliseconds: Int, known: LoadTestState? = nil, changes: Int? = nil
    ) {
        self.after = after
        self.waitMilliseconds = waitMilliseconds
        self.known = known
        self.changes = changes
    }
}

/// The answer to `LoadTestFollow`.
package struct LoadTestUpdate: Codable, Sendable {
    package var test: LoadTestStatus
    /// Consecutive seconds of each shard; the earliest ones first.
    package var intervals: [Interval]
    /// Changes of the load after the received ones, by revision; nil for none. None comes later than
    /// seconds in which it holds.
    package var changes: [LoadTestChange]?
    /// True if more can be requested at once.
    package var hasMore: Bool

    package struct Interval: Codable, Sendable {
        /// The shard's number.
        package var shard: Int
        package var second: Int
        /// Data as written by the worker.
        package var data: String

        package init(shard: Int, second: Int, data: String) {
            self.shard = shard
            self.second = second
            self.data = data
        }
    }

    package init(test: LoadTestStatus, intervals: [Interval], hasMore: Bool) {
        self.test = test
        self.intervals = intervals
        self.hasMore = hasMore
    }
}

/// `GET /v1/load-tests/{id}/breakdown?shard=…`: a shard's measurements by URL, target and
/// rendition.
package struct LoadTestBreakdown: Codable, Sendable {
    /// Data as written by the worker; nil until then, or forever.
    package var data: String?

    package init(data: String?) { self.data = data }
}
