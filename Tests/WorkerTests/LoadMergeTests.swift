import CoordinatorClient
import Foundation
import LoadTest
import Model
import Runtime
import TestSupport
import Testing

@testable import Worker

/// What the shares of a load test measure, by way of worker, coordinator and PostgreSQL, beside what one who
/// saw all samples would say.
@Suite struct LoadMergeTests {
    @Test func whatSharesMeasureAddsUpWithoutLoss() async throws {
        try await Cluster.with(workers: 0) { cluster in
            var random = SeededRandom(seed: 17)
            var all = LoadInterval(second: 0)
            var intervals: [[LoadInterval]] = [[], []]
            for second in 0..<90 {
                for share in 0..<2 {
                    var interval = LoadInterval(second: second)
                    for _ in 0..<50 {
                        let value = Int64.random(in: 1...5_000_000, using: &random)
                        interval.record(value, .total)
                        interval.counts.succeeded += 1
                        all.record(value, .total)
                    }
                    intervals[share].append(interval)
                }
            }
            // More than one report has, handed over all at once.
            let shares = [ScriptedShare(), ScriptedShare()]
            for share in shares { try cluster.startWorker(loadShares: share) }
            let test = LoadTestSubmission.script(workers: 2)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shares.allSatisfy { $0.start != nil }
            }
            for share in shares {
                let number = try #require(share.start).share.index
                for interval in intervals[number] { share.emit(interval) }
                share.finish()
            }
            var merge = ClusterLoadMerge()
            let seconds = try await cluster.follow(test.id, into: &merge).seconds
            var total = LoadInterval(second: 0)
            for interval in seconds { total.add(interval) }
            #expect(total.counts.succeeded == 9_000)
            #expect(total[.total] == all[.total])
            #expect(seconds.map(\.second) == Array(0..<90))
            #expect(merge.reports.map(\.state) == [.finished, .finished])
            #expect(merge.reports.map(\.counts.succeeded) == [4_500, 4_500])
            #expect(merge.reports.allSatisfy { $0.missingFromSecond == nil })
            let breakdown = try await cluster.client.loadBreakdown(of: test.id, share: 0).data
            let end = try JSONDecoder().decode(
                LoadShareEnd.self, from: Data(try #require(breakdown).utf8))
            #expect(end.ending == .finished && end.breakdown.targets["script"]?.requests == 1)
        }
    }
}
