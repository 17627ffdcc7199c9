import LoadModel
import Model
import Statistics
import Testing

@testable import LoadReport

/// What is concluded from the reports of two tests.
@Suite struct LoadComparisonTests {
    /// A test of some seconds, whose requests take `milliseconds` on average, and vary.
    private static func report(
        seed: UInt64, milliseconds: Double = 20, failed: Int64 = 0, seconds: Int = 30,
        perSecond: Int = 200, level: Double = 0.02,
        _ change: (inout LoadScenario) -> Void = { _ in }
    ) throws -> LoadReportFile {
        var scenario = LoadScenario()
        scenario.name = "evening"
        scenario.targets = [LoadTarget(name: "edge", source: .url("http://h/a", .file))]
        scenario.model = .open(.constant)
        scenario.stages = [LoadStage(seconds: Double(seconds), from: 200, to: 200)]
        change(&scenario)
        var random = SeededRandom(seed: seed)
        var recorder = LoadRecorder()
        for second in 0..<seconds {
            var interval = LoadInterval(second: second)
            let mean = milliseconds * (1 + level * random.normal())
            for _ in 0..<perSecond {
                let took = mean * (0.5 + random.exponential(mean: 0.5))
                interval.record(Int64(took * 1_000), .total)
            }
            interval.counts.requests.succeeded = Int64(perSecond)
            interval.counts.requests.failed = failed
            interval.counts.requests.bytes = Int64(perSecond) * 1_000
            _ = recorder.add(interval, of: 1)
        }
        recorder.update {
            $0.name = scenario.name
            $0.scenario = scenario
            $0.measuredSeconds = Double(seconds)
        }
        return try LoadReportFile(Array(try LoadJSON.text(recorder.result).utf8), label: "a.json")
    }

    private static func compare(
        _ first: LoadReportFile, _ second: LoadReportFile, tolerance: Double = 0.05
    ) -> LoadComparison {
        var limits = LoadComparison.Limits()
        limits.tolerance = tolerance
        return LoadComparison(first, second, limits)
    }

    private static func figure(
        _ name: String, _ comparison: LoadComparison
    ) throws -> LoadComparison.Figure {
        try #require(comparison.figures.first { $0.name == name })
    }

    @Test func theSameServerIsNotWorse() throws {
        for seed in 1...10 {
            let comparison = Self.compare(
                try Self.report(seed: UInt64(2 * seed)), try Self.report(seed: UInt64(2 * seed + 1))
            )
            #expect(!comparison.isWorse, "\(comparison.text)")
            #expect(comparison.notes.isEmpty)
            let median = try Self.figure("p50(total)", comparison)
            #expect(abs(median.change ?? 1) < 0.05)
            let interval = try #require(median.interval)
            #expect(interval.contains(median.change ?? 1))
        }
    }

    @Test func aSlowerOneIsWorseByWhatItIsSlower() throws {
        let (fast, slow) = (
            try Self.report(seed: 1), try Self.report(seed: 2, milliseconds: 24)
        )
        let comparison = Self.compare(fast, slow)
        #expect(comparison.isWorse)
        let median = try Self.figure("p50(total)", comparison)
        #expect(median.verdict == .worse)
        #expect(try #require(median.interval).contains(0.2), "\(comparison.text)")
        #expect(try Self.figure("rate", comparison).verdict == .same)
        // Within a tolerance of a half, and the other way round.
        #expect(!Self.compare(fast, slow, tolerance: 0.5).isWorse)
        let back = Self.compare(slow, fast)
        #expect(!back.isWorse)
        #expect(try Self.figure("p50(total)", back).verdict == .better)
        #expect(comparison.text.contains("B is worse by more than 5 %"), "\(comparison.text)")
    }

    /// Ten values above a percentile are needed in each test.
    @Test(arguments: [(10, 20, ["p50", "p90", "p95"]), (10, 19, ["p50", "p90"])])
    func percentilesWithEnoughValuesAreShown(seconds: Int, perSecond: Int, names: [String]) throws {
        let comparison = Self.compare(
            try Self.report(seed: 1, seconds: seconds, perSecond: perSecond),
            try Self.report(seed: 2, seconds: seconds, perSecond: perSecond + 1))
        let shown = comparison.figures.map(\.name).filter { $0.hasPrefix("p") }
        #expect(shown == names.map { "\($0)(total)" })
    }

