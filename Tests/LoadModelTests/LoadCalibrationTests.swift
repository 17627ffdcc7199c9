import LoadModel
import Statistics
import Testing

/// Measurements of a load test for a plan.
@Suite struct LoadCalibrationTests {
    /// A second in which so many requests took 20 ms each, the half of them 60 ms from when they were due.
    private static func result(requests: Int64, cores: Int = 1) -> LoadResult {
        var interval = LoadInterval(second: 0)
        interval.counts.requests.succeeded = requests
        interval.counts.requests.bytes = requests * 1_000
        interval.counts.cpuSeconds = 0.5
        for index in 0..<requests {
            interval.record(20_000, .totalUncorrected)
            interval.record(index % 2 == 0 ? 60_000 : 20_000, .total)
        }
        var result = LoadResult()
        result.total = interval
        result.measuredSeconds = 2
        result.cores = cores
        return result
    }

    @Test func whatEndsAfterTheLoadMakesAPoolNoFaster() throws {
        var result = Self.result(requests: 200)
        result.total.counts.afterEnd.succeeded = 20
        let run = try #require(result.poolMeasurement(workers: 1))
        #expect(run.segmentsPerSecond == 90)
        #expect(run.segmentBytes == 1_000)
    }

    @Test func aLaddersStepsAreRunsOfAPool() throws {
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        ladder.steps = [(1.0, 200), (2, 390), (4, 0)].map { level, requests in
            LoadLadder.Step(level: level, result: Self.result(requests: Int64(requests), cores: 4))
        }
        #expect(ladder.sharedCores == nil)
        let runs = ladder.poolMeasurements
        #expect(runs.map(\.workers) == [1, 2] && runs.map(\.segmentsPerSecond) == [100, 195])
        let first = try #require(runs.first)
        #expect(first.segmentBytes == 1_000 && first.bytes == 200_000 && first.cpuSeconds == 0.5)
        let service = try #require(first.service)
        #expect(service.count == 200)
        // Of a transfer, not of the wait for it; to the width of a bin.
        #expect(abs(service.moments.mean / 0.02 - 1) < 0.001 && service.moments.cv2 < 1e-9)
        #expect(LoadLadder(kind: .search, unit: .users).poolMeasurements.isEmpty)
    }

    /// What two cores can do is no measure of three workers.
    @Test func threadsWithoutACoreOfTheirOwnAreNoWorkers() throws {
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        ladder.steps = [1, 2, 3, 4].map { level in
            var result = Self.result(requests: 200, cores: min(level, 2))
            if level > 2 {
                result.total.machines = [
                    "m": LoadMachine(name: "m", cpus: [0, 1], cpuSeconds: 0.5)
                ]
            }
            return LoadLadder.Step(level: Double(level), result: result)
        }
        #expect(ladder.poolMeasurements.map(\.workers) == [1, 2])
        #expect(ladder.sharedCores == "of 3, 4 workers had 2 cores together")
        #expect(ladder.noCalibrationReason == nil)
        ladder.steps.removeFirst(2)
        #expect(ladder.poolMeasurements.isEmpty)
        #expect(ladder.noCalibrationReason?.contains("had 2 cores together") == true)
        // A test that ran once, with more threads than cores, is of as many workers as cores.
        #expect(ladder.steps[1].result.poolMeasurement?.workers == 2)
    }

    /// Workers that share a machine wait for what they ask as those on machines of their own do, until its
    /// CPU is used up.
    @Test func workersOfAClusterShareCoresWhereTheyUseThemUp() throws {
        func step(cpuSeconds: Double) -> LoadLadder {
            var result = Self.result(requests: 200)
            result.shards = (0..<3).map {
                LoadShardReport(index: $0, worker: "w\($0)", state: .finished)
            }
            result.total.counts.cpuSeconds = cpuSeconds
            result.total.machines = [
                "m": LoadMachine(name: "m", cpus: [0, 1], cpuSeconds: cpuSeconds)
            ]
            var ladder = LoadLadder(kind: .scale, unit: .workers)
            ladder.steps = [LoadLadder.Step(level: 3, result: result)]
            return ladder
        }
        #expect(step(cpuSeconds: 1).poolMeasurements.count == 1)
        #expect(step(cpuSeconds: 3.9).poolMeasurements.isEmpty)
    }

    /// A tenth fails soon, with a page of its own.
    @Test func failedRequestsAreInNeitherSizesNorTimes() throws {
        var result = Self.result(requests: 180)
        result.total.counts.requests.failed = 20
        result.total.counts.requests.bytes += 20 * 300
        result.total.counts.requests.failedBytes = 20 * 300
        for _ in 0..<20 {
            result.total.record(500, .failedUncorrected)
        }
        let measurement = try #require(result.poolMeasurement(workers: 1))
        #expect(measurement.segmentBytes == 1_000 && measurement.bytes == 180_000)
        let service = try #require(measurement.service)
        #expect(service.count == 180 && abs(service.moments.mean / 0.02 - 1) < 0.001)
    }

    @Test func aWorkerOfAClusterIsOneWorker() {
        var result = Self.result(requests: 200)
        result.cores = 2
        #expect(result.poolMeasurement?.workers == 2)
        result.shards = [LoadShardReport(index: 0, worker: "a", state: .finished)]
        #expect(result.poolMeasurement?.workers == 1)
    }

    /// A test below its limit gives no worker speed, and reports why.
    @Test func onlyTestsAtTheirLimitAreMeasurements() {
        let changes: [(String, (inout LoadResult) -> Void)] = [
            ("--users instead of --rate", { $0.scenario.model = .open(.constant) }),
            ("--plain", { $0.scenario.user = .viewers(ViewerSettings()) }),
            ("without --think", { $0.scenario.think = .constant(seconds: 1) }),
            ("stopped early", { $0.ending = .interrupted }),
            ("stopped early", { $0.ending = .aborted }),
            (
                "lost a worker",
                { $0.shards = [LoadShardReport(index: 0, worker: "a", state: .lost)] }
            ),
            ("nothing was fetched", { $0.total.counts.requests.succeeded = 0 }),
        ]
        for (reason, change) in changes {
            var result = Self.result(requests: 200)
            #expect(result.noCalibrationReason == nil)
            change(&result)
            #expect(result.poolMeasurement == nil)
            #expect(result.noCalibrationReason?.contains(reason) == true, "\(reason)")
        }
        // All that was to be sent was sent, as fast as it could be.
        var capped = Self.result(requests: 200)
        capped.ending = .capped
        #expect(capped.poolMeasurement != nil)
        let search = LoadLadder(kind: .search, unit: .users)
        #expect(search.noCalibrationReason?.contains("--origin-from") == true)
    }
}
