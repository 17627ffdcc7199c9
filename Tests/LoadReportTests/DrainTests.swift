import Foundation
import LoadModel
import Statistics
import Testing

@testable import LoadReport

/// The part of a second in which a test ends is no drop of its rate.
@Suite struct DrainTests {
    /// Ten seconds of 100 requests, and then what is given.
    private func result(_ parts: [(length: Double, load: Double, ended: Int64)]) -> LoadResult {
        var recorder = LoadRecorder()
        let whole = Array(repeating: (length: 1.0, load: 1.0, ended: Int64(100)), count: 10)
        for (second, part) in (whole + parts).enumerated() {
            _ = recorder.add(interval(second, part), of: 1)
        }
        recorder.update {
            $0.measuredSeconds = 10
            $0.scenario.model = .open(.constant)
        }
        return recorder.result
    }

    private func interval(
        _ second: Int, _ part: (length: Double, load: Double, ended: Int64)
    ) -> LoadInterval {
        var interval = LoadInterval(second: second)
        interval.lengthSeconds = part.length
        interval.loadSeconds = part.load
        interval.counts.requests.succeeded = part.ended
        interval.counts.pacing.planned = Int64(100 * part.load)
        interval.counts.requests.bytes = part.ended * 1_000
        interval.counts.cpuSeconds = 0.2 * part.length
        interval.counts.levels.inFlight = part.length == 1 ? 7 : 0
        for _ in 0..<part.ended { interval.record(1_000, .total) }
        return interval
    }

    /// The heights of the points of each line of a chart.
    private func heights(_ page: String, _ caption: String) throws -> [[String]] {
        let figures = page.components(separatedBy: "<figure")
        let figure = try #require(figures.first { $0.contains("<figcaption>\(caption)") })
        return figure.components(separatedBy: "points=\"").dropFirst().map { line in
            line.prefix { $0 != "\"" }.split(separator: " ").map { point in
                String(point.split(separator: ",")[1])
            }
        }
    }

    @Test(
        "a line of a steady rate is level to its end",
        arguments: [
            // Running requests end within milliseconds; half a second more, at the same rate.
            [(length: 0.003, load: 0.0, ended: Int64(7))], [(length: 0.5, load: 0.5, ended: 50)],
        ])
    func chartIsLevel(parts: [(length: Double, load: Double, ended: Int64)]) throws {
        let page = LoadHTML(result(parts)).text
        for caption in ["Requests per second", "Throughput"] {
            for line in try heights(page, caption) {
                #expect(line.count == (parts[0].length > 0.1 ? 11 : 10))
                #expect(Set(line).count == 1, "\(caption): \(line)")
            }
        }
        let text = LoadSummary(result(parts), usesUnicode: true).text
        let bars = try #require(text.split(separator: "\n").first { $0.hasPrefix("  rate  ") })
        #expect(Set(bars.filter { "▁▂▃▄▅▆▇█".contains($0) }) == ["█"], "\(bars)")
        #expect(!page.contains(">no load<"))
    }

    @Test("what ends after the load is marked, for as long as it takes")
    func longDrain() throws {
        let parts = [(length: 1.0, load: 0.0, ended: Int64(5)), (length: 0.5, load: 0, ended: 2)]
        let result = result(parts)
        #expect(result.drainStartSeconds == 10)
        let page = LoadHTML(result).text
        #expect(page.contains(">no load</text>"))
        // Answered, to the end; planned, to the end of the load.
        #expect(try heights(page, "Requests per second").map(\.count).sorted() == [10, 12])
    }

    @Test("tables say how long each second was, and their sums stay")
    func tables() throws {
        let result = result([(length: 0.003, load: 0.001, ended: 7)])
        let lines = LoadCSV.text(result).split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let column = try #require(lines[0].firstIndex(of: "length_seconds"))
        let load = try #require(lines[0].firstIndex(of: "load_seconds"))
        let ended = try #require(lines[0].firstIndex(of: "succeeded"))
        #expect(lines[1][column] == "1.000" && lines[1][load] == "1.000")
        #expect(lines[11][column] == "0.003" && lines[11][load] == "0.001")
        #expect(lines.dropFirst().reduce(0) { $0 + (Int($1[ended]) ?? 0) } == 1_007)
        let json = try LoadJSON.text(result)
        #expect(json.contains("\"lengthSeconds\" : 0.003"))
        #expect(json.contains("\"loadSeconds\" : 0.001"))
        var log: [HistogramInterval] = []
        try HdrHistogramLog.read(try LoadHistograms.text(result)) {
            if $0.tag == nil { log.append($0) }
        }
        #expect(log.map(\.lengthSeconds) == Array(repeating: 1, count: 10) + [0.003])
    }

    @Test("what is shown at the end of a run is the rate that there was")
    func progress() {
        var progress = LoadProgress(LoadScenario(), cores: 1)
        for second in 0..<10 {
            progress.add(interval(second, (1, 1, 100)), of: LoadResult())
        }
        progress.add(interval(10, (0.001, 0, 0)), of: LoadResult())
        #expect(progress.plainLine.contains("100/s succeeded"), "\(progress.plainLine)")
        progress.add(interval(11, (0.5, 0.5, 50)), of: LoadResult())
        #expect(progress.plainLine.contains("100/s succeeded"), "\(progress.plainLine)")
    }

    @Test("an interval's length goes from process to process")
    func wire() throws {
        let part = interval(3, (0.25, 0.125, 4))
        let decoded = try JSONDecoder().decode(
            LoadInterval.self, from: try JSONEncoder().encode(part))
        #expect(decoded.lengthSeconds == 0.25 && decoded.loadSeconds == 0.125)
        #expect(decoded.counts == part.counts)
        var sum = part
        sum.add(interval(3, (0.5, 0.0625, 1)))
        #expect(sum.lengthSeconds == 0.5 && sum.loadSeconds == 0.125)
    }
}
