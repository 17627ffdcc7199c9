// A load test on workers of a cluster, as who wants it asks for it and follows it. Times are seconds
// since 1970 by the database's clock.

extension WireLimits {
    /// Workers of one load test.
    package static let loadWorkers = 200
    /// Of these a worker tells that it has had its part in them.
    package static let pastLoadTests = 16
    /// Largest scenario of a load test in bytes.
    package static let scenarioBytes = 4 << 20
    /// How long workers may be waited for, in seconds.
    package static let loadWaitSeconds = 1.0...3_600.0
    /// How long a load test may last, in seconds.
    package static let loadSeconds = 0.001...604_800.0
    /// Largest text of one second of one share in bytes.
    package static let intervalBytes = 512 << 10
    /// Seconds that one report of a share has.
    package static let intervalsPerReport = 40
    /// Seconds of shares that one answer has.
    package static let intervalsPerAnswer = 100
    /// Largest text of what was measured of URLs, targets and renditions in bytes.
    package static let breakdownBytes = 8 << 20
    /// A share that was not heard of for so long is lost, and stops by itself.
    package static let loadSilentSeconds = 10.0
    /// Longest that a worker's report, and a follower's question, is held while there is no news.
    package static let loadWaitMilliseconds = 5_000
}

/// `POST /v1/load-tests`: runs a load test on workers. The answer is its status, of a repeated request
/// too.
package struct LoadTestSubmission: Codable, Sendable {
    package var id: LoadTestID
    /// 1 to 200 characters, for lists.
    package var name: String
    /// Whose workers; nil for any worker of the cluster.
    package var queue: String?
    /// As workers read it: a scenario that needs no file of whoever submits it.
    package var scenario: String
    /// Among how many workers it is divided; nil for all that are ready when the wait is over.
    package var workers: Int?
    /// With how many it starts when the wait is over, at least.
    package var atLeast: Int
    /// How long workers are waited for, within `WireLimits.loadWaitSeconds`.
    package var waitSeconds: Double
    /// How long it lasts by its scenario, within `WireLimits.loadSeconds`.
    package var durationSeconds: Double

    package init(
        id: LoadTestID, name: String, queue: String? = nil, scenario: String, workers: Int? = nil,
        atLeast: Int, waitSeconds: Double, durationSeconds: Double
    ) {
        self.id = id
        self.name = name
        self.queue = queue
        self.scenario = scenario
        self.workers = workers
        self.atLeast = atLeast
        self.waitSeconds = waitSeconds
        self.durationSeconds = durationSeconds
    }
}

/// A load test and its shares.
package struct LoadTestStatus: Codable, Sendable {
    package var id: LoadTestID
    package var name: String
    /// Nil for any worker of the cluster.
    package var queue: String?
    package var state: LoadTestState
    package var workers: Int?
    package var atLeast: Int
    package var created: Double
    /// Until when workers may join.
    package var joinUntil: Double
    /// Nil before it is set; ahead for a moment then.
    package var started: Double?
    package var ended: Double?
    /// Why it came to no start, or was stopped without being asked to.
    package var failure: Failure?
    /// By their numbers; those that have none, because the test has not begun or began without them, last.
    package var shares: [Share]
    /// When this was so.
    package var now: Double

    package struct Share: Codable, Sendable {
        package var worker: WorkerID
        /// Host and process.
        package var name: String
        /// Which part it is, from 0; nil before the start.
        package var number: Int?
        package var state: LoadShareState
        /// The first second of which nothing has come.
        package var nextSecond: Int
        /// Cores that its worker's loops have; 0 before it is ready.
        package var cores: Int
        /// Why it failed.
        package var failure: Failure?

        package init(
            worker: WorkerID, name: String, number: Int?, state: LoadShareState, nextSecond: Int,
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
        failure: Failure?, shares: [Share], now: Double
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
        self.shares = shares
        self.now = now
    }
}

/// `GET /v1/load-tests`: those that run, and those that ended within a day, latest first.
package struct LoadTestList: Codable, Sendable {
    package var tests: [LoadTestStatus]

    package init(tests: [LoadTestStatus]) { self.tests = tests }
}

/// `POST /v1/load-tests/{id}/follow`: what is new of a test, and that somebody still wants it. One that
/// nobody follows for a while is stopped.
package struct LoadTestFollow: Codable, Sendable {
    /// Of each share, by number, the first second that is wanted; 0 for those that are not there. What
    /// comes before them is forgotten.
    package var after: [Int]
    /// How long the question may be held while there is nothing new, 0 to
    /// `WireLimits.loadWaitMilliseconds`.
    package var waitMilliseconds: Int
    /// The test's state as it is known: another one is news.
    package var known: LoadTestState?

    package init(after: [Int], waitMilliseconds: Int, known: LoadTestState? = nil) {
        self.after = after
        self.waitMilliseconds = waitMilliseconds
        self.known = known
    }
}

/// The answer to `LoadTestFollow`.
package struct LoadTestNews: Codable, Sendable {
    package var test: LoadTestStatus
    /// Of each share in order, none left out; the earliest seconds first.
    package var intervals: [Interval]
    /// There is more, to be asked for at once.
    package var hasMore: Bool

    package struct Interval: Codable, Sendable {
        /// The share's number.
        package var share: Int
        package var second: Int
        /// As the worker wrote it.
        package var data: String

        package init(share: Int, second: Int, data: String) {
            self.share = share
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

/// `GET /v1/load-tests/{id}/breakdown?share=…`: what a share measured of URLs, targets and renditions.
package struct LoadTestBreakdown: Codable, Sendable {
    /// As the worker wrote it; nil while it has not, or never will.
    package var data: String?

    package init(data: String?) { self.data = data }
}
