import LoadTest
import Planner
import Testing

/// What a load test says to a plan.
@Suite struct LoadCalibrationTests {
    /// A second in which so many requests took 20 ms each, the half of them 60 ms from when they were due.
    private static func result(requests: Int64) -> LoadResult {
        var interval = LoadInterval(second: 0)
        interval.counts.succeeded = requests
        interval.counts.bytes = requests * 1_000
        interval.counts.cpuSeconds = 0.5
        for index in 0..<requests {
            interval.record(20_000, .totalUncorrected)
            interval.record(index % 2 == 0 ? 60_000 : 20_000, .total)
        }
        var result = LoadResult()
        result.total = interval
        result.measuredSeconds = 2
        return result
    }

    @Test func whatEndsAfterTheLoadMakesAPoolNoFaster() throws {
        var result = Self.result(requests: 200)
        result.total.counts.succeededAfterEnd = 20
        let run = try #require(result.poolMeasurement(workers: 1))
        #expect(run.segmentsPerSecond == 90)
        #expect(run.segmentBytes == 1_000)
    }

    @Test func aLaddersStepsAreRunsOfAPool() throws {
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        ladder.steps = [(1.0, 200), (2, 390), (4, 0)].map { level, requests in
            LoadLadder.Step(level: level, result: Self.result(requests: Int64(requests)))
        }
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

    /// A tenth fails soon, with a page of its own.
    @Test func failedRequestsAreInNeitherSizesNorTimes() throws {
        var result = Self.result(requests: 180)
        result.total.counts.failed = 20
        result.total.counts.bytes += 20 * 300
        result.total.counts.failedBytes = 20 * 300
        for _ in 0..<20 {
            result.total.record(500, .totalUncorrected)
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
        result.shares = [LoadShareReport(index: 0, worker: "a", state: .finished)]
        #expect(result.poolMeasurement?.workers == 1)
    }

    /// What was not at its limit says nothing of what workers can do, and says why not.
    @Test func onlyTestsAtTheirLimitAreMeasurements() {
        let changes: [(String, (inout LoadResult) -> Void)] = [
            ("--users in place of --rate", { $0.scenario.model = .open(.constant) }),
            ("--plain", { $0.scenario.user = .viewers(ViewerSettings()) }),
            ("without --think", { $0.scenario.think = .constant(seconds: 1) }),
            ("before its time", { $0.ending = .interrupted }),
            ("before its time", { $0.ending = .aborted }),
            (
                "lost a worker",
                { $0.shares = [LoadShareReport(index: 0, worker: "a", state: .lost)] }
            ),
            ("nothing was fetched", { $0.total.counts.succeeded = 0 }),
        ]
        for (reason, change) in changes {
            var result = Self.result(requests: 200)
            #expect(result.calibrationRefusal == nil)
            change(&result)
            #expect(result.poolMeasurement == nil)
            #expect(result.calibrationRefusal?.contains(reason) == true, "\(reason)")
        }
        // All that was to be sent was sent, as fast as it could be.
        var capped = Self.result(requests: 200)
        capped.ending = .capped
        #expect(capped.poolMeasurement != nil)
        let search = LoadLadder(kind: .search, unit: .users)
        #expect(search.calibrationRefusal?.contains("--search") == true)
    }
}
