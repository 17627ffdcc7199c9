import API
import Model
import Testing

@testable import Client
@testable import Planner
@testable import Statistics

/// Inputs of a plan from what a cluster did.
@Suite struct ClusterHistoryTests {
    private func isNear(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }

    private static func catalog(
        segments: Int, seconds: Double, retries: Int, state: CatalogState = .completed,
        adopted: Int64 = 0
    ) -> CatalogStatus {
        var totals = CatalogTotals()
        totals.segments = segments
        totals.segmentsDone = segments
        totals.seconds = seconds
        totals.retries = retries
        totals.adoptedBytes = adopted
        return CatalogStatus(
            id: CatalogID(rawValue: 1), name: "c", queue: "q", storageURL: "file:///srv/edge",
            state: state, generation: 1, totals: totals, active: [])
    }

    private static func status(_ catalogs: [CatalogStatus], workers: Int) -> ClusterStatus {
        ClusterStatus(
            version: "1", schemaVersion: 1, catalogs: catalogs, queues: [],
            workers: (0..<workers).map { number in
                ClusterStatus.WorkerStatus(
                    id: "\(number)", name: "w", activeTransfers: 0,
                    silentSeconds: 0)
            })
    }

    /// A minute of `workers` workers, of which each does `rate` fetches a second in 30 transfers, for so
    /// many seconds each, of `bytes` each, at 20 µs and 2 s a gigabyte of CPU time.
    private static func minute(
        workers: Int, rate: Double = 100, seconds: [Double] = [0.2, 0.4], bytes: Int64 = 1_000_000,
        busySeconds: Double = 50, hasCPU: Bool = true
    ) -> WorkersHistory.Minute {
        var done = WorkDone(connections: 30 * workers, cores: 8 * workers)
        for index in 0..<Int(rate * busySeconds) * workers {
            done.add(seconds: seconds[index % seconds.count], bytes: bytes)
        }
        done.busySeconds = busySeconds * Double(workers)
        if hasCPU {
            done.cpuSeconds = Double(done.fetches) * 20e-6 + Double(done.bytes) * 2e-9
        }
        return WorkersHistory.Minute(
            start: 0, workers: workers, longestBusySeconds: busySeconds,
            slotSeconds: 30 * done.busySeconds, done: done)
    }

    /// The law of three sizes of a pool, the times and the CPU time of what it fetched.
    @Test func aClustersHistoryIncludesAllWorkers() throws {
        let law = Scalability(alpha: 0.05, beta: 0, gamma: 100)
        let minutes = [1, 2, 4, 8].flatMap { workers in
            [1_000_000, 4_000_000].map { bytes in
                Self.minute(
                    workers: workers, rate: law.throughput(Double(workers)) / Double(workers),
                    bytes: Int64(bytes))
            }
        }
        // Delayed by something else, and too short: they do not measure the speed.
        let others = [
            Self.minute(workers: 4, rate: 10), Self.minute(workers: 9, busySeconds: 3),
        ]
        let status = Self.status(
            [
                Self.catalog(segments: 1_000, seconds: 10, retries: 100),
                Self.catalog(segments: 1_400, seconds: 10, retries: 0),
                Self.catalog(segments: 50, seconds: 10, retries: 40),
                Self.catalog(segments: 9_000, seconds: 1, retries: 0, adopted: 5),
            ], workers: 2)
        let history = try ClusterHistory(status, WorkersHistory(minutes: minutes + others))
        func likely(_ path: String) -> Double { history.values[path]?.likely ?? .nan }
        #expect(isNear(likely("worker.serviceSeconds"), 0.3))
        // Of 0.2 and 0.4, half each: a ninth.
        #expect(abs(likely("worker.serviceCV2") * 9 - 1) < 0.001)
        #expect(abs(likely("worker.segmentsPerSecond") - 100) < 1)
        #expect(abs(likely("worker.contention") - 0.05) < 0.005)
        #expect(abs(likely("worker.cpuMicrosecondsPerSegment") - 20) < 0.1)
        #expect(abs(likely("worker.cpuSecondsPerGigabyte") - 2) < 0.001)
        #expect(likely("worker.connections") == 30 && likely("machine.cores") == 8)
        #expect(isNear(likely("worker.attemptsPerSegment"), 1.05))
        for path in ["worker.serviceSeconds", "worker.serviceCV2", "worker.segmentsPerSecond"] {
            let measured = try #require(history.values[path])
            #expect(measured.low < measured.likely && measured.likely < measured.high, "\(path)")
        }
        #expect(history.notes.isEmpty, "\(history.notes)")
    }

