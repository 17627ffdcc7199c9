import LoadModel
import Rendering
import TestSupport
import Testing

@testable import LoadReport

@Suite struct LoadProgressTests {
    private static let style = TerminalStyle(usesColor: false, usesUnicode: true)

    /// A ramp of 10 s to 100/s and 10 s of that, of which `seconds` have gone by with 40 requests each.
    private static func progress(
        seconds: Int, viewers: Bool = false, cpuSeconds: Double = 0.5, errors: Int64 = 0
    ) -> LoadProgress {
        var scenario = LoadScenario()
        scenario.name = "evening"
        scenario.model = .open(.constant)
        scenario.stages = [
            LoadStage(seconds: 10, from: 0, to: 100), LoadStage(seconds: 10, from: 100, to: 100),
        ]
        scenario.warmUpSeconds = 3
        if viewers { scenario.user = .viewers(ViewerSettings()) }
        scenario.thresholds = [
            LoadThreshold(
                text: "p99(total) < 5ms", figure: .quantile(.total, 0.99), comparison: .less,
                value: 5_000),
            LoadThreshold(
                text: "error_rate < 1%", figure: .errorRate, comparison: .less, value: 0.01),
            LoadThreshold(
                text: "p99(startup) < 1s", figure: .quantile(.startup, 0.99), comparison: .less,
                value: 1_000_000),
        ]
        var progress = LoadProgress(scenario, cores: 2)
        var recorder = LoadRecorder()
        for second in 0..<seconds {
            var interval = LoadInterval(second: second)
            interval.isMeasured = second >= 3
            interval.counts.requests.succeeded = 40 - errors
            interval.counts.requests.failed = errors
            if errors > 0 { interval.errors["origin.timeout"] = errors }
            interval.counts.requests.bytes = 1_000_000
            interval.counts.cpuSeconds = cpuSeconds
            interval.counts.levels.inFlight = 7
            interval.counts.levels.viewers = 12
            // Slow at first, so that what is shown is of the last seconds.
            for _ in 0..<40 { interval.record(second < 5 ? 900_000 : 9_000, .total) }
            _ = recorder.add(interval, of: 1)
            progress.add(interval, of: recorder.result)
        }
        return progress
    }

    @Test("it shows where the test is, what it wants and what it gets in the last seconds")
    func lines() {
        let lines = Self.progress(seconds: 12).lines(columns: 100, rows: 20, style: Self.style)
        #expect(lines[0].contains("evening  0:12 of 0:20"))
        #expect(lines[0].contains("100/s  stage 2 of 2"))
        #expect(!lines[0].contains("warm-up"))
        #expect(lines[1].contains("40.0/s") && lines[1].contains("8.00 Mbit/s"))
        #expect(lines[1].contains("in flight 7") && lines[1].contains("failed 0 %"))
        #expect(lines[2].contains("p99 9.00 ms"))
        #expect(lines.contains { $0.contains("CPU 25 % of 2 cores") })
        #expect(lines.allSatisfy { TextLayout.width($0) <= 100 })
    }

    @Test("the time that is left is seen without colours, of an even load as well")
    func position() throws {
        var style = Self.style
        style.usesColor = false
        let staged = Self.progress(seconds: 12).lines(columns: 100, rows: 20, style: style)[0]
        let mark = try #require(staged.firstIndex(of: "│"))
        #expect(staged[mark...].contains("█") && staged[..<mark].contains("▁"))
        var scenario = LoadScenario()
        scenario.stages = [LoadStage(seconds: 20, from: 5, to: 5)]
        var even = LoadProgress(scenario, cores: 1)
        even.add(LoadInterval(second: 4), of: LoadResult())
        let line = even.lines(columns: 60, rows: 20, style: style)[0]
        #expect(line.count { $0 == "█" } == 3 && line.count { $0 == "░" } == 9)
    }