    @Test func moreErrorsAreWorseThoughAnswersAreFaster() throws {
        let comparison = Self.compare(
            try Self.report(seed: 1), try Self.report(seed: 2, milliseconds: 5, failed: 20))
        let errors = try Self.figure("error_rate", comparison)
        #expect(errors.verdict == .worse && comparison.isWorse)
        #expect(abs((errors.change ?? 0) - 20.0 / 220) < 1e-9)
        #expect(try Self.figure("p50(total)", comparison).verdict == .better)
        #expect(comparison.text.contains("+9.09 pp"), "\(comparison.text)")
    }

    @Test func fewerRequestsAreWorse() throws {
        let comparison = Self.compare(
            try Self.report(seed: 1), try Self.report(seed: 2, perSecond: 150))
        #expect(try Self.figure("rate", comparison).verdict == .worse)
        #expect(try Self.figure("throughput", comparison).verdict == .worse)
        let change = try Self.figure("rate", comparison).change
        #expect(abs((change ?? 0) + 0.25) < 1e-9)
    }

    /// Seconds that differ by half of their time prove nothing of a change of a tenth.
    @Test func whatVariesTooMuchIsUnclear() throws {
        let comparison = Self.compare(
            try Self.report(seed: 1, seconds: 10, level: 0.5),
            try Self.report(seed: 4, milliseconds: 22, seconds: 10, level: 0.5))
        #expect(try Self.figure("p50(total)", comparison).verdict == .unclear)
        #expect(comparison.text.contains("Unclear, because results vary too much"))
    }

    @Test func otherPlansAreNoted() throws {
        let comparison = Self.compare(
            try Self.report(seed: 1), try Self.report(seed: 2) { $0.http.timeoutSeconds = 5 })
        #expect(comparison.notes.first?.contains("(timeoutSeconds)") == true)
        let seeds = Self.compare(
            try Self.report(seed: 1), try Self.report(seed: 2) { $0.seed = 5 })
        #expect(seeds.notes.isEmpty)
    }

    /// More requests were asked for: that more came says nothing of the server.
    @Test func theRateThatWasAskedForIsNotJudged() throws {
        let comparison = Self.compare(
            try Self.report(seed: 1),
            try Self.report(seed: 2, perSecond: 220) {
                $0.stages = [LoadStage(seconds: 30, from: 220, to: 220)]
            })
        for name in ["rate", "throughput"] {
            #expect(try Self.figure(name, comparison).verdict == .asked)
        }
        #expect(try Self.figure("p50(total)", comparison).verdict == .same)
        #expect(!comparison.isWorse && !comparison.text.contains("better"), "\(comparison.text)")
        #expect(
            comparison.text.contains(
                "Not judged, because the plans ask for different rates: rate, throughput."))
        // A longer test asks for the same rate.
        let longer = Self.compare(
            try Self.report(seed: 1), try Self.report(seed: 2, seconds: 60, perSecond: 150))
        #expect(try Self.figure("rate", longer).verdict == .worse)
        // Users ask for no rate.
        let users = Self.compare(
            try Self.report(seed: 1) { $0.model = .closed },
            try Self.report(seed: 2, perSecond: 220) {
                $0.model = .closed
                $0.stages = [LoadStage(seconds: 30, from: 220, to: 220)]
            })
        #expect(try Self.figure("rate", users).verdict == .better)
    }

    @Test func longTestsHaveLongerBlocks() throws {
        let report = try Self.report(seed: 1, seconds: 500, perSecond: 2)
        #expect(report.blocks.count == 100)
        let values = report.blocks.reduce(0) { $0 + $1.histogram.total }
        #expect(values == 1_000)
    }

    @Test func whatIsNoReportIsRefused() throws {
        func rejection(_ text: String) -> Failure? {
            #expect(throws: Failure.self) {
                try LoadReportFile(Array(text.utf8), label: "x.json")
            }
        }
        for text in ["", "[]", "{}", "{\"schema\": 7}"] {
            #expect(rejection(text)?.code == .inputMalformed)
            #expect(rejection(text)?.message.contains("x.json") == true)
        }
        var recorder = LoadRecorder()
        for second in 0..<7 { _ = recorder.add(LoadInterval(second: second), of: 1) }
        let short = try LoadJSON.text(recorder.result)
        #expect(rejection(short)?.message.contains("7 seconds of measured load") == true)
        let other = short.replacing("dray.loadtest/1", with: "dray.loadtest/9")
        #expect(rejection(other)?.message.contains("given \"dray.loadtest/9\"") == true)
        let impossible = short.replacing("\"succeeded\" : 0", with: "\"succeeded\" : -1")
        #expect(rejection(impossible)?.message.contains("impossible counts") == true)
    }
}
