import Model
import Testing

@testable import LoadModel

@Suite struct LoadThresholdTests {
    @Test(arguments: [
        ("p99(first_byte) < 200ms", LoadFigure.quantile(.firstByte, 0.99), 200_000.0),
        ("p99.9(total)<=1.5s", .quantile(.total, 0.999), 1_500_000),
        ("p50( send_delay ) <800us", .quantile(.sendDelay, 0.5), 800),
        ("mean(connect) < 5 ms", .mean(.connect), 5_000),
        ("max(startup) < 1m", .maximum(.startup), 60_000_000),
        ("p95(viewer_stalls) <= 2", .quantile(.viewerStalls, 0.95), 2),
        ("p95(viewer_rebuffer_ratio) < 1%", .quantile(.viewerRebuffering, 0.95), 10_000),
        ("mean(viewer_bit_rate) > 2.5Mbit/s", .mean(.viewerBitRate), 2_500),
        ("rebuffer_ratio < 0.5%", .rebufferRatio, 0.005),
        ("error_rate <= 0.001", .errorRate, 0.001),
        ("error_rate < 100%", .errorRate, 1),
        ("error_rate >= 100%", .errorRate, 1),
        ("rate > 100/s", .requestRate, 100),
        ("rate >= 100", .requestRate, 100),
        ("throughput > 1Gbit/s", .throughput, 1e9),
        ("throughput > 250 Mbit/s", .throughput, 250e6),
        ("throughput > 100MB/s", .throughput, 800e6),
        ("throughput > 1MiB/s", .throughput, 8_388_608),
        ("late_segments < 1%", .lateSegmentRatio, 0.01),
        ("late_sends < 0.1%", .lateSendRatio, 0.001),
        ("missed_sends <= 0", .missedSendRatio, 0),
        ("failed_viewers <= 0", .failedViewerRatio, 0),
    ])
    func readsFigureAndValue(text: String, figure: LoadFigure, value: Double) throws {
        let threshold = try LoadThreshold.parse(text)
        #expect(threshold.figure == figure)
        #expect(abs(threshold.value - value) <= value * 1e-12)
        #expect(threshold.text == text)
    }

    @Test func readsEveryComparison() throws {
        for comparison in LoadThreshold.Comparison.allCases {
            let threshold = try LoadThreshold.parse("rate \(comparison.rawValue) 5/s")
            #expect(threshold.comparison == comparison)
        }
    }

    @Test(arguments: [
        ("", "", "p99(first_byte) < 200ms"),
        // What is missing is shown by the whole.
        ("p99(total)<", "p99(total)<", "a time with its unit"),
        ("< 5ms", "< 5ms", "p99(…)"),
        ("p99(total){target=} < 5ms", "p99(total){target=} < 5ms", "the name of a target"),
        ("p99(first_byte)", "p99(first_byte)", "<, <=, > or >="),
        ("p99(first_byte) = 5ms", "p99(first_byte) = 5ms", "<, <=, > or >="),
        ("p99(firstbyte) < 5ms", "p99(firstbyte)", "Did you mean first_byte?"),
        ("p99(first_byte < 5ms", "p99(first_byte", "or p99(…), mean(…), max(…)"),
        ("p101(total) < 5ms", "p101(total)", "p0 to p100"),
        ("p(total) < 5ms", "p(total)", "p0 to p100"),
        ("p-1(total) < 5ms", "p-1(total)", "p0 to p100"),
        ("avg(total) < 5ms", "avg(total)", "p0 to p100, for example p99.9, mean or max"),
        ("eror_rate < 1%", "eror_rate", "Did you mean error_rate?"),
        ("p99(total) < 200", "200", "a time with its unit"),
        ("p99(total) < 200 parsecs", "200 parsecs", "a time with its unit"),
        ("p99(total) < -5ms", "-5ms", "a time with its unit"),
        ("p99(total) < 1e3ms", "1e3ms", "a time with its unit"),
        ("p99(total) < nan", "nan", "a time with its unit"),
        ("p99(total) << 5ms", "< 5ms", "a time with its unit"),
        ("error_rate < 101%", "101%", "0% to 100%"),
        ("error_rate < 2", "2", "2% for a percentage, or a fraction below 1"),
        ("error_rate < 1", "1", "1% or 100%, with the sign: 1 could mean either"),
        ("error_rate <= 1.0", "1.0", "1% or 100%, with the sign: 1.0 could mean either"),
        ("late_sends < 1", "1", "1% or 100%, with the sign: 1 could mean either"),
        ("failed_viewers <= 5", "5", "5% for a percentage, or a fraction below 1"),
        ("p95(viewer_rebuffer_ratio) < 1", "1", "1% or 100%, with the sign: 1 could mean either"),
        ("error_rate{kind=media} < 1", "1", "1% or 100%, with the sign: 1 could mean either"),
        ("error_rate <= 100%", "<= 100%", "this one always holds"),
        ("missed_sends >= 0", ">= 0", "this one always holds"),
        ("error_rate < 0%", "< 0%", "this one never holds"),
        ("rebuffer_ratio > 100%", "> 100%", "this one never holds"),
        ("p99(total) < 0ms", "< 0ms", "this one never holds"),
        ("rate >= 0", ">= 0", "this one always holds"),
        ("error_rate < 5ms", "5ms", "0% to 100%, or a fraction below 1: 1%, 0.01"),
        ("throughput > 5", "5", "1Gbit/s"),
        ("throughput > 5GB", "5GB", "1Gbit/s"),
        ("rate > 5ms", "5ms", "100/s"),
    ])
    func reportsWhatWasGivenAndWhatIsAllowed(text: String, given: String, allowed: String) {
        let error = #expect(throws: LoadInputError.self) { try LoadThreshold.parse(text) }
        #expect(error?.given == given)
        #expect(error?.allowed.contains(allowed) == true, "\(error?.allowed ?? "")")
    }

