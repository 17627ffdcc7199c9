import Dispatch
import Model
import Storage
import Synchronization
import Transfer

/// Puts what was fetched under its key, batch after batch: what comes in during one is the next. And
/// has the next transfers begun for those that have ended. Safe from any thread.
final class TransferCommits: Sendable {
    struct Totals: Sendable {
        var ended = 0
        var failed = 0
        var firstFailure: Failure?
        var bytes: Int64 = 0
    }

    private struct State {
        var waiting: [Fetched] = []
        var isBusy = false
        var isStopped = false
        /// Transfers that were begun and have not ended.
        var open = 0
        var begun = 0
        /// How many there are to be; nil for as many as there can be until `stop`.
        var target: Int? = 0
        var totals = Totals()
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let storage: DirectoryStorage
    /// How many there are at a time, waiting ones included.
    private let window: Int
    /// Begins the transfers of these numbers.
    private let begin: @Sendable (Range<Int>, TransferCommits) -> Void
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "dray.storage")

    init(
        storage: DirectoryStorage, window: Int,
        begin: @escaping @Sendable (Range<Int>, TransferCommits) -> Void
    ) {
        self.storage = storage
        self.window = window
        self.begin = begin
    }

    var totals: Totals { state.withLock { $0.totals } }

    /// Begins so many more, or without a number as many as there can be until `stop`; returns when
    /// all have ended.
    func run(_ count: Int?) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.continuation = continuation
                state.target = count.map { state.begun + $0 }
            }
            goOn()
        }
    }

    /// Begins none any more; those that end as cancelled from now on count as nothing.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Takes a transfer's result from its loop's thread.
    func add(_ result: TransferResult) {
        switch result.outcome {
        case .failure(let failure):
            end([.failure(failure)])
            queue.async { self.goOn() }
        case .success(let fetched):
            let isIdle = state.withLock { state in
                state.waiting.append(fetched)
                defer { state.isBusy = true }
                return !state.isBusy
            }
            if isIdle { queue.async { self.commitAll() } }
        }
    }

    private func commitAll() {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                state.isBusy = !state.waiting.isEmpty
                return state.waiting
            }
            guard !batch.isEmpty else { return }
            let results = storage.commit(batch.compactMap(\.object))
            end(zip(batch, results).map { fetched, result in result.map { fetched.bytes } })
            goOn()
        }
    }

    private func end(_ results: [Result<Int64, Failure>]) {
        state.withLock { state in
            state.open -= results.count
            for result in results {
                switch result {
                case .success(let bytes): state.totals.bytes += bytes
                case .failure(let failure):
                    if state.isStopped, failure.code == "worker.cancelled" { continue }
                    state.totals.failed += 1
                    if state.totals.firstFailure == nil { state.totals.firstFailure = failure }
                }
                state.totals.ended += 1
            }
        }
    }

    /// Begins what there is room for, or ends when nothing is left.
    private func goOn() {
        let (range, continuation) = state.withLock { state in
            let left = state.isStopped ? 0 : state.target.map { $0 - state.begun } ?? .max
            let range = state.begun..<(state.begun + min(left, window - state.open))
            state.begun = range.upperBound
            state.open += range.count
            guard state.open == 0 else { return (range, CheckedContinuation<Void, Never>?.none) }
            defer { state.continuation = nil }
            return (range, state.continuation)
        }
        continuation?.resume()
        if !range.isEmpty { begin(range, self) }
    }
}
