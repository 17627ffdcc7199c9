import Foundation
import LoadModel
import Statistics
import TestSupport
import Testing

@testable import LoadReport
@testable import Rendering

@Suite struct FormatTests {
    /// The Python that has hdrhistogram, by DRAY_TEST_PYTHON.
    private static let python = ProcessInfo.processInfo.environment["DRAY_TEST_PYTHON"] ?? "python3"

    private static let hasReader: Bool = {
        guard
            let process = try? Process.run(
                URL(fileURLWithPath: "/usr/bin/env"), arguments: [python, "-c", "import hdrh.log"])
        else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    @Test("JSON has all figures, and histograms that are read back as they were")
    func json() throws {
        let result = SampleResult.requests()
        let text = try LoadJSON.text(result)
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let figures = try #require(document["figures"] as? [String: Double])
        let rate = Double(result.total.counts.requests.succeeded) / 55
        #expect(abs((figures["requestsPerSecond"] ?? 0) - rate) < 1e-9)
        let metrics = try #require(document["metrics"] as? [String: [String: Any]])
        #expect(metrics["total"]?["p99"] as? Int64 == result.total[.total]?.value(quantile: 0.99))
        let encoded = try #require(metrics["total"]?["histogram"] as? String)
        let read = try Histogram(text: encoded)
        #expect(read.value(quantile: 0.999) == result.total[.total]?.value(quantile: 0.999))
        #expect(read.total == result.total[.total]?.total)
        #expect((document["seconds"] as? [Any])?.count == 60)
        let thresholds = try #require(document["thresholds"] as? [[String: Any]])
        #expect(thresholds.map { $0["holds"] as? Bool } == [false, true, false])
    }

    @Test("CSV has a row for each second, of as many fields as the heading, that add up")
    func csv() throws {
        let result = SampleResult.requests()
        let rows = LoadCSV.text(result).components(separatedBy: "\r\n").dropLast().map {
            $0.components(separatedBy: ",")
        }
        let head = try #require(rows.first)
        #expect(rows.count == 61)
        #expect(rows.allSatisfy { $0.count == head.count })
        func sum(_ name: String) throws -> Int64 {
            let column = try #require(head.firstIndex(of: name))
            return rows.dropFirst().filter { $0[1] == "1" }.reduce(0) {
                $0 + (Int64($1[column]) ?? -1_000_000)
            }
        }
        #expect(try sum("succeeded") == result.total.counts.requests.succeeded)
        #expect(try sum("bytes") == result.total.counts.requests.bytes)
        #expect(try sum("failed") == result.total.counts.requests.failed)
    }

    @Test("a histogram log's seconds add up to the whole, without the warm-up")
    func histogramLog() throws {
        let result = SampleResult.requests()
        var intervals: [HistogramInterval] = []
        try HdrHistogramLog.read(try LoadHistograms.text(result)) { intervals.append($0) }
        var sum = Histogram()
        for interval in intervals where interval.tag == nil { sum.add(interval.histogram) }
        let whole = try #require(intervals.first { $0.tag == "total" })
        #expect(sum.total == result.total[.total]?.total)
        #expect(whole.histogram.total == sum.total)
        for quantile in [0.5, 0.9, 0.99, 0.999, 0.999_9] {
            #expect(sum.value(quantile: quantile) == whole.histogram.value(quantile: quantile))
        }
        #expect(intervals.count { $0.tag == "warm_up" } == 5)
    }

    @Test(
        "HdrHistogram's own package reads the log, and finds the same percentiles",
        .enabled(
            if: hasReader,
            "needs python3, or DRAY_TEST_PYTHON, with hdrhistogram: pip install hdrhistogram"))
    func histogramLogElsewhere() async throws {
        let result = SampleResult.requests()
        let directory = try TemporaryDirectory()
        try directory.write(try LoadHistograms.text(result), to: "run.hlog")
        let script = """
            import sys
            from hdrh.histogram import HdrHistogram
            from hdrh.log import HistogramLogReader
            whole = HdrHistogram(1, 86400000000, 3)
            reader = HistogramLogReader(sys.argv[1], whole)
            count = 0
            while True:
                interval = reader.get_next_interval_histogram()
                if interval is None:
                    break
                if interval.get_tag() is None:
                    whole.add(interval)
            print(whole.get_total_count(),
                  *[whole.get_value_at_percentile(100 * int(rank) / whole.get_total_count())
                    for rank in sys.argv[2:]])
            """
        let total = try #require(result.total[.total])
        // Of whole ranks: the package rounds others to the nearest, this up.
        let ranks: [Int64] = [1, 5_000, 9_000, 10_600, 10_730]
        let output = try await ChildProcess.run(
            [Self.python, "-c", script, directory.path("run.hlog")]
                + ranks.map { "\($0)" })
        let expected = ranks.map {
            total.value(quantile: Double($0) / Double(total.total))
        }
        let found = output.split(separator: " ").compactMap { Int64($0.filter(\.isNumber)) }
        #expect(found == [total.total] + expected)
    }

    @Test(
        "what HdrHistogram's own package writes is read",
        .enabled(
            if: hasReader,
            "needs python3, or DRAY_TEST_PYTHON, with hdrhistogram: pip install hdrhistogram"))
    func histogramLogFromElsewhere() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("python.hlog")
        let script = """
            import sys
            from hdrh.histogram import HdrHistogram
            from hdrh.log import HistogramLogWriter
            with open(sys.argv[1], "w") as file:
                writer = HistogramLogWriter(file)
                writer.output_log_format_version()
                for part in range(3):
                    histogram = HdrHistogram(1, 86400000000, 3)
                    for value in range(part * 1000 + 1, part * 1000 + 1001):
                        histogram.record_value(value)
                    histogram.set_start_time_stamp(part * 1000)
                    histogram.set_end_time_stamp(part * 1000 + 1000)
                    writer.output_interval_histogram(histogram)
            """
        _ = try await ChildProcess.run([Self.python, "-c", script, path])
        var whole = Histogram()
        try HdrHistogramLog.read(try String(contentsOfFile: path, encoding: .utf8)) {
            whole.add($0.histogram)
        }
        #expect(whole.total == 3_000 && whole.maximum.map { $0 / 10 } == 300)
        #expect(whole.value(quantile: 0.5) / 10 == 150)
    }
}