    @Test func valuesAreThoseThatTheirDigitsSay() throws {
        for part in 1...999 {
            let text = "error_rate <= \(part / 10).\(part % 10)%"
            #expect(try LoadThreshold.parse(text).value == Double(part) / 1_000)
            let time = "max(total) <= \(part / 10).\(part % 10)ms"
            #expect(try LoadThreshold.parse(time).value == Double(part) * 100)
        }
    }

    // MARK: Default

    @Test func aBoundOnErrorsHoldsWhereNoneIsGiven() throws {
        var scenario = LoadScenario()
        scenario.targets = [
            LoadTarget(name: "a", source: .url("http://h/a", .file)),
            LoadTarget(name: "b", source: .url("http://h/b", .file)),
        ]
        scenario.thresholds = [try LoadThreshold.parse("p99(total) < 50ms")]
        #expect(scenario.judgedThresholds.map(\.text) == ["p99(total) < 50ms", "error_rate <= 1%"])
        #expect(scenario.judgedThresholds.map(\.isDefault) == [false, true])
        // It is what its text says.
        var parsed = try LoadThreshold.parse("error_rate <= 1%")
        parsed.isDefault = true
        #expect(scenario.judgedThresholds.last == parsed)
        // One target that may fail is no reason to accept the failures of the other.
        scenario.targets[0].mayFail = true
        #expect(scenario.judgedThresholds.count == 2)
        scenario.targets[1].mayFail = true
        #expect(scenario.judgedThresholds == scenario.thresholds)
        scenario.targets[1].mayFail = false
        scenario.thresholds.append(try LoadThreshold.parse("error_rate < 50%"))
        #expect(scenario.judgedThresholds == scenario.thresholds)
    }

    // MARK: Judging

    private func total() -> LoadInterval {
        var total = LoadInterval(second: 0)
        for value in 1...1_000 { total.record(Int64(value) * 1_000, .firstByte) }
        total.counts.requests.sent = 1_000
        total.counts.requests.succeeded = 990
        total.counts.requests.failed = 10
        total.counts.requests.bytes = 125_000_000
        total.counts.pacing.lateSends = 1
        total.counts.pacing.missedSends = 250
        total.counts.playback.segments = 400
        total.counts.playback.lateSegments = 2
        total.counts.playback.stalledSeconds = 1
        total.counts.playback.playedSeconds = 99
        total.counts.viewers.ended = 8
        total.counts.viewers.failed = 2
        return total
    }

