import LoadModel
import Testing

@testable import LoadReport

@Suite struct WarningTests {
    /// Ten seconds of a generator with two cores, of which each second has `change`.
    private static func result(_ change: (inout LoadCounts) -> Void) -> LoadResult {
        var recorder = LoadRecorder()
        for second in 0..<10 {
            var interval = LoadInterval(second: second)
            interval.counts.requests.sent = 1_000
            interval.counts.requests.succeeded = 1_000
            interval.counts.cpuSeconds = 1.6
            change(&interval.counts)
            _ = recorder.add(interval, of: 1)
        }
        recorder.update {
            $0.measuredSeconds = 10
            $0.cores = 2
            $0.scenario.http.concurrency = 64
        }
        return recorder.result
    }

    /// That of the workers edge-1, edge-2 and so on.
    private static func result(shards: [LoadShardReport.State]) -> LoadResult {
        var result = result { _ in }
        result.shards = shards.enumerated().map { index, state in
            LoadShardReport(index: index, worker: "edge-\(index + 1)", state: state)
        }
        return result
    }

    @Test("a test that went as planned has no warning")
    func none() {
        let result = Self.result { $0.pacing.lateSends = 1 }
        #expect(result.warnings.isEmpty)
        #expect(!result.generatorIsLimit)
    }

