import CoordinatorClient
import Foundation
import LoadTest
import Model
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Workers that take part in load tests, with a coordinator and PostgreSQL; what sends their load is a
/// script.
@Suite struct LoadTestTests {
    private static func test(workers: Int) -> LoadTestSubmission {
        LoadTestSubmission(
            id: UUID().uuidString.lowercased(), name: "script", scenario: "a scenario",
            workers: workers, atLeast: workers, waitSeconds: 60, durationSeconds: 60)
    }

    @Test func allBeginAtOneMomentAndStopTogether() async throws {
        try await Cluster.with(workers: 0, coordinators: 2) { cluster in
            let shares = (0..<3).map { _ in ScriptedShare() }
            for (index, share) in shares.enumerated() {
                try cluster.startWorker(port: cluster.ports[index % 2], loadShares: share)
            }
            let test = Self.test(workers: 3)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shares.allSatisfy { $0.start != nil }
            }
            let starts = shares.compactMap { $0.start }
            #expect(starts.map(\.share.index).sorted() == [0, 1, 2])
            #expect(starts.allSatisfy { $0.share.count == 3 })
            let moments = starts.map(\.nanoseconds)
            let spread = try #require(moments.max()) - (try #require(moments.min()))
            #expect(Double(spread) / 1e9 < 0.05)
            #expect(shares.allSatisfy { $0.scenario == "a scenario" })

            _ = try await cluster.client.stopLoadTest(test.id)
            let news = try await Self.follow(test.id, cluster)
            #expect(news.test.state == .ended)
            #expect(news.test.shares.map(\.state) == [.finished, .finished, .finished])
            #expect(shares.allSatisfy { $0.isStopped })
        }
    }

    @Test func whatSharesMeasureAddsUpWithoutLoss() async throws {
        try await Cluster.with(workers: 0) { cluster in
            var generator = SystemRandomNumberGenerator()
            var all = LoadInterval(second: 0)
            var intervals: [[LoadInterval]] = [[], []]
            for second in 0..<90 {
                for share in 0..<2 {
                    var interval = LoadInterval(second: second)
                    for _ in 0..<50 {
                        let value = Int64.random(in: 1...5_000_000, using: &generator)
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
            let test = Self.test(workers: 2)
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
            let seconds = try await Self.follow(test.id, cluster, into: &merge).seconds
            var total = LoadInterval(second: 0)
            for interval in seconds { total.add(interval) }
            #expect(total.counts.succeeded == 9_000)
            let (merged, one) = (try #require(total[.total]), try #require(all[.total]))
            // Bin by bin; of the least and the longest alone there is no more than the bin.
            #expect(try merged == Histogram(text: one.text))
            for quantile in [0.001, 0.5, 0.9, 0.99, 0.999] {
                #expect(merged.value(quantile: quantile) == one.value(quantile: quantile))
            }
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

    @Test func aWorkerThatIsStoppedLeavesTheTestToTheOthers() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let shares = [ScriptedShare(), ScriptedShare()]
            let workers = try shares.map { try cluster.startWorker(loadShares: $0) }
            let test = Self.test(workers: 2)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shares.allSatisfy { $0.start != nil }
            }
            let leaver = try #require(shares[0].start).share.index
            for second in 0..<3 { shares[0].emit(Self.interval(second)) }
            try await workers[0].drain()
            #expect(shares[0].isStopped && !shares[1].isStopped)
            for second in 0..<5 { shares[1].emit(Self.interval(second)) }
            shares[1].finish()
            var merge = ClusterLoadMerge()
            let seconds = try await Self.follow(test.id, cluster, into: &merge).seconds
            let report = merge.reports[leaver]
            #expect(report.state == .failed && report.missingFromSecond == 3)
            #expect(report.message == "worker.cancelled: Its worker was stopped.")
            #expect(report.worker == "w0" && report.counts.sent == 3)
            #expect(merge.reports[1 - leaver].state == .finished)
            #expect(seconds.map(\.counts.sent) == [2, 2, 2, 1, 1])
        }
    }

    @Test func itFinishesItsJobsFirstAndTakesNoneMeanwhile() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let gate = Gate()
            defer { gate.open() }
            cluster.origin.route("/slow", FaultOrigin.Response(text: "slow").held(at: gate))
            cluster.origin.route("/next", FaultOrigin.Response(text: "next"))
            let share = ScriptedShare()
            try cluster.startWorker(loadShares: share)
            try await cluster.submit([try cluster.file("/slow")])
            try await waitUntil(deadlineSeconds: 20, "the transfer") {
                cluster.origin.requests.contains { $0.path == "/slow" }
            }
            let test = Self.test(workers: 1)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 20, "the join") {
                try await !cluster.client.loadTest(test.id).shares.isEmpty
            }
            #expect(try await cluster.client.loadTest(test.id).shares.map(\.state) == [.joined])
            gate.open()
            try await waitUntil(deadlineSeconds: 60, "the start") { share.start != nil }
            try await cluster.submit([try cluster.file("/next")], catalog: "next")
            share.emit(Self.interval(0))
            try await waitUntil(deadlineSeconds: 20, "a report") {
                try await cluster.client.loadTest(test.id).shares.first?.nextSecond == 1
            }
            #expect(!cluster.origin.requests.contains { $0.path == "/next" })
            share.finish()
            try await waitUntil(deadlineSeconds: 60, "the next job") {
                cluster.origin.requests.contains { $0.path == "/next" }
            }
        }
    }

    @Test func aScenarioThatCannotBePreparedIsTheTestsFailure() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let share = ScriptedShare(failure: Failure("manifest.html", "a web page"))
            try cluster.startWorker(loadShares: share)
            let test = Self.test(workers: 1)
            _ = try await cluster.client.create(test)
            let news = try await Self.follow(test.id, cluster)
            #expect(news.test.failure == Failure("manifest.html", "w0: a web page"))
            #expect(news.test.started == nil && share.start == nil)
        }
    }

    // MARK: Following

    private static func interval(_ second: Int) -> LoadInterval {
        var interval = LoadInterval(second: second)
        interval.counts.sent = 1
        return interval
    }

    /// Follows a test to its end.
    @discardableResult
    private static func follow(
        _ id: LoadTestID, _ cluster: Cluster
    ) async throws -> LoadTestNews {
        var merge = ClusterLoadMerge()
        return try await follow(id, cluster, into: &merge).news
    }

    private static func follow(
        _ id: LoadTestID, _ cluster: Cluster, into merge: inout ClusterLoadMerge
    ) async throws -> (news: LoadTestNews, seconds: [LoadInterval]) {
        var known: LoadTestState?
        var seconds: [LoadInterval] = []
        while true {
            let news = try await cluster.client.follow(
                id,
                LoadTestFollow(after: merge.after, waitMilliseconds: 1_000, known: known))
            known = news.test.state
            seconds += try merge.take(news)
            if news.test.state == .ended, !news.hasMore { return (news, seconds) }
        }
    }
}

