import API
import Client
import CoordinatorClient
import Foundation
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

@testable import Worker

/// What the shards of a load test measure, by way of worker, coordinator and PostgreSQL, beside what one who
/// saw all samples would say.
@Suite struct LoadMergeTests {
    @Test func whatShardsMeasureAddsUpWithoutLoss() async throws {
        try await Cluster.with(workers: 0) { cluster in
            var random = SeededRandom(seed: 17)
            var all = LoadInterval(second: 0)
            var intervals: [[LoadInterval]] = [[], []]
            for second in 0..<90 {
                for shard in 0..<2 {
                    var interval = LoadInterval(second: second)
                    for _ in 0..<50 {
                        let value = Int64.random(in: 1...5_000_000, using: &random)
                        interval.record(value, .total)
                        interval.counts.requests.succeeded += 1
                        all.record(value, .total)
                    }
                    intervals[shard].append(interval)
                }
            }
            // More than one report has, handed over all at once.
            let shards = [ScriptedShard(), ScriptedShard()]
            for shard in shards { try cluster.startWorker(loadShards: shard) }
            let test = LoadTestSubmission.script(workers: 2)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shards.allSatisfy { $0.start != nil }
            }
            for shard in shards {
                let number = try #require(shard.start).shard.index
                for interval in intervals[number] { shard.emit(interval) }
                shard.finish()
            }
            var merge = ClusterLoadMerge()
            let seconds = try await cluster.follow(test.id, into: &merge).seconds
            var total = LoadInterval(second: 0)
            for interval in seconds { total.add(interval) }
            #expect(total.counts.requests.succeeded == 9_000)
            #expect(total[.total] == all[.total])
            #expect(seconds.map(\.second) == Array(0..<90))
            #expect(merge.reports.map(\.state) == [.finished, .finished])
            #expect(merge.reports.map(\.counts.requests.succeeded) == [4_500, 4_500])
            #expect(merge.reports.allSatisfy { $0.missingFromSecond == nil })
            let breakdown = try await cluster.client.loadBreakdown(of: test.id, shard: 0).data
            let end = try JSONDecoder().decode(
                LoadShardEnd.self, from: Data(try #require(breakdown).utf8))
            #expect(end.ending == .finished && end.breakdown.targets["script"]?.requests == 1)
        }
    }

    /// Samples of `count` shards, second by second: each shard has its own median, and a tail that is a thousand
    /// times as long.
    private struct Samples {
        static let metrics: [LoadMetric] = [.total, .firstByte, .startup]
        static let warmUpSeconds = 3
        static let seconds = 13

        var intervals: [[LoadInterval]]
        /// All that count, in one histogram.
        var one = LoadInterval(second: 0)
        var values: [LoadMetric: [Int64]] = [:]

        init(shards count: Int) {
            var random = SeededRandom(seed: 41)
            intervals = [[LoadInterval]](repeating: [], count: count)
            for second in 0..<Self.seconds {
                for shard in 0..<count {
                    var interval = LoadInterval(second: second)
                    interval.isMeasured = second >= Self.warmUpSeconds
                    // Of some shards nothing ends within some seconds.
                    for _ in 0..<((second + shard) % 7 == 0 ? 0 : 600) {
                        for metric in Self.metrics {
                            let tail = Double.random(in: 0..<1, using: &random)
                            let value = Int64(
                                300 * Double(shard + metric.rawValue + 1) / (1.001 - tail))
                            interval.record(value, metric)
                            guard interval.isMeasured else { continue }
                            one.record(value, metric)
                            values[metric, default: []].append(value)
                        }
                        interval.counts.requests.succeeded += 1
                    }
                    intervals[shard].append(interval)
                }
            }
        }
    }

    @Test func percentilesOverEightWorkersAreThoseOfOneHistogramOfAllSamples() async throws {
        try await Cluster.with(workers: 0, coordinators: 2) { cluster in
            let shards = (0..<8).map { _ in ScriptedShard() }
            for (index, shard) in shards.enumerated() {
                try cluster.startWorker(port: cluster.ports[index % 2], loadShards: shard)
            }
            let test = LoadTestSubmission.script(workers: 8)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shards.allSatisfy { $0.start != nil }
            }
            let samples = Samples(shards: 8)
            // Half of them second by second as time goes by, the others with all that they have at once.
            for second in 0..<Samples.seconds {
                for shard in shards {
                    let number = try #require(shard.start).shard.index
                    let isEager = number % 2 == 0
                    guard !isEager || second == 0 else { continue }
                    let some = samples.intervals[number]
                    for interval in isEager ? some : [some[second]] { shard.emit(interval) }
                }
            }
            for shard in shards { shard.finish() }
            var merge = ClusterLoadMerge()
            var recorder = LoadRecorder()
            for interval in try await cluster.follow(test.id, into: &merge).seconds {
                _ = recorder.add(interval, of: 1)
            }
            #expect(merge.reports.map(\.state) == Array(repeating: .finished, count: 8))
            #expect(recorder.result.seconds.map(\.second) == Array(0..<Samples.seconds))
            for metric in Samples.metrics {
                let merged = try #require(recorder.result.total[metric])
                let sorted = try #require(samples.values[metric]).sorted()
                Self.compare(merged, try #require(samples.one[metric]), sorted)
            }
        }
    }

    private static func compare(_ merged: Histogram, _ one: Histogram, _ sorted: [Int64]) {
        // Bin by bin, the least value, the longest and the sum included.
        #expect(merged == one && merged.encoded == one.encoded)
        #expect(merged.total == Int64(sorted.count) && sorted.count > 20_000)
        #expect(merged.minimum == sorted.first && merged.maximum == sorted.last)
        #expect(merged.mean == Double(sorted.reduce(0, +)) / Double(sorted.count))
        for quantile in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.999_9, 1] {
            let value = merged.value(quantile: quantile)
            #expect(value == one.value(quantile: quantile))
            let rank = Int((quantile * Double(sorted.count) * (1 - 1e-12)).rounded(.up))
            let sample = sorted[rank - 1]
            #expect((0...sample / 1_000).contains(value - sample), "\(quantile)")
        }
    }
}