    @Test("a generator without CPU left, or that sends late, is reported as the limit")
    func generator() {
        let busy = Self.result { $0.cpuSeconds = 1.75 }
        #expect(busy.generatorIsLimit)
        #expect(busy.warnings.first?.contains("used 87.5 % of its 2 cores") == true)
        let late = Self.result { $0.pacing.lateSends = 2 }
        #expect(late.generatorIsLimit)
        #expect(
            late.warnings.first?.contains("0.20 % of the requests were sent over 10 ms late")
                == true)
    }

    /// Two cores that something else uses.
    @Test("late sends of a generator with little CPU use are of a busy machine")
    func busyMachine() {
        var late = Self.result { ($0.pacing.lateSends, $0.cpuSeconds) = (60, 0.04) }
        #expect(late.machineIsBusy && !late.generatorIsLimit && late.limit == .machineBusy)
        #expect(
            late.warnings == [
                "6 % of the requests were sent over 10 ms late although a slot was free, and the "
                    + "generator used 2 % of its 2 cores: the machine is busy with other work."
            ])
        // What breaks then may be due to it.
        late.verdicts = [
            LoadVerdict(threshold: .defaultErrorRate, measured: 0.02, holds: false)
        ]
        #expect(late.limit == .machineBusy)
        var own = Self.result { $0.pacing.lateSends = 60 }
        own.verdicts = late.verdicts
        #expect(own.limit == .generator && !own.machineIsBusy)
        // A threshold that breaks while all is sent in time is certain.
        var inTime = Self.result { $0.cpuSeconds = 1.9 }
        inTime.verdicts = late.verdicts
        #expect(inTime.limit == .threshold)
    }

    @Test("failures of the warm-up are reported, as they are in no result")
    func warmUp() {
        var result = Self.result { _ in }
        (result.warmUp.counts.requests.failed, result.warmUp.counts.requests.succeeded) = (9, 91)
        #expect(result.warnings.isEmpty)
        (result.warmUp.counts.requests.failed, result.warmUp.counts.requests.succeeded) = (
            2_272, 30_000
        )
        #expect(
            result.warnings == [
                "2,272 requests of 32,272 failed in the warm-up, which is in no result."
            ])
    }

    @Test("viewers of the warm-up are not missing where more ended than started")
    func viewersOfTheWarmUp() {
        var result = Self.result { _ in }
        result.scenario.user = .viewers(ViewerSettings())
        result.scenario.model = .open(.constant)
        result.total.counts.pacing.planned = 269
        (result.total.counts.viewers.started, result.total.counts.viewers.ended) = (269, 337)
        (result.warmUp.counts.viewers.started, result.warmUp.counts.viewers.ended) = (80, 5)
        let text = LoadSummary(result, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            text.contains(
                "viewers 269 started of 269 planned, beside 75 of the warm-up; of these and those "
                    + "337 ended, 0 of them failed"), "\(text)")
    }

    @Test("a test that its caps end has ended as it was asked to")
    func capped() {
        var result = Self.result { $0.requests.unfinished = 1 }
        #expect(result.warnings.first?.contains("10 requests were unfinished") == true)
        result.ending = .capped
        #expect(result.warnings.isEmpty)
        #expect(
            LoadSummary(result, usesUnicode: true).text.contains("a limit of requests or bytes"))
    }

    @Test("some late sends of a short test are no sign of the generator's limit")
    func few() {
        var recorder = LoadRecorder()
        var interval = LoadInterval(second: 0)
        interval.counts.requests.sent = 20
        interval.counts.requests.succeeded = 20
        interval.counts.pacing.lateSends = 3
        _ = recorder.add(interval, of: 1)
        recorder.update { $0.measuredSeconds = 1 }
        #expect(!recorder.result.generatorIsLimit && recorder.result.warnings.isEmpty)
    }

    @Test("tables say whose part is not in them")
    func tables() {
        var result = Self.result(shards: [.finished, .lost])
        for url in ["a", "b"] {
            var tally = LoadTally()
            tally.record(bytes: 1, microseconds: 1, isFailure: false)
            result.breakdown.urls[url] = tally
        }
        #expect(!LoadSummary(result, usesUnicode: true).text.contains("without shard"))
        result.shardsWithoutBreakdown = [1]
        #expect(result.warnings.contains { $0.contains("omit shard 2 of 2") })
        #expect(
            LoadSummary(result, usesUnicode: true).text.contains(
                "URLs, the slowest first, without shard 2"))
    }

    @Test("a threshold that is given twice is one series")
    func series() {
        var result = Self.result { _ in }
        let verdict = LoadVerdict(
            threshold: LoadThreshold(
                text: "error_rate < 1%", figure: .errorRate, comparison: .less, value: 0.01),
            measured: 0, holds: true)
        result.verdicts = [verdict, verdict]
        let lines = LoadPrometheus.text(result).split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("dray_loadtest_threshold_holds{") } == 1)
    }

    /// Three workers share a machine of two cores, of which two are bound to one of them each; a fourth has
    /// another machine to itself.
    @Test("workers of one machine have its cores together, and the busiest is the limit")
    func machines() {
        var recorder = LoadRecorder()
        for second in 0..<10 {
            let workers: [(id: String, cpus: Set<Int>, cpuSeconds: Double)] = [
                ("a", [0], 0.6), ("a", [0, 1], 0.6), ("a", [1], 0.6), ("b", [0, 1], 0.1),
            ]
            for (id, cpus, cpuSeconds) in workers {
                var interval = LoadInterval(second: second)
                interval.counts.requests.succeeded = 100
                interval.counts.requests.sent = 100
                interval.counts.cpuSeconds = cpuSeconds
                interval.machines[id] = LoadMachine(
                    name: "host-\(id)", cpus: cpus, cpuSeconds: cpuSeconds)
                _ = recorder.add(interval, of: 4)
            }
        }
        recorder.update {
            $0.measuredSeconds = 10
            $0.cores = 8
        }
        let result = recorder.result
        #expect(result.generatorCores == 4 && result.generatorIsLimit)
        #expect(result.warnings.first?.contains("on host-a used 90") == true)
        #expect(
            result.warnings.first?.contains("of its 2 cores: it was the bottleneck") == true,
            "\(result.warnings)")
        let text = LoadSummary(result, usesUnicode: true).text
        #expect(text.contains("of 4 cores of 2 machines; the busiest, host-a, 90"))
    }

    @Test("a container that has used up its CPU quota is at its limit, on any machine")
    func quota() {
        var recorder = LoadRecorder()
        for second in 0..<10 {
            for id in ["a", "b"] {
                var interval = LoadInterval(second: second)
                interval.counts.requests.succeeded = 100
                interval.counts.requests.sent = 100
                interval.counts.cpuSeconds = id == "a" ? 0.45 : 0.1
                interval.machines[id] = LoadMachine(
                    name: "pod-\(id)", cpus: Set(0..<64), cpuSeconds: interval.counts.cpuSeconds,
                    quotaCores: id == "a" ? 0.5 : 2)
                _ = recorder.add(interval, of: 2)
            }
        }
        recorder.update {
            $0.measuredSeconds = 10
            $0.cores = 3
        }
        let result = recorder.result
        #expect(result.generatorIsLimit && result.limit == .generator)
        #expect(
            result.warnings.first?.contains("on pod-a used 90 % of its 0.50 cores: it was")
                == true,
            "\(result.warnings)")
        let text = LoadSummary(result, usesUnicode: true).text
        #expect(text.contains("of 2.50 cores of 2 machines; the busiest, pod-a, 90"), "\(text)")
    }

    @Test(
        "requests that wait while slots are free are on their way, those without a slot are reported"
    )
    func slots() {
        #expect(Self.result { ($0.levels.backlog, $0.levels.inFlight) = (1, 64) }.warnings.isEmpty)
        let full = Self.result { $0.pacing.queued = 7 }
        #expect(
            full.warnings.first?.contains(
                "70 requests waited in the generator's queue because its 64 slots") == true)
        #expect(!full.generatorIsLimit)
    }

    @Test("unsent requests, and a test without an answer, are reported")
    func missing() {
        let missed = Self.result { $0.pacing.missedSends = 3 }
        #expect(missed.warnings == ["30 requests that were due before the end were never sent."])
        let silent = Self.result { ($0.requests.succeeded, $0.requests.sent) = (0, 0) }
        #expect(silent.warnings.first?.contains("there is no result") == true)
    }

    @Test("requests cut off by the end of a test are reported")
    func cutOff() {
        let stopped = Self.result {
            ($0.requests.unfinished, $0.requests.longestUnfinishedSeconds) = (2, 7)
        }
        #expect(
            stopped.warnings == [
                "20 requests were unfinished when it was stopped, the longest for 7 s: no latency "
                    + "and no error includes them."
            ])
        let blank = Self.result { $0.viewers.notStarted = 1 }
        #expect(blank.warnings.first?.contains("10 viewers did not start playing") == true)
        let crowded = Self.result { $0.viewers.rejected = 1 }
        #expect(crowded.warnings.first?.contains("10 viewers that were due did not start") == true)
    }

    @Test("the wait for the last requests is in no rate and no share of the CPU")
    func afterTheEnd() {
        let result = Self.result {
            ($0.afterEnd.succeeded, $0.requests.bytes, $0.afterEnd.bytes) = (500, 1_000, 600)
            $0.afterEnd.cpuSeconds = 0.6
        }
        #expect(result.requestsPerSecond == 500)
        #expect(result.bitsPerSecond == 3_200)
        #expect(abs((result.cpuShare ?? 0) - 0.5) < 1e-9)
    }

    @Test("a shard is not hidden when its worker is gone")
    func shards() {
        var result = Self.result(shards: [.finished, .lost, .failed])
        result.shards[1].missingFromSecond = 4
        result.shards[2].message = "no connection"
        #expect(result.warnings.count == 2)
        #expect(result.warnings[0].contains("edge-2") && result.warnings[0].contains("second 4"))
        #expect(
            result.warnings[1].contains("edge-3") && result.warnings[1].contains("no connection"))
    }
}
