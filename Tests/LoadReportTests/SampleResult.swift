import LoadModel
import Model
import Statistics
import TestSupport

/// Results of tests that never were, the same every time.
enum SampleResult {
    /// A minute of requests by an open model, with a freeze of the server and some errors in it.
    static func requests() -> LoadResult {
        var scenario = LoadScenario()
        scenario.name = "evening & <night>"
        scenario.seed = 7
        scenario.targets = [
            LoadTarget(
                name: "edge",
                source: .url("https://user:pw@edge.example/a.bin?token=SECRET", .file)),
            LoadTarget(name: "list", source: .list("titles.csv")),
        ]
        scenario.popularity = .zipf(exponent: 0.8)
        scenario.model = .open(.poisson)
        scenario.stages = [
            LoadStage(seconds: 10, from: 0, to: 200), LoadStage(seconds: 50, from: 200, to: 200),
        ]
        scenario.warmUpSeconds = 5
        scenario.caps.bytes = 5_000_000_000
        var random = SeededRandom(seed: 7)
        var recorder = LoadRecorder()
        for second in 0..<60 {
            _ = recorder.add(interval(second, &random), of: 1)
        }
        recorder.update { result in
            result.name = scenario.name
            result.scenario = scenario
            result.startedSeconds = 1_795_000_000
            result.warmUpSeconds = 5
            result.measuredSeconds = 55
            result.cores = 2
            result.shards = [LoadShardReport(index: 0, worker: "", state: .finished)]
            result.verdicts = [
                verdict(
                    "p99(first_byte) < 200ms", .quantile(.firstByte, 0.99), .less, 200_000,
                    measured: 1_270_784, holds: false),
                verdict("error_rate < 1%", .errorRate, .less, 0.01, measured: 0.002, holds: true),
                verdict(
                    "rebuffer_ratio < 0.5%", .rebufferRatio, .less, 0.005, measured: nil,
                    holds: false),
            ]
            for number in 0..<30 {
                var tally = LoadTally()
                for _ in 0...number {
                    tally.record(
                        bytes: 65_536, microseconds: Int64(900 + 10 * number), isFailure: false)
                }
                let url = "https://edge.example/title/segment-\(number).m4s?…"
                result.breakdown.urls[url] = tally
            }
            for (name, failed) in [("edge", 15), ("list", 3)] {
                var tally = LoadTally()
                for index in 0..<5_375 {
                    tally.record(bytes: 65_536, microseconds: 5_100, isFailure: index < failed)
                }
                result.breakdown.targets[name] = tally
            }
        }
        return recorder.result
    }

    private static func interval(_ second: Int, _ random: inout SeededRandom) -> LoadInterval {
        var interval = LoadInterval(second: second)
        interval.isMeasured = second >= 5
        let rate = min(200, 10 + 20 * second)
        interval.counts.pacing.planned = Int64(rate)
        interval.counts.requests.sent = Int64(rate)
        interval.counts.requests.connections = second == 0 ? 64 : 0
        interval.counts.cpuSeconds = Double(rate) / 1_000
        interval.counts.levels.inFlight = 12
        if second == 0 { for _ in 0..<64 { interval.record(420, .connect) } }
        for index in 0..<rate {
            let took = Int64.random(in: 800...9_000, using: &random)
            // A freeze of 1.4 s: what was due within it waits for its end.
            let waited = second == 30 ? Int64(1_400_000 - 1_400_000 * index / rate) : 0
            interval.record(waited, .sendDelay)
            interval.counts.requests.bytes += 65_536
            if index == 0, second % 3 == 0 {
                interval.counts.requests.failed += 1
                interval.errors[
                    second % 2 == 0 ? "origin.http.503" : "origin.timeout", default: 0] += 1
                interval.record(300, .failedUncorrected)
                interval.record(300 + waited, .failed)
            } else {
                interval.record(took, .firstByteUncorrected)
                interval.record(took + waited, .firstByte)
                interval.record(took + 700, .totalUncorrected)
                interval.record(took + 700 + waited, .total)
                interval.counts.requests.succeeded += 1
            }
        }
        return interval
    }

