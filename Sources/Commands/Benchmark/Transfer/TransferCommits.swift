import Dispatch
import Model
import Storage
import Synchronization
import Transfer

/// Commits fetched objects to their keys in batches; objects that arrive during one batch are the
/// next. Starts new transfers for ended ones. Safe from any thread.
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
        /// Number of started transfers that have not ended.
        var open = 0
        var begun = 0
        /// Total number of transfers to start; nil for no limit until `stop`.
        var target: Int? = 0
        var totals = Totals()
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let storage: DirectoryStorage
    /// Maximum number of concurrent transfers, including waiting ones.
    private let window: Int
    /// Starts the transfers with these numbers.
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

    /// Starts `count` more transfers, or without a count any number until `stop`; returns when all
    /// have ended.
    func run(_ count: Int?) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.continuation = continuation
                state.target = count.map { state.begun + $0 }
            }
            proceed()
        }
    }

    /// Starts no more transfers; those that are cancelled from now on do not count.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Handles a transfer's result on its loop's thread.
    func add(_ result: TransferResult) {
        switch result.outcome {
        case .failure(let failure):
            end([.failure(failure)])
            queue.async { self.proceed() }
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
            proceed()
        }
    }

    private func end(_ results: [Result<Int64, Failure>]) {
        state.withLock { state in
            state.open -= results.count
            for result in results {
                switch result {
                case .success(let bytes): state.totals.bytes += bytes
                case .failure(let failure):
                    if state.isStopped, failure.code == .workerCancelled { continue }
                    state.totals.failed += 1
                    if state.totals.firstFailure == nil { state.totals.firstFailure = failure }
                }
                state.totals.ended += 1
            }
        }
    }

    /// Starts transfers within the window, or ends when none is left.
    private func proceed() {
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
