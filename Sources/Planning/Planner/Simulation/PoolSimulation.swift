package import Statistics

/// A seeded simulation of a pool of workers, job by job. It verifies the formulas and covers what
/// they do not: hours of the day, failures, a nightly fill with lower priority than on-demand work.
package struct PoolSimulation: Sendable {
    package var workers: Int
    /// Concurrent jobs of a worker.
    package var slotsPerWorker = 1
    /// On-demand arrivals per second in equal parts of a day; one rate is constant.
    package var arrivalsPerSecond: [Double]
    package var arrivalCV2 = 1.0
    package var service: TimeDistribution
    /// On-demand jobs to simulate; fewer if `untilSeconds` comes first.
    package var jobs: Int
    /// Time of the last arrival, in seconds from the first midnight.
    package var untilSeconds = Double.infinity
    /// First jobs, which are simulated but not counted: the pool starts empty.
    package var warmUpJobs = 0
    /// Jobs available from `backlogStartSeconds` on, with the lowest priority.
    package var backlogJobs = 0
    /// Service times of the backlog; nil for those of the other jobs.
    package var backlogService: TimeDistribution?
    package var backlogStartSeconds = 0.0
    package var failures: Failures?
    package var seed: UInt64 = 1

    /// Failures of workers: their jobs are repeated from the start.
    package struct Failures: Sendable, Hashable {
        /// Mean time of a worker from its start to its failure; exponential.
        package var meanSecondsBetween: Double
        /// Mean time until a replacement starts; exponential.
        package var repairSeconds: Double
        /// Time until its jobs are leased again: the rest of their lease.
        package var leaseSeconds: Double

        package init(meanSecondsBetween: Double, repairSeconds: Double, leaseSeconds: Double = 0) {
            self.meanSecondsBetween = meanSecondsBetween
            self.repairSeconds = repairSeconds
            self.leaseSeconds = leaseSeconds
        }
    }

    package init(
        workers: Int, slotsPerWorker: Int = 1, arrivalsPerSecond: [Double],
        service: TimeDistribution, jobs: Int
    ) {
        self.workers = workers
        self.slotsPerWorker = slotsPerWorker
        self.arrivalsPerSecond = arrivalsPerSecond
        self.service = service
        self.jobs = jobs
    }

    /// Runs the simulation; memory does not grow with the number of jobs.
    package func run() -> SimulationResult {
        precondition(workers > 0 && slotsPerWorker > 0 && jobs >= 0 && backlogJobs >= 0)
        precondition(warmUpJobs >= 0 && backlogStartSeconds >= 0)
        if failures == nil, backlogJobs == 0 { return runInOrder() }
        var run = PoolRun(self)
        return run.result()
    }

    /// Returns separate random streams for arrivals, service and failures, so that arrivals do not
    /// depend on the others.
    func streams() -> (arrivals: SeededRandom, service: SeededRandom, failures: SeededRandom) {
        var random = SeededRandom(seed: seed)
        return (random.split(), random.split(), random.split())
    }

    func arrivals() -> ArrivalProcess? {
        guard jobs > 0 else { return nil }
        return ArrivalProcess(
            ratesPerSecond: arrivalsPerSecond, cv2: arrivalCV2, random: streams().arrivals)
    }
}

/// The result of a simulation.
package struct SimulationResult: Sendable {
    /// Waits from arrival to the start of the successful run, of on-demand jobs after the warm-up,
    /// by the part of the day of their arrival; one histogram for a constant rate.
    package internal(set) var waitsByPart: [WaitHistogram]
    /// All waits.
    package internal(set) var waits = WaitHistogram()
    /// Half-width of the 95 % interval of the mean wait, in seconds, by batch means.
    package internal(set) var meanWaitMargin = 0.0
    /// Mean number of waiting on-demand jobs over time (by Little's law).
    package internal(set) var meanQueueLength = 0.0
    /// Ratio of slot time spent on jobs, failed ones included.
    package internal(set) var utilisation = 0.0
    /// Completed jobs per second, with the backlog's.
    package internal(set) var jobsPerSecond = 0.0
    /// End of the backlog's last job, in seconds from the first midnight; nil without one.
    package internal(set) var backlogDoneSeconds: Double?
    /// Completed jobs of the backlog, by part of the day.
    package internal(set) var backlogDoneByPart: [Int] = []
    package internal(set) var failures = 0
    /// Replacements of failed workers.
    package internal(set) var replacements = 0
    /// Runs lost by failures.
    package internal(set) var lostRuns = 0
    /// Simulated seconds, to the end of the last job.
    package internal(set) var seconds = 0.0
    /// False if the simulation was stopped: workers failed too often for jobs to finish.
    package internal(set) var isComplete = true
}

