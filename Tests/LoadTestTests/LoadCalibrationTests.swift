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
}
