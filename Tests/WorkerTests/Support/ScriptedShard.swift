import API
import Client
import CoordinatorClient
import Foundation
import LoadModel
import Model
import Synchronization

@testable import Worker

/// A shard whose load a test makes up. Safe from any thread.
final class ScriptedShard: LoadShardRunner, PreparedLoadShard {
    private struct State {
        var scenario: String?
        var urls: String?
        var parts: [String] = []
        var changes: [LoadChange] = []
        var start: (shard: LoadShard, nanoseconds: UInt64)?
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
    var urls: String? { state.withLock { $0.urls } }
    /// Those that it got before the start.
    var parts: [String] { state.withLock { $0.parts } }
    var start: (shard: LoadShard, nanoseconds: UInt64)? { state.withLock { $0.start } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func emit(_ interval: LoadInterval) { state.withLock { $0.onInterval }?(interval) }

    func prepare(_ scenario: String, urls: String?) async throws -> any PreparedLoadShard {
        if let failure { throw failure }
        state.withLock { ($0.scenario, $0.urls) = (scenario, urls) }
        return self
    }

    func add(_ part: String, of count: Int) throws { state.withLock { $0.parts.append(part) } }

    /// Those that it got, also before the start.
    var changes: [LoadChange] { state.withLock { $0.changes } }

    func change(_ change: LoadChange) { state.withLock { $0.changes.append(change) } }

    func run(
        _ shard: LoadShard, startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadShardEnd {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.onInterval = onInterval
                state.start = (shard, startNanoseconds)
                if !state.isOver { state.continuation = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
        var end = LoadShardEnd(
            ending: isStopped ? .interrupted : .finished, loadSeconds: 1,
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

extension LoadTestSubmission {
    /// Of a load that `ScriptedShard` makes up, on so many workers and no fewer.
    static func script(workers: Int) -> LoadTestSubmission {
        LoadTestSubmission(
            id: .random(), name: "script", scenario: "a scenario",
            workers: workers, atLeast: workers, waitSeconds: 60, durationSeconds: 60)
    }
}

extension Cluster {
    /// Follows a load test to its end.
    @discardableResult
    func follow(_ id: LoadTestID) async throws -> LoadTestUpdate {
        var merge = ClusterLoadMerge()
        return try await follow(id, into: &merge).update
    }

    /// The same, and puts together what its shards measure.
    func follow(
        _ id: LoadTestID, into merge: inout ClusterLoadMerge
    ) async throws -> (update: LoadTestUpdate, seconds: [LoadInterval]) {
        var known: LoadTestState?
        var seconds: [LoadInterval] = []
        while true {
            let update = try await client.follow(
                id,
                LoadTestFollow(
                    after: merge.after, waitMilliseconds: 1_000, known: known,
                    changes: merge.changes))
            known = update.test.state
            seconds += try merge.take(update)
            if update.test.state == .ended, !update.hasMore { return (update, seconds) }
        }
    }
}