/// Records waits, with batches for the margin of the mean.
struct WaitRecorder {
    private(set) var parts: [WaitHistogram]
    private let partSeconds: Double
    private let batchSize: Int
    private var batchSum = 0.0
    private var batchCount = 0
    private var batchMeans: [Double] = []

    private static let batches = 32

    init(_ simulation: PoolSimulation) {
        let count = max(1, simulation.arrivalsPerSecond.count)
        parts = [WaitHistogram](repeating: WaitHistogram(), count: count)
        partSeconds = ArrivalProcess.daySeconds / Double(count)
        batchSize = max(1, (simulation.jobs - simulation.warmUpJobs) / Self.batches)
    }

    mutating func add(_ wait: Double, arrival: Double) {
        if parts.count == 1 {
            parts[0].add(wait)
        } else {
            parts[Int(arrival / partSeconds) % parts.count].add(wait)
        }
        batchSum += wait
        batchCount += 1
        if batchCount == batchSize {
            batchMeans.append(batchSum / Double(batchSize))
            (batchSum, batchCount) = (0, 0)
        }
    }

    /// Writes the results. `seconds` is the time in which the counted jobs arrived.
    func finish(_ result: inout SimulationResult, seconds: Double) {
        result.waitsByPart = parts
        for part in parts { result.waits.add(part) }
        if seconds > 0 { result.meanQueueLength = result.waits.sum / seconds }
        let count = Double(batchMeans.count)
        guard count > 1 else { return }
        let mean = batchMeans.reduce(0, +) / count
        let variance = batchMeans.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)
        // Student's t for 31 degrees of freedom.
        result.meanWaitMargin = 2.04 * (variance / count).squareRoot()
    }
}

// MARK: First come, first served

extension PoolSimulation {
    /// Without failures and backlog a job depends only on the time of the first free slot (Kiefer
    /// and Wolfowitz 1955).
    private func runInOrder() -> SimulationResult {
        var result = SimulationResult(waitsByPart: [])
        var recorder = WaitRecorder(self)
        guard var arrivals = arrivals() else {
            recorder.finish(&result, seconds: 0)
            return result
        }
        var random = streams().service
        let slots = workers * slotsPerWorker
        var free = MinHeap<Double>(repeating: 0, count: slots)
        var (begin, last, end) = (0.0, 0.0, 0.0)
        var (busy, done) = (0.0, 0)
        for job in 0..<jobs {
            let arrival = arrivals.next()
            guard arrival <= untilSeconds else { break }
            if job == warmUpJobs {
                begin = arrival
                busy = Self.beyond(arrival, free)
            }
            last = arrival
            let start = max(arrival, free.first ?? 0)
            let time = service.draw(&random)
            free.replaceFirst(with: start + time)
            guard job >= warmUpJobs else { continue }
            busy += time
            done += 1
            end = max(end, start + time)
            recorder.add(start - arrival, arrival: arrival)
        }
        recorder.finish(&result, seconds: last - begin)
        busy -= Self.beyond(last, free)
        if last > begin { result.utilisation = busy / (last - begin) / Double(slots) }
        if end > begin { result.jobsPerSecond = Double(done) / (end - begin) }
        result.seconds = end
        return result
    }

    /// Returns the remaining work of the slots at `time`.
    private static func beyond(_ time: Double, _ free: MinHeap<Double>) -> Double {
        free.all.reduce(0) { $0 + max(0, $1 - time) }
    }
}