/// What promtool checks, and the meaning of a histogram.
@Suite struct PrometheusTests {
    struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
    }

    /// Families by their names in the order of the page, and what they hold.
    static func read(_ text: String) throws -> (kinds: [String: String], samples: [Sample]) {
        var kinds: [String: String] = [:]
        var samples: [Sample] = []
        var current = ""
        var helped: Set<String> = []
        #expect(text.hasSuffix("\n"))
        let line = /([a-z_]+)\{(.*)\} (-?[0-9.e+-]+)/
        let label = /([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)",?/
        for row in text.split(separator: "\n") {
            let words = row.split(separator: " ")
            if row.hasPrefix("# HELP ") {
                current = String(words[2])
                #expect(helped.insert(current).inserted, "\(current) is there twice")
                continue
            }
            if row.hasPrefix("# TYPE ") {
                #expect(String(words[2]) == current)
                kinds[current] = String(words[3])
                continue
            }
            let match = try #require(row.wholeMatch(of: line), "\(row)")
            var labels: [String: String] = [:]
            var rest = match.2
            while !rest.isEmpty {
                let pair = try #require(rest.prefixMatch(of: label), "\(row)")
                labels[String(pair.1)] = String(pair.2)
                rest = rest[pair.range.upperBound...]
            }
            #expect(match.1.hasPrefix(current), "\(row) belongs to \(current)")
            let value = try #require(Double(match.3))
            samples.append(Sample(name: String(match.1), labels: labels, value: value))
        }
        return (kinds, samples)
    }

    @Test("every sample belongs to a family with help and type, and names are what they must be")
    func isValid() throws {
        for sample in GoldenTests.samples { try Self.check(LoadPrometheus.text(sample.result)) }
    }

    static func check(_ text: String) throws {
        let (kinds, samples) = try read(text)
        for (name, kind) in kinds {
            #expect((kind == "counter") == name.hasSuffix("_total"), "\(name) is a \(kind)")
            #expect(name.hasPrefix("dray_loadtest_"))
        }
        #expect(samples.allSatisfy { $0.labels["test"] != nil })
        let identities = samples.map { "\($0.name)\($0.labels.sorted { $0.key < $1.key })" }
        #expect(Set(identities).count == samples.count)
    }

    @Test("buckets rise, the last is the count, and they say what the histogram does")
    func buckets() throws {
        let result = SampleResult.requests()
        let (kinds, samples) = try Self.read(LoadPrometheus.text(result))
        let name = "dray_loadtest_first_byte_seconds"
        #expect(kinds[name] == "histogram")
        let buckets = samples.filter { $0.name == "\(name)_bucket" }
        #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.value <= $1.value })
        let count = try #require(samples.first { $0.name == "\(name)_count" }?.value)
        #expect(buckets.last?.labels["le"] == "+Inf")
        #expect(buckets.last?.value == count)
        let slow = try #require(buckets.first { $0.labels["le"] == "0.1" }?.value)
        // The requests of the freeze that waited for over 0.1 s: 200 of 1.4 s, evenly.
        #expect((180...190).contains(count - slow))
    }

    @Test("measurements are shown with three digits, whole or not")
    func digits() {
        #expect(LoadFormat.time(microseconds: 4_000) == "4.00 ms")
        #expect(LoadFormat.time(microseconds: 15_000_000) == "15.0 s")
        #expect(LoadFormat.bytes(15_000_000) == "15.0 MB" && LoadFormat.bytes(15) == "15 B")
        #expect(LoadFormat.rate(40) == "40.0/s" && LoadFormat.rate(0) == "0/s")
        // The request has its original values.
        #expect(LoadFormat.seconds(0.004) == "4 ms" && LoadFormat.seconds(15) == "15 s")
        #expect(LoadFormat.percent(0.75 * 0.4) == "30 %")
    }

    @Test("an axis has lines at round values, of what is counted at whole ones")
    func axis() {
        func labels(_ highest: Double, isWhole: Bool, _ format: (Double) -> String) -> [String] {
            ChartAxis(
                lowest: 0, highest: highest, isLogarithmic: false, isWhole: isWhole, lower: 1,
                upper: 0
            ).ticks.map { ChartAxis.short(format($0)) }
        }
        #expect(labels(1, isWhole: true) { "\(Int($0))" } == ["0", "1"])
        #expect(labels(9, isWhole: true) { "\(Int($0))" } == ["0", "5", "10"])
        #expect(labels(3, isWhole: true) { "\(Int($0))" } == ["0", "1", "2", "3", "4"])
        #expect(
            labels(0.35, isWhole: false) { LoadFormat.percent($0) }
                == ["0 %", "10 %", "20 %", "30 %", "40 %"])
        // At most half of the chart is empty.
        #expect(
            labels(4.1, isWhole: false) { LoadFormat.rate($0) }
                == ["0/s", "1.5/s", "3/s", "4.5/s", "6/s"])
        #expect(labels(12.5, isWhole: true) { "\(Int($0))" } == ["0", "4", "8", "12", "16"])
        #expect(
            labels(9, isWhole: false) { LoadFormat.rate($0) }
                == ["0/s", "2.5/s", "5/s", "7.5/s", "10/s"])
    }

    @Test("a name with quotes and line breaks stays one label")
    func escapes() throws {
        var result = SampleResult.requests()
        result.name = "a \"b\" \\ c\nd"
        let (_, samples) = try Self.read(LoadPrometheus.text(result))
        #expect(samples.count > 20)
    }
}