    @Test(arguments: [
        ("p99(first_byte) < 995ms", true), ("p99(first_byte) < 980ms", false),
        ("max(first_byte) <= 1s", true), ("max(first_byte) < 1s", false),
        ("mean(first_byte) < 501ms", true), ("mean(first_byte) > 500ms", true),
        ("error_rate <= 1%", true), ("error_rate < 1%", false),
        ("rate >= 99/s", true), ("rate > 99/s", false),
        ("throughput >= 100Mbit/s", true), ("throughput > 100Mbit/s", false),
        ("rebuffer_ratio <= 1%", true), ("rebuffer_ratio < 1%", false),
        ("late_segments <= 0.5%", true), ("late_segments < 0.5%", false),
        ("late_sends <= 0.1%", true), ("late_sends < 0.1%", false),
        ("missed_sends <= 20%", true), ("missed_sends < 20%", false),
        ("failed_viewers <= 25%", true), ("failed_viewers < 25%", false),
    ])
    func comparesWhatWasMeasured(text: String, holds: Bool) throws {
        let verdict = try LoadThreshold.parse(text).judge(total(), measuredSeconds: 10)
        #expect(verdict.holds == holds, "\(verdict.measured ?? -1)")
    }

    /// What comes while the last requests are waited for has its latency, and is in no rate.
    @Test(arguments: [
        ("rate >= 59/s", true), ("rate > 59/s", false),
        ("throughput >= 60Mbit/s", true), ("throughput > 60Mbit/s", false),
        ("error_rate <= 1%", true), ("error_rate < 1%", false),
    ])
    func ratesAreOfTheTimeOfTheLoad(text: String, holds: Bool) throws {
        var total = self.total()
        total.counts.afterEnd.succeeded = 400
        total.counts.afterEnd.bytes = 50_000_000
        let verdict = try LoadThreshold.parse(text).judge(total, measuredSeconds: 10)
        #expect(verdict.holds == holds, "\(verdict.measured ?? -1)")
    }

    /// A test that sent nothing has shown nothing.
    @Test(arguments: [
        "p99(first_byte) < 1h", "mean(total) < 1h", "max(total) < 1h", "error_rate <= 99%",
        "rate < 9/s", "throughput < 9bit/s", "rebuffer_ratio <= 99%", "late_segments <= 99%",
        "late_sends <= 99%", "missed_sends <= 99%", "failed_viewers <= 99%",
        "p99(startup) < 1h",
    ])
    func whatWasNotMeasuredDoesNotHold(text: String) throws {
        let verdict = try LoadThreshold.parse(text)
            .judge(LoadInterval(second: 0), measuredSeconds: 0)
        #expect(verdict.measured == nil)
        #expect(!verdict.holds)
    }
}

@Suite struct LoadTextTests {
    @Test(arguments: [
        ("30s", 30.0), ("250ms", 0.25), ("1h30m", 5_400), ("1.5m", 90), ("0s", 0), ("80us", 80e-6),
        ("2d", 172_800),
    ])
    func readsTimes(text: String, seconds: Double) throws {
        #expect(abs(try LoadText.duration(text) - seconds) < 1e-12)
    }

    @Test(arguments: [
        (0.0, "0s"), (0.001, "1ms"), (0.1, "100ms"), (1, "1s"), (90, "90s"), (600, "10m"),
        (3_600, "1h"), (604_800, "7d"), (1_000_000, "1000000s"),
    ])
    func writesTimesAsTheyAreRead(seconds: Double, text: String) throws {
        #expect(LoadText.text(duration: seconds) == text)
        #expect(try LoadText.duration(text) == seconds)
    }

    @Test(arguments: ["", "30", "s", "-1s", "1 s", "1x", "1s2", "1e9s", "..s"])
    func refusesOtherTimes(text: String) {
        let error = #expect(throws: LoadInputError.self) { try LoadText.duration(text) }
        #expect(error?.allowed.contains("30s") == true)
    }

    @Test func readsBytes() throws {
        #expect(try LoadText.bytes("500MB") == 500_000_000)
        #expect(try LoadText.bytes("1.5KiB") == 1_536)
        #expect(try LoadText.bytes("17") == 17)
        for text in ["", "MB", "1Mb", "-5", "99999999999TiB"] {
            #expect(throws: LoadInputError.self) { try LoadText.bytes(text) }
        }
    }

    @Test func stagesBeginWhereTheOneBeforeEnded() throws {
        #expect(
            try LoadText.stages("30s:100,1m:500,0s:1000,10s:0") == [
                LoadStage(seconds: 30, from: 0, to: 100),
                LoadStage(seconds: 60, from: 100, to: 500),
                LoadStage(seconds: 0, from: 500, to: 1_000),
                LoadStage(seconds: 10, from: 1_000, to: 0),
            ])
        for text in ["", "30s", "30s:", ":5", "30s:5,", "30s:5:6", "30:5", "30s:-5"] {
            let error = #expect(throws: LoadInputError.self) { try LoadText.stages(text) }
            #expect(error?.given.isEmpty == text.isEmpty)
        }
    }
}
