import Foundation
import TestSupport
import Testing

@testable import LoadModel
@testable import Statistics

/// A second of a test as it goes from a worker to the test's follower.
@Suite struct LoadIntervalTests {
    private func again(_ interval: LoadInterval) throws -> LoadInterval {
        try JSONDecoder().decode(LoadInterval.self, from: try JSONEncoder().encode(interval))
    }

    @Test func nothingOfItIsLostOnTheWay() throws {
        var random = SeededRandom(seed: 23)
        for second in 0..<9 {
            var interval = LoadInterval(second: second)
            interval.isMeasured = second % 2 == 0
            interval.counts.requests.succeeded = Int64(second)
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

    /// One without the extra members is read from the bins.
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

    // MARK: Workers' reports

    private static func document() throws -> [String: Any] {
        var interval = LoadInterval(second: 3)
        interval.counts.requests.succeeded = 5
        interval.counts.playback.playedBits = 3e15
        interval.errors["origin.timeout"] = 2
        interval.machines["m"] = LoadMachine(name: "edge-1", cpus: [0, 1], cpuSeconds: 0.5)
        let data = try JSONEncoder().encode(interval)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private static func read(_ document: [String: Any]) throws -> LoadInterval {
        try JSONDecoder().decode(
            LoadInterval.self, from: try JSONSerialization.data(withJSONObject: document))
    }

    /// Sums of it would be beyond 64 bits, or no numbers.
    @Test func whatASecondCannotHaveIsRefused() throws {
        _ = try Self.read(try Self.document())
        var huge = Histogram()
        huge.record(1_000, count: 1 << 40)
        let machine: [String: Any] = ["name": "edge-1", "cpus": [0], "cpuSeconds": 0.5]
        let long = String(repeating: "x", count: 300)
        let counts: [(String, Any)] = [
            ("succeeded", Int64.max), ("bytes", Int64.max / 2), ("failed", -1), ("backlog", -1),
            ("playedSeconds", 1e300), ("longestUnfinishedSeconds", -1e300),
        ]
        for (name, value) in counts {
            var wrong = try Self.document()
            var inner = try #require(wrong["counts"] as? [String: Any])
            inner[name] = value
            wrong["counts"] = inner
            #expect(throws: DecodingError.self, "\(name)") { try Self.read(wrong) }
        }
        let members: [(String, Any)] = [
            ("errors", ["origin.timeout": Int64.max]), ("errors", ["origin.timeout": -1]),
            ("errors", [long: 1]), ("errors", ["a,b\r\n1": 1]),
            ("histograms", ["total": huge.text]),
            ("machines", [String(repeating: "x", count: 5_000): machine]),
            ("machines", ["m": machine.merging(["name": long]) { $1 }]),
            ("machines", ["m": machine.merging(["cpus": [1_000_000]]) { $1 }]),
            ("machines", ["m": machine.merging(["cpuSeconds": 1e300]) { $1 }]),
        ]
        for (name, value) in members {
            var wrong = try Self.document()
            wrong[name] = value
            #expect(throws: DecodingError.self, "\(name) \("\(value)".prefix(80))") {
                try Self.read(wrong)
            }
        }
    }

    @Test func namesAndTalliesOfOthersAreBounded() throws {
        var sum = LoadInterval(second: 0)
        for second in 0..<3 {
            var interval = LoadInterval(second: second)
            for index in 0..<400 { interval.errors["made.up.\(second).\(index)"] = 1 }
            for index in 0..<600 {
                interval.machines["\(second) \(index)"] = LoadMachine(
                    name: "m", cpus: [], cpuSeconds: 0)
            }
            sum.add(interval)
        }
        #expect(sum.errors.count == 501 && sum.errors.values.reduce(0, +) == 1_200)
        #expect(sum.errors[LoadBreakdown.others] == 700 && sum.machines.count == 1_000)

        var tally = LoadTally()
        tally.record(bytes: 10, microseconds: 20, isFailure: true)
        var lie = LoadTally()
        lie.requests = .max
        lie.bytes = .max
        lie.failed = -5
        for _ in 0..<2 { tally.add(lie) }
        #expect(tally.requests == .max && tally.bytes == .max && tally.failed == 1)
    }
}
