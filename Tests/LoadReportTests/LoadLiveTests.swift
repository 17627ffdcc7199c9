import LoadModel
import Metrics
import TestSupport
import Testing

@testable import LoadReport

/// What Prometheus scrapes while a test runs.
@Suite struct LoadLiveTests {
    /// A ramp of 10 s to 100/s and 10 s of that, 3 s of which are the warm-up.
    private static var scenario: LoadScenario {
        var scenario = LoadScenario()
        scenario.name = "evening \"1\""
        scenario.model = .open(.constant)
        scenario.stages = [
            LoadStage(seconds: 10, from: 0, to: 100), LoadStage(seconds: 10, from: 100, to: 100),
        ]
        scenario.warmUpSeconds = 3
        scenario.thresholds = [
            LoadThreshold(
                text: "p99(total) < 5ms", figure: .quantile(.total, 0.99), comparison: .less,
                value: 5_000),
            LoadThreshold(
                text: "error_rate < 50%", figure: .errorRate, comparison: .less, value: 0.5),
            LoadThreshold(
                text: "p99(startup) < 1s", figure: .quantile(.startup, 0.99), comparison: .less,
                value: 1_000_000),
        ]
        return scenario
    }

    private struct Run {
        var live = LoadLive(LoadLiveTests.scenario, startedSeconds: 1_795_000_000)
        var recorder = LoadRecorder()

        mutating func begin(_ scenario: LoadScenario = LoadLiveTests.scenario) {
            recorder = LoadRecorder()
            live.begin(scenario)
        }

        mutating func add(second: Int, cpuSeconds: Double = 0.2, late: Int64 = 0) {
            var interval = LoadInterval(second: second)
            interval.isMeasured = second >= 3
            interval.counts.pacing.planned = 10
            interval.counts.requests.sent = 10
            interval.counts.requests.succeeded = 8
            interval.counts.requests.failed = 2
            interval.errors["origin.timeout"] = 2
            interval.counts.requests.bytes = 1_000
            interval.counts.cpuSeconds = cpuSeconds
            interval.counts.pacing.lateSends = late
            interval.counts.levels.inFlight = Int64(second)
            interval.counts.levels.backlog = 4
            for _ in 0..<10 {
                interval.record(9_000, .total)
                interval.record(2_000, .totalUncorrected)
            }
            _ = recorder.add(interval, of: 1)
            live.add(interval, of: recorder.result)
        }

        static func text(_ live: LoadLive, _ format: MetricsFormat = .prometheus) -> String {
            String(decoding: LoadPrometheus.text(live, format), as: UTF8.self)
        }

        /// By name and labels but for the test's name.
        func page() throws -> [String: Double] {
            let (_, samples) = try PrometheusTests.read(Self.text(live))
            var values: [String: Double] = [:]
            for sample in samples {
                let labels = sample.labels.filter { $0.key != "test" }.map { "\($0)=\($1)" }
                let name = sample.name.dropFirst("dray_loadtest_".count)
                values["\(name)\(labels.isEmpty ? "" : "{\(labels[0])}")"] = sample.value
            }
            return values
        }
    }

    @Test("it shows the progress of the test, with planned and actual load")
    func levels() throws {
        var run = Run()
        var page = try run.page()
        #expect(page["running"] == 0 && page["step"] == 0 && page["planned_rate"] == 0)
        #expect(page["start_time_seconds"] == 1_795_000_000)
        run.begin()
        for second in 0..<2 { run.add(second: second) }
        page = try run.page()
        #expect(page["running"] == 1 && page["step"] == 1 && page["warming_up"] == 1)
        #expect(page["planned_rate"] == 20 && page["elapsed_seconds"] == 2)
        #expect(page["duration_seconds"] == 20 && page["in_flight"] == 1 && page["backlog"] == 4)
        // Nothing counts yet, but all of it was sent.
        #expect(page["threshold_holds{threshold=error_rate < 50%}"] == nil)
        #expect(page["requests_total{result=succeeded}"] == 16)
        for second in 2..<15 { run.add(second: second) }
        page = try run.page()
        #expect(page["planned_rate"] == 100 && page["warming_up"] == 0)
        #expect(page["requests_total{result=succeeded}"] == 120)
        #expect(page["requests_total{result=failed}"] == 30)
        #expect(page["errors_total{code=origin.timeout}"] == 30)
        #expect(page["received_bytes_total"] == 15_000 && page["planned_total"] == 150)
        #expect(page["total_seconds_count"] == 150)
        #expect(page["total_seconds_sum"] == 1.35 && page["total_uncorrected_seconds_sum"] == 0.3)
        #expect(page["total_seconds_bucket{le=0.005}"] == 0)
        #expect(page["total_uncorrected_seconds_bucket{le=0.005}"] == 150)
        #expect(page["threshold_holds{threshold=p99(total) < 5ms}"] == 0)
        #expect(page["threshold_holds{threshold=error_rate < 50%}"] == 1)
        #expect(page["threshold_holds{threshold=p99(startup) < 1s}"] == nil)
        run.live.end()
        page = try run.page()
        #expect(page["running"] == 0 && page["planned_rate"] == 0 && page["in_flight"] == 0)
        #expect(page["requests_total{result=succeeded}"] == 120)
    }