    @Test("thresholds are judged by all that counts so far, and those without a figure not at all")
    func thresholds() {
        let lines = Self.progress(seconds: 12).lines(columns: 100, rows: 20, style: Self.style)
        // Two of the nine seconds that count were slow.
        #expect(lines.contains("  ✗ p99(total) < 5ms  now 900 ms"))
        #expect(lines.contains("  ✓ error_rate < 1%  now 0 %"))
        #expect(lines.contains("  – p99(startup) < 1s"))
        let early = Self.progress(seconds: 2).lines(columns: 100, rows: 20, style: Self.style)
        #expect(early[0].contains("warm-up"))
        #expect(early[0].contains("20/s  stage 1 of 2"))
        #expect(!early.contains { $0.contains("error_rate") })
    }

    @Test("errors are named, viewers counted, and a generator at its limit is reported")
    func failures() {
        let progress = Self.progress(seconds: 12, viewers: true, cpuSeconds: 1.9, errors: 4)
        let lines = progress.lines(columns: 100, rows: 20, style: Self.style)
        #expect(lines.contains { $0.contains("origin.timeout 36") })
        #expect(lines.contains { $0.contains("viewers") && $0.contains("12") })
        #expect(lines.contains { $0.contains("it is the bottleneck") })
        #expect(lines[1].contains("failed 10 %"))
        #expect(
            progress.plainLine
                == "evening: 0:12 of 0:20, target 100/s viewers, 36.0/s succeeded, 8.00 Mbit/s, "
                + "p99 9.00 ms, 12 viewers, 10 % failed, the generator's CPU is the bottleneck")
    }

    @Test("it fits into any terminal", arguments: [20, 61, 200])
    func narrow(columns: Int) {
        for rows in [1, 3, 50] {
            let style = TerminalStyle(usesColor: false, usesUnicode: false)
            let lines = Self.progress(seconds: 12).lines(columns: columns, rows: rows, style: style)
            #expect(lines.count <= rows)
            #expect(lines.allSatisfy { TextLayout.width($0) <= columns })
        }
    }

    @Test("a usual terminal shows all of it, a narrow one what is missing")
    func usual() {
        var progress = Self.progress(seconds: 12, viewers: true, cpuSeconds: 1.9, errors: 4)
        progress.step = "400/s"
        let wide = progress.lines(columns: 300, rows: 50, style: Self.style)
        let usual = progress.lines(columns: 79, rows: 50, style: Self.style)
        #expect(usual.dropFirst().allSatisfy { !$0.hasSuffix("…") }, "\(usual)")
        for line in wide.dropFirst() where !line.contains("rate  ") {
            for word in line.split(separator: " ") {
                #expect(usual.contains { $0.contains(word) }, "\(word)")
            }
        }
        #expect(usual.contains { $0.hasPrefix("  total       p50") })
        for columns in 10..<120 {
            let whole = progress.lines(columns: 300, rows: 1, style: Self.style)[0]
            let head = progress.lines(columns: columns, rows: 1, style: Self.style)[0]
            #expect(TextLayout.width(head) <= columns)
            // The name and the shape of the load are made to fit.
            #expect(head.hasSuffix("…") || head.contains("stage 2 of 2"), "\(columns) \(whole)")
        }
    }

    @Test("the report fits as well", arguments: [40, 60, 79, 80, 100])
    func report(columns: Int) {
        for sample in GoldenTests.samples {
            let text = LoadSummary(
                sample.result, ladder: sample.ladder, usesUnicode: true, columns: columns
            ).text
            for line in text.split(separator: "\n") {
                #expect(TextLayout.width(String(line)) <= columns, "\(line)")
                if columns >= 79 { #expect(!line.hasSuffix("…"), "\(line)") }
            }
        }
    }

    @Test("nothing has ended yet, and nothing is made up")
    func nothing() {
        let lines = LoadProgress(LoadScenario(), cores: 0).lines(
            columns: 80, rows: 20, style: Self.style)
        #expect(lines[0].hasPrefix("load test  0:00"))
        #expect(!lines.joined().contains("nan") && !lines.joined().contains("inf"))
    }
}
