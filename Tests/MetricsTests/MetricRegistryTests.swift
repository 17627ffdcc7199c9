import Metrics
import Services
import Testing

@Suite struct MetricRegistryTests {
    private static func lines(
        _ registry: MetricRegistry, _ format: MetricsFormat = .openMetrics
    ) -> [String] {
        String(decoding: registry.text(format), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    @Test func whatIsBeyondTheBoundSharesOneSeries() {
        let registry = MetricRegistry()
        let failures = registry.counters("dray_failures", ["code"], maxSeries: 3, "Failures.")
        for number in 0..<1_000 { failures["code \(number)"].add() }
        failures["code 0"].add(5)
        let samples = Self.lines(registry).filter { !$0.hasPrefix("#") }
        #expect(
            samples == [
                "dray_failures_total{code=\"code 0\"} 6", "dray_failures_total{code=\"code 1\"} 1",
                "dray_failures_total{code=\"other\"} 998",
            ])
    }

    @Test(arguments: [
        (MetricRegistry.Overflow.sum, "9"), (.maximum, "4"), (.minimum, "2"),
    ])
    func gaugesBeyondTheBoundBecomeOne(overflow: MetricRegistry.Overflow, rest: String) {
        let registry = MetricRegistry()
        registry.gauges("dray_age_seconds", ["queue"], maxSeries: 2, overflow: overflow, "Ages.") {
            zip(["a", "b", "c", "d"], [7, 2, 4, 3]).map { MetricSample([$0], Double($1)) }
        }
        let samples = Self.lines(registry).filter { !$0.hasPrefix("#") }
        #expect(
            samples == [
                "dray_age_seconds{queue=\"a\"} 7", "dray_age_seconds{queue=\"other\"} \(rest)",
            ])
    }

    @Test func aCounterNeverShrinks() {
        let counter = MetricRegistry().counter("dray_a", "A.")
        counter.add(3)
        counter.add(-2)
        #expect(counter.value == 3)
    }

    @Test func updatesFromManyThreadsAllCount() async {
        let registry = MetricRegistry()
        let bytes = registry.counters("dray_bytes", ["origin"], maxSeries: 4, "Bytes.")
        let durations = registry.histogram("dray_a_seconds", exponents: -2...2, "Durations.")
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<1_000 {
                        bytes["origin \((task + number) % 6)"].add(1)
                        durations.record(seconds: 0.5)
                    }
                }
            }
        }
        #expect(bytes.entries.reduce(0) { $0 + $1.series.value } == 8_000)
        #expect(durations.snapshot.counts.reduce(0, +) == 8_000)
        #expect(durations.snapshot.sum == 4_000)
    }

    /// As the buckets of native histograms: a bound belongs to the bucket below it.
    @Test func aBoundBelongsToTheBucketBelowIt() {
        let histogram = MetricRegistry().histogram("dray_a_seconds", exponents: -1...1, "A.")
        for seconds in [-1, 0, 0.1, 0.5, 0.500_1, 1, 1.001, 2, 2.001, 1e9, .infinity] {
            histogram.record(seconds: seconds)
        }
        #expect(histogram.snapshot.counts == [4, 2, 2, 3])
        histogram.record(.milliseconds(700))
        #expect(histogram.snapshot.counts == [4, 3, 2, 3])
    }

    @Test func theProcessIsMeasured() throws {
        #expect(try #require(ProcessFigures.cpuSeconds) > 0)
        #expect(try #require(ProcessFigures.residentBytes) > 1e6)
        let open = try #require(ProcessFigures.openDescriptors)
        #expect((3...Double(OpenFiles.limits.soft)).contains(open))
        let age = SystemWallClock().nowSeconds - (try #require(ProcessFigures.startSeconds))
        #expect((-2...86_400).contains(age))
    }

    @Test func aScrapeOfManySeriesIsBounded() {
        let registry = MetricRegistry()
        for metric in 0..<20 {
            let series = registry.counters("dray_m\(metric)", ["origin"], maxSeries: 101, "Many.")
            for origin in 0..<1_000 { series["https://origin-\(origin).example"].add(origin) }
        }
        #expect(registry.text(.openMetrics).count < 200_000)
    }
}