    @Test("no sum falls where one run follows another")
    func steps() throws {
        var run = Run()
        var before: [String: Double] = [:]
        for step in 1...3 {
            run.begin()
            for second in 0..<6 {
                run.add(second: second)
                let (kinds, _) = try PrometheusTests.read(Run.text(run.live))
                let page = try run.page()
                for (series, value) in before {
                    let name = "dray_loadtest_" + series.prefix { $0 != "{" }
                    let family = name.replacing(/_(bucket|sum|count)$/, with: "")
                    guard kinds[name] == "counter" || kinds[family] == "histogram" else { continue }
                    #expect(page[series] ?? -1 >= value, "\(series)")
                }
                before = page
            }
            #expect(before["step"] == Double(step) && before["elapsed_seconds"] == 6)
        }
        #expect(before["planned_total"] == 180 && before["generator_cpu_seconds_total"] ?? 0 > 3.5)
    }

    @Test("the generators' own health is that of the last seconds")
    func generators() throws {
        var run = Run()
        run.live.cores = 2
        run.begin()
        for second in 0..<5 { run.add(second: second, cpuSeconds: 0.2) }
        var page = try run.page()
        #expect(page["generator_cpu_ratio"] == 0.1 && page["generator_is_limit"] == 0)
        #expect(page["generator_cores"] == 2 && page["shards{state=running}"] == nil)
        for second in 5..<10 { run.add(second: second, cpuSeconds: 1.9) }
        #expect(try run.page()["generator_is_limit"] == 1)
        // One that is late happens to every generator.
        for second in 10..<15 { run.add(second: second, late: second == 10 ? 1 : 0) }
        #expect(try run.page()["generator_is_limit"] == 0)
        run.add(second: 15, late: 10)
        #expect(try run.page()["generator_is_limit"] == 1)
        for second in 16..<21 { run.add(second: second) }
        run.live.shards = [.running: 6, .lost: 2]
        page = try run.page()
        #expect(page["generator_is_limit"] == 0 && page["late_sends_total"] == 11)
        #expect(page["shards{state=running}"] == 6 && page["shards{state=lost}"] == 2)
        #expect(page["shards{state=failed}"] == 0)
        // Under a quota there is less than its machine has.
        var interval = LoadInterval(second: 16)
        interval.counts.cpuSeconds = 2.2
        interval.machines["m"] = LoadMachine(
            name: "m", cpus: [0, 1, 2, 3], cpuSeconds: 2.2, quotaCores: 0.5)
        run.live.add(interval, of: LoadResult())
        page = try run.page()
        #expect(page["generator_cores"] == 0.5 && page["generator_is_limit"] == 1)
    }

    @Test("users and viewers have figures of their own")
    func viewers() throws {
        var scenario = Self.scenario
        scenario.model = .closed
        scenario.user = .viewers(ViewerSettings())
        var run = Run()
        run.begin(scenario)
        var interval = LoadInterval(second: 4)
        interval.counts.levels.viewers = 7
        interval.counts.viewers.started = 9
        interval.counts.playback.stalls = 2
        interval.counts.playback.stalledSeconds = 1.5
        interval.counts.playback.playedSeconds = 30
        interval.record(400_000, .startup)
        run.live.add(interval, of: LoadResult())
        let page = try run.page()
        #expect(page["planned_users"] == 50 && page["planned_rate"] == nil)
        #expect(page["viewers"] == 7 && page["viewers_started_total"] == 9)
        #expect(page["stalls_total"] == 2 && page["stalled_seconds_total"] == 1.5)
        #expect(page["played_seconds_total"] == 30 && page["startup_seconds_count"] == 1)
        try PrometheusTests.check(Run.text(run.live))
    }

    /// Both formats, read by the parsers of others.
    @Test(.enabled(if: OpenMetricsReader.isInstalled, OpenMetricsReader.needs))
    func itIsOpenMetrics() async throws {
        var run = Run()
        run.begin()
        for second in 0..<6 { run.add(second: second) }
        let samples = try await OpenMetricsReader.samples(
            LoadPrometheus.text(run.live, .openMetrics))
        let (_, plain) = try PrometheusTests.read(Run.text(run.live))
        #expect(samples.count == plain.count && samples.count > 40)
        for (one, other) in zip(samples, plain) {
            #expect(one.name == other.name && one.value == other.value)
            #expect(one.labels["test"] == "evening \"1\"")
        }
    }
}