    static func verdict(
        _ text: String, _ figure: LoadFigure, _ comparison: LoadThreshold.Comparison,
        _ value: Double, measured: Double?, holds: Bool
    ) -> LoadVerdict {
        LoadVerdict(
            threshold: LoadThreshold(
                text: text, figure: figure, comparison: comparison, value: value),
            measured: measured, holds: holds)
    }

    /// Viewers on two workers, of which one was lost, with a generator that was too slow.
    static func viewers() -> LoadResult {
        var scenario = LoadScenario()
        scenario.name = "premiere"
        scenario.targets = [
            LoadTarget(name: "title", source: .url("https://edge.example/m.m3u8", .hls))
        ]
        scenario.model = .open(.constant)
        scenario.stages = [LoadStage(seconds: 40, from: 5, to: 5)]
        scenario.user = .viewers(ViewerSettings())
        var recorder = LoadRecorder()
        for second in 0..<40 {
            for shard in 0..<2 where shard == 0 || second < 25 {
                _ = recorder.add(viewerInterval(second, shard), of: second < 25 ? 2 : 1)
            }
        }
        recorder.update { result in
            result.name = scenario.name
            result.scenario = scenario
            result.startedSeconds = 1_795_000_000.25
            result.measuredSeconds = 40
            result.cores = 2
            result.ending = .interrupted
            result.shards = [
                LoadShardReport(index: 0, worker: "edge-1", state: .finished),
                LoadShardReport(index: 1, worker: "edge-2", state: .lost),
            ]
            result.shards[1].missingFromSecond = 25
            result.shards[0].counts.requests.succeeded = 7_800
            result.shards[0].counts.requests.bytes = 3_900_000_000
            result.shards[1].counts.requests.succeeded = 3_000
            result.shards[1].counts.requests.bytes = 1_500_000_000
            for (name, count) in [("1080p", 40), ("480p", 210)] {
                var tally = LoadTally()
                for _ in 0..<count {
                    tally.record(bytes: 500_000, microseconds: 21_000, isFailure: false)
                }
                result.breakdown.renditions[name] = tally
            }
        }
        return recorder.result
    }

    private static func viewerInterval(_ second: Int, _ shard: Int) -> LoadInterval {
        var interval = LoadInterval(second: second)
        var counts = LoadCounts()
        counts.pacing.planned = 5
        counts.viewers.started = 5
        counts.levels.viewers = Int64(5 * second + 5)
        counts.requests.sent = Int64(10 * second)
        counts.requests.succeeded = counts.requests.sent
        counts.requests.bytes = counts.requests.sent * 500_000
        counts.playback.segments = counts.requests.sent
        counts.playback.lateSegments = second > 30 ? 4 : 0
        counts.playback.stalls = second > 30 ? 4 : 0
        counts.pacing.lateSends = second > 20 ? 3 : 0
        counts.playback.playedSeconds = Double(5 * second)
        counts.playback.stalledSeconds = second > 30 ? 2.5 : 0
        counts.playback.playedBits = counts.playback.playedSeconds * 1_400_000
        counts.cpuSeconds = 0.97
        if second == 39 {
            counts.viewers.ended = 200
            counts.viewers.failed = 1
            for viewer in 0..<199 {
                interval.record(viewer % 40 == 0 ? 2 : 0, .viewerStalls)
                interval.record(viewer % 40 == 0 ? 62_500 : 0, .viewerRebuffering)
                interval.record(viewer % 40 == 0 ? 2 : 0, .viewerLateSegments)
                interval.record(1_400, .viewerBitRate)
                interval.record(Int64(viewer % 3), .viewerSwitches)
            }
        }
        interval.counts = counts
        for request in 0..<(10 * second) {
            interval.record(Int64(4_000 + 10 * request), .firstByte)
            interval.record(Int64(4_000 + 10 * request), .firstByteUncorrected)
            interval.record(Int64(9_000 + 20 * request), .total)
            interval.record(Int64(9_000 + 20 * request), .totalUncorrected)
        }
        for viewer in 0..<5 { interval.record(Int64(300_000 + 1_000 * viewer * shard), .startup) }
        if second > 30 { for _ in 0..<4 { interval.record(625_000, .stall) } }
        return interval
    }

    /// One that was stopped before anything ended.
    static func nothing() -> LoadResult {
        var result = LoadResult()
        result.ending = .interrupted
        return result
    }
}