/// A share whose load a test makes up. Safe from any thread.
private final class ScriptedShare: LoadShareRunner, PreparedLoadShare {
    private struct State {
        var scenario: String?
        var start: (share: LoadShare, nanoseconds: UInt64)?
        var isStopped = false
        var isOver = false
        var onInterval: (@Sendable (LoadInterval) -> Void)?
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let failure: Failure?
    let cores = 2

    init(failure: Failure? = nil) { self.failure = failure }

    var scenario: String? { state.withLock { $0.scenario } }
    var start: (share: LoadShare, nanoseconds: UInt64)? { state.withLock { $0.start } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func emit(_ interval: LoadInterval) { state.withLock { $0.onInterval }?(interval) }

    func prepare(_ scenario: String) async throws -> any PreparedLoadShare {
        if let failure { throw failure }
        state.withLock { $0.scenario = scenario }
        return self
    }

    func run(
        _ share: LoadShare, startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadShareEnd {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.onInterval = onInterval
                state.start = (share, startNanoseconds)
                if !state.isOver { state.continuation = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
        var end = LoadShareEnd(
            ending: isStopped ? .interrupted : .finished, elapsedSeconds: 1,
            breakdown: LoadBreakdown())
        end.breakdown.targets["script", default: LoadTally()].record(
            bytes: 1, microseconds: 1, isFailure: false)
        return end
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        finish()
    }

    func finish() {
        let continuation = state.withLock { state in
            state.isOver = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }
}
