import LoadModel
import Statistics

/// Tests that were run with one load after another.
extension SampleResult {
    /// One worker does 100/s, two 180/s, four 300/s, eight 400/s.
    static func scale() -> LoadLadder {
        let points = [(n: 1.0, x: 100.0), (n: 2, x: 180), (n: 4, x: 300), (n: 8, x: 400)]
        var ladder = LoadLadder(kind: .scale, unit: .workers)
        ladder.steps = points.map { .init(level: $0.n, result: rate($0.x)) }
        ladder.fit = try? Scalability.fit(points)
        return ladder
    }

    /// 200/s hold, 400/s do not, nor 300/s.
    static func search() -> LoadLadder {
        var ladder = LoadLadder(kind: .search, unit: .arrivalsPerSecond)
        for rate in [200.0, 400, 300] {
            var result = Self.rate(rate)
            let holds = rate <= 200
            result.verdicts = [
                verdict(
                    "p99(total) < 50ms", .quantile(.total, 0.99), .less, 50_000,
                    measured: holds ? 20_000 : 80_000, holds: holds)
            ]
            ladder.steps.append(.init(level: rate, result: result))
        }
        ladder.highest = 200
        ladder.lowestBroken = 300
        return ladder
    }

    private static func rate(_ perSecond: Double) -> LoadResult {
        var result = LoadResult()
        result.measuredSeconds = 10
        result.total.counts.requests.succeeded = Int64(perSecond * 10)
        result.total.counts.requests.bytes = Int64(perSecond * 655_360)
        for _ in 0..<10 {
            result.total.record(9_000, .firstByte)
            result.total.record(20_000, .total)
        }
        return result
    }
}
