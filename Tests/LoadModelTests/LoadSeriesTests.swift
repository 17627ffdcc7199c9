import LoadModel
import Statistics
import TestSupport
import Testing

extension LoadSecond {
    fileprivate var end: Int { second + Int(lengthSeconds) }
}

@Suite(.computing) struct LoadSeriesTests {
    private static func second(_ number: Int, isMeasured: Bool = true) -> LoadSecond {
        var interval = LoadInterval(second: number)
        interval.isMeasured = isMeasured
        interval.counts.requests.succeeded = 1
        interval.counts.levels.inFlight = Int64(number)
        interval.errors["origin.reset"] = 1
        interval.record(Int64(number), .total)
        return LoadSecond(interval)
    }

    @Test("a short test has a row for each second")
    func short() {
        var series = LoadSeries(most: 16)
        for number in 0..<16 { series.add(Self.second(number)) }
        #expect(series.rows.map(\.second) == Array(0..<16))
        #expect(series.rows.allSatisfy { $0.lengthSeconds == 1 })
    }

    @Test(
        "a long one has no more rows than that, of which no second is lost",
        arguments: [17, 40, 1_000])
    func long(count: Int) throws {
        var series = LoadSeries(most: 16)
        for number in 0..<count {
            series.add(Self.second(number, isMeasured: number >= 3))
            #expect(series.rows.count <= 16)
        }
        let rows = series.evenRows
        #expect(rows.first?.second == 0)
        // The warm-up, the rest before it grows, and what the end leaves.
        let lengths = rows.filter(\.isMeasured).map(\.lengthSeconds)
        #expect(lengths.count { $0 != lengths.max() } <= 3, "\(lengths)")
        for (row, next) in zip(rows, rows.dropFirst()) {
            #expect(row.end == next.second)
        }
        let last = try #require(rows.last)
        #expect(last.end == count)
        #expect(rows.filter { !$0.isMeasured }.reduce(0) { $0 + $1.lengthSeconds } == 3)
        for row in rows {
            #expect(row.counts.requests.succeeded == Int64(row.lengthSeconds))
            #expect(row.loadSeconds == row.lengthSeconds)
            #expect(row.errors == ["origin.reset": Int64(row.lengthSeconds)])
            #expect(row.counts.levels.inFlight == Int64(row.end - 1))
            let histogram = try Histogram(text: try #require(row.totalText))
            #expect(histogram.total == Int64(row.lengthSeconds))
            #expect(histogram.minimum == Int64(row.second))
            #expect(row.longest == Int64(row.end - 1))
        }
    }

    @Test("intervals during a test have no series")
    func totals() {
        var recorder = LoadRecorder()
        for number in 0..<5 { _ = recorder.add(LoadInterval(second: number), of: 1) }
        #expect(recorder.totals.seconds.isEmpty)
        #expect(recorder.result.seconds.map(\.second) == [0, 1, 2, 3, 4])
    }
}
