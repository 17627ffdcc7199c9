import Statistics

/// Simulates a queue until the mean wait is known to 2 %, or to the maximum number of jobs. Where no
/// job of the first run waits, there is no other.
package struct QueueSimulation: Sendable, Hashable {
    package static let standardJobs = 20_000_000
    /// A larger pool takes too long to fill.
    package static let maxLoad = 20_000.0
    private static let wantedMargin = 0.02
    private static let firstJobs = 4_000_000
    /// Jobs per erlang: the pool starts empty, and a tenth of the jobs is warm-up.
    private static let jobsPerErlang = 100.0

    package var seed: UInt64
    /// Maximum number of jobs of a run.
    package var maxJobs: Int

    package init(seed: UInt64 = 1, maxJobs: Int = standardJobs) {
        precondition(maxJobs >= 1_000)
        self.seed = seed
        self.maxJobs = maxJobs
    }

    /// Load up to which the pool fills within the warm-up.
    var maxSteadyLoad: Double { min(Self.maxLoad, Double(maxJobs) / Self.jobsPerErlang) }

    /// Simulates `servers` servers, more than the load.
    package func run(_ question: QueueQuestion, servers: Int) -> SimulatedQueue {
        var jobs = first(question)
        while true {
            let queue = run(question, servers: servers, jobs: jobs)
            guard let margin = queue.marginSeconds, jobs < maxJobs,
                margin > Self.wantedMargin * queue.meanWaitSeconds
            else { return queue }
            jobs = min(maxJobs, jobs * 5)
        }
    }

    /// Simulates without regard to the margin, with the same draws for any number of servers.
    func once(_ question: QueueQuestion, servers: Int) -> SimulatedQueue {
        run(question, servers: servers, jobs: first(question))
    }

    private func first(_ question: QueueQuestion) -> Int {
        min(maxJobs, max(Self.firstJobs, Int(Self.jobsPerErlang * question.load)))
    }

    private func run(_ question: QueueQuestion, servers: Int, jobs: Int) -> SimulatedQueue {
        // In service times, so that waits of microseconds are not rounded to 0.
        var pool = PoolSimulation(
            // A job has to wait for others only: more servers than jobs change nothing.
            workers: min(servers, jobs), arrivalsPerSecond: [question.load],
            service: TimeDistribution(
                meanSeconds: 1, cv2: question.serviceCV2, shape: question.serviceShape), jobs: jobs)
        pool.arrivalCV2 = question.arrivalCV2
        pool.warmUpJobs = jobs / 10
        pool.seed = seed
        return SimulatedQueue(
            servers: servers, jobs: jobs, load: question.load,
            serviceSeconds: question.serviceSeconds, result: pool.run())
    }
}

/// A simulated queue.
package struct SimulatedQueue: Sendable {
    package let servers: Int
    /// Simulated jobs; a tenth of them is warm-up.
    package let jobs: Int
    let load: Double
    let serviceSeconds: Double
    /// In units of the mean service time.
    let result: SimulationResult

    package var meanWaitSeconds: Double { result.waits.mean * serviceSeconds }
    /// Jobs of which the waits are known, those after the warm-up.
    package var countedJobs: Int { result.waits.count }
    /// Half-width of the 95 % interval of the mean; nil if no job waited, because the interval is not
    /// known then.
    package var marginSeconds: Double? {
        result.waits.mean > 0 ? result.meanWaitMargin * serviceSeconds : nil
    }
    package var meanQueueLength: Double { result.waits.mean * load }
    package var probabilityOfWait: Double { 1 - result.waits.share(atMost: 0) }

    package func waitSeconds(quantile: Double) -> Double {
        result.waits.quantile(quantile) * serviceSeconds
    }

    package func serviceLevel(withinSeconds: Double) -> Double {
        result.waits.share(atMost: withinSeconds / serviceSeconds)
    }
}