    /// Unlike workers have so many on average; a worker has a whole number.
    @Test func unlikeWorkersHaveWholeNumbers() throws {
        func minute(workers: Int, connections: Int, cores: Int) -> WorkersHistory.Minute {
            var done = WorkDone(connections: connections, cores: cores)
            done.add(seconds: 0.1, bytes: 65_536)
            return WorkersHistory.Minute(
                start: 0, workers: workers, longestBusySeconds: 60, slotSeconds: 60, done: done)
        }
        let history = try ClusterHistory(
            Self.status([], workers: 3),
            WorkersHistory(minutes: [
                minute(workers: 1, connections: 16, cores: 2),
                minute(workers: 1, connections: 32, cores: 4),
                minute(workers: 3, connections: 80, cores: 7),
            ]))
        let connections = try #require(history.values["worker.connections"])
        #expect([connections.low, connections.likely, connections.high] == [16, 27, 32])
        #expect(connections.interval == nil)
        let cores = try #require(history.values["machine.cores"])
        #expect([cores.low, cores.likely, cores.high] == [2, 2, 4])
    }

    @Test func inputsThatAClusterDoesNotHaveAreReported() throws {
        func notes(_ minutes: [WorkersHistory.Minute]) throws -> String {
            try ClusterHistory(Self.status([], workers: 3), WorkersHistory(minutes: minutes)).notes
                .joined(separator: "\n")
        }
        #expect(try notes([]).contains("no worker reported fetches"))
        #expect(try notes([]).contains("no attempts per segment"))
        #expect(try notes([Self.minute(workers: 2)]).contains("it had 2 workers whenever"))
        #expect(try notes([Self.minute(workers: 2, rate: 10)]).contains("at most 10 % of their"))
        #expect(
            try notes([Self.minute(workers: 2, hasCPU: false)]).contains("share a process"))
        #expect(try notes([Self.minute(workers: 2)]).contains("subtracting 31 µs per segment"))
        let alone = try ClusterHistory(
            Self.status([], workers: 1), WorkersHistory(minutes: [Self.minute(workers: 2)]))
        #expect(isNear(try #require(alone.values["worker.segmentsPerSecond"]).likely, 100))
        #expect(alone.values["worker.contention"] == nil)
    }

    /// Minutes at an origin's limit measure the limit, not the workers.
    @Test(arguments: [
        API.OriginLimits(requestsPerSecond: 45), API.OriginLimits(bytesPerSecond: 45_000_000),
        API.OriginLimits(connections: 15),
    ])
    func minutesAtALimitAreNotTheWorkersSpeed(limits: API.OriginLimits) throws {
        // 22 of 30 slots of each worker are taken, but by a limit.
        let bound = Self.minute(workers: 2, rate: 20, seconds: [1.1])
        let free = Self.minute(workers: 1, rate: 30, seconds: [0.9])
        let all = WorkersHistory(minutes: [bound, bound, free])
        let history = try ClusterHistory(
            Self.status([], workers: 2), all, limits: [API.OriginLimits(), limits])
        if limits.connections != nil {
            #expect(history.values["worker.segmentsPerSecond"] == nil)
            return
        }
        #expect(isNear(try #require(history.values["worker.segmentsPerSecond"]).likely, 30))
        #expect(isNear(try #require(history.values["worker.serviceSeconds"]).likely, 0.9))
        #expect(history.notes.contains { $0.contains("without 2 of 3 minutes") })
    }

    /// Sums of powers are as good as the values.
    @Test func momentsOfSums() throws {
        var random = SeededRandom(seed: 5)
        var done = WorkDone(connections: 1, cores: 1)
        var moments = Moments()
        for _ in 0..<10_000 {
            let value = random.gamma(shape: 3) / 30
            moments.add(value)
            done.add(seconds: value, bytes: 1)
        }
        let sums = Moments(
            count: done.fetches, sum: done.seconds, squares: done.seconds2, cubes: done.seconds3,
            fourthPowers: done.seconds4)
        for (left, right) in [
            (moments.meanEstimate, sums.meanEstimate), (moments.cv2Estimate, sums.cv2Estimate),
        ] {
            #expect(abs(left.low / right.low - 1) < 1e-6 && abs(left.high / right.high - 1) < 1e-6)
        }
    }
}
