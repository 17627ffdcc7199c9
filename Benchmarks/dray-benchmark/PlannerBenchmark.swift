import Benchmark
import Glibc
import Planner
import Rendering
import Statistics

/// `dray-benchmark planner`: how fast the planner simulates, and how close it is to theory.
enum PlannerBenchmark {
    /// A queue, and what is known about it.
    private struct Queue {
        let name: String
        let servers: Int
        let utilisation: Double
        let serviceCV2: Double
        var arrivalCV2 = 1.0
        /// The formulas give its waits exactly.
        var isExact = true
        /// Hours of the day, failures and a backlog: no theory is exact.
        var isPool = false
    }

    private static let queues = [
        Queue(name: "M/M/1", servers: 1, utilisation: 0.8, serviceCV2: 1),
        Queue(name: "M/D/1", servers: 1, utilisation: 0.8, serviceCV2: 0),
        Queue(name: "M/G/1, CV² 4", servers: 1, utilisation: 0.7, serviceCV2: 4),
        Queue(name: "M/M/16", servers: 16, utilisation: 0.9, serviceCV2: 1),
        Queue(name: "M/M/512", servers: 512, utilisation: 0.97, serviceCV2: 1),
        Queue(name: "M/D/16", servers: 16, utilisation: 0.8, serviceCV2: 0, isExact: false),
        Queue(name: "M/G/16, CV² 4", servers: 16, utilisation: 0.8, serviceCV2: 4, isExact: false),
        Queue(
            name: "G/M/16, CV² 2", servers: 16, utilisation: 0.9, serviceCV2: 1, arrivalCV2: 2,
            isExact: false),
        Queue(
            name: "M/G/16, CV² 20", servers: 16, utilisation: 0.8, serviceCV2: 20, isExact: false),
        Queue(
            name: "M/G/16, CV² 100", servers: 16, utilisation: 0.8, serviceCV2: 100,
            isExact: false),
        Queue(
            name: "day, failures, backlog", servers: 512, utilisation: 0.6, serviceCV2: 4,
            isExact: false, isPool: true),
    ]

    /// Simulates each queue with so many jobs, one after another. Takes seconds for ten million.
    static func run(jobs: Int, seed: UInt64) -> PlannerBenchmarkReport {
        let figures = queues.map { measure($0, jobs: jobs, seed: seed) }
        return PlannerBenchmarkReport(
            jobs: jobs, seed: seed, simulations: figures,
            peakResidentBytes: ProcessUsage.peakResidentBytes(of: getpid()))
    }

    private static func measure(
        _ queue: Queue, jobs: Int, seed: UInt64
    ) -> PlannerBenchmarkReport.Figures {
        let simulation = simulation(queue, jobs: jobs, seed: seed)
        let start = ContinuousClock.now
        let result = simulation.run()
        let seconds = start.duration(to: .now).inSeconds
        func theory(_ correction: WaitingModel.Correction) -> Double {
            WaitingModel(
                servers: queue.servers, load: Double(queue.servers) * queue.utilisation,
                serviceSeconds: 1, arrivalCV2: queue.arrivalCV2, serviceCV2: queue.serviceCV2,
                correction: correction
            ).meanWaitSeconds
        }
        let mean = result.waits.mean
        let exact = theory(.allenCunneen)
        return PlannerBenchmarkReport.Figures(
            name: queue.name, seconds: seconds.rounded(places: 3),
            jobsPerSecond: (Double(jobs + simulation.backlogJobs) / max(1e-9, seconds)).rounded(),
            meanWaitSeconds: mean, meanWaitMargin: result.meanWaitMargin,
            p99WaitSeconds: result.waits.quantile(0.99),
            utilisation: result.utilisation,
            theoreticalWaitSeconds: queue.isExact ? exact : nil,
            relativeError: queue.isExact ? mean / exact - 1 : nil,
            allenCunneenError: queue.isPool ? nil : exact / mean - 1,
            kimuraError: queue.isPool ? nil : theory(.kimura) / mean - 1)
    }

    private static func simulation(_ queue: Queue, jobs: Int, seed: UInt64) -> PoolSimulation {
        let rate = Double(queue.servers) * queue.utilisation
        var simulation = PoolSimulation(
            workers: queue.servers, arrivalsPerSecond: [rate],
            service: TimeDistribution(meanSeconds: 1, cv2: queue.serviceCV2), jobs: jobs)
        simulation.arrivalCV2 = queue.arrivalCV2
        simulation.seed = seed
        simulation.warmUpJobs = jobs / 20
        guard queue.isPool else { return simulation }
        simulation.slotsPerWorker = 32
        simulation.workers = queue.servers / simulation.slotsPerWorker
        // From half of the mean after midnight to one and a half before the next.
        simulation.arrivalsPerSecond = (0..<24).map { rate * (0.5 + Double($0) / 23) }
        simulation.backlogJobs = jobs / 10
        simulation.failures = PoolSimulation.Failures(
            meanSecondsBetween: 86_400, repairSeconds: 120, leaseSeconds: 30)
        return simulation
    }
}

/// The time of simulations, and their difference from theory.
struct PlannerBenchmarkReport: BenchmarkReport {
    struct Figures: Encodable, Sendable {
        var name: String
        var seconds: Double
        var jobsPerSecond: Double
        var meanWaitSeconds: Double
        /// Half of the mean's 95 % interval.
        var meanWaitMargin: Double
        var p99WaitSeconds: Double
        var utilisation: Double
        /// Nil where no theory is exact.
        var theoreticalWaitSeconds: Double?
        /// The error of the mean wait, against theory.
        var relativeError: Double?
        /// The errors of the two corrections, against the mean wait.
        var allenCunneenError: Double?
        var kimuraError: Double?
    }

    var jobs: Int
    var seed: UInt64
    var simulations: [Figures]
    var peakResidentBytes: Int64

    var text: String {
        func shown(_ value: Double, _ unit: String) -> String {
            HumanFormat.fixed(value, places: unit == "s" ? 4 : 2) + " \(unit)"
        }
        let table = TextLayout.table(
            headings: [
                "Simulation", "Took", "Jobs/s", "Mean wait", "±", "Theory", "Off", "Allen–Cunneen",
                "Kimura",
            ],
            alignments: [.left] + [TextLayout.Alignment](repeating: .right, count: 8),
            rows: simulations.map { row in
                [
                    row.name, HumanFormat.fixed(row.seconds, places: 2) + " s",
                    HumanFormat.count(Int(row.jobsPerSecond)), shown(row.meanWaitSeconds, "s"),
                    shown(row.meanWaitMargin, "s"),
                    row.theoreticalWaitSeconds.map { shown($0, "s") } ?? "–",
                    row.relativeError.map { shown($0 * 100, "%") } ?? "–",
                    row.allenCunneenError.map { shown($0 * 100, "%") } ?? "–",
                    row.kimuraError.map { shown($0 * 100, "%") } ?? "–",
                ]
            })
        return table
            + "\nService takes 1 s on average. \(HumanFormat.count(jobs)) jobs each, with at "
            + "most \(HumanFormat.bytes(peakResidentBytes)) of memory.\n"
    }
}
