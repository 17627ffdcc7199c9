import Foundation
import Runtime
import Testing

@testable import LoadTest

/// A second of a test as it goes from a worker to whoever follows the test.
@Suite struct LoadIntervalTests {
    private func again(_ interval: LoadInterval) throws -> LoadInterval {
        try JSONDecoder().decode(LoadInterval.self, from: try JSONEncoder().encode(interval))
    }

    @Test func nothingOfItIsLostOnTheWay() throws {
        var random = SeededRandom(seed: 23)
        for second in 0..<9 {
            var interval = LoadInterval(second: second)
            interval.isMeasured = second % 2 == 0
            interval.counts.succeeded = Int64(second)
            interval.counts.cpuSeconds = 0.1
            interval.errors["origin.timeout"] = 3
            interval.machines["m"] = LoadMachine(
                name: "m", cpus: [0, 1], cpuSeconds: 0.1,
                quotaCores: second % 2 == 0 ? nil : 1.5)
            for metric in LoadMetric.allCases where metric.rawValue % 3 != second % 3 {
                for _ in 0..<Int.random(in: 1...50, using: &random) {
                    // Some are longer than a day.
                    let most = Int64(1) << Int64.random(in: 0...38, using: &random)
                    interval.record(Int64.random(in: 0...most, using: &random), metric)
                }
            }
            #expect(try again(interval) == interval)
        }
        #expect(try again(LoadInterval(second: 0)) == LoadInterval(second: 0))
    }

    /// One that leaves out what the bins do not tell is read by the bins.
    @Test func binsAloneAreRead() throws {
        var interval = LoadInterval(second: 1)
        interval.record(5_000_001, .total)
        let data = try JSONEncoder().encode(interval)
        var document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        document["exact"] = nil
        let read = try JSONDecoder().decode(
            LoadInterval.self, from: try JSONSerialization.data(withJSONObject: document))
        let histogram = try #require(read[.total])
        #expect(histogram.total == 1 && histogram.counts == interval[.total]?.counts)
        #expect(abs(histogram.mean / 5_000_001 - 1) < 0.001)
    }

    @Test func whatCannotBeOfItsBinsIsRefused() throws {
        var histogram = Histogram()
        histogram.record(3_000_000, count: 5)
        histogram.record(7)
        let exact = try #require(histogram.exact)
        let bins = try Histogram(text: histogram.text)
        var same = bins
        try same.take(exact)
        #expect(same == histogram)
        let lies: [(inout Histogram.Exact) -> Void] = [
            { $0.minimum = 8 }, { $0.minimum = -1 }, { $0.maximum = 3_100_000 },
            { $0.maximum = .max }, { $0.maximum = 6 }, { $0.sum = 15_100_000 }, { $0.sum = .nan },
            { $0.sum = 0 }, { $0.clamped = 1 }, { $0.clamped = -1 },
        ]
        for lie in lies {
            var wrong = exact
            lie(&wrong)
            var read = bins
            #expect(throws: HistogramError.self, "\(wrong)") { try read.take(wrong) }
            #expect(read == bins)
        }
        var none = Histogram()
        #expect(throws: HistogramError.self) { try none.take(exact) }
    }
}
