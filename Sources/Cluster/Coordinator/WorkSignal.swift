import EventLoop
import Synchronization

/// Wakes long polls when there may be jobs. Safe from any thread.
///
/// A version number closes the gap between a query and the wait: a signal in between is not missed.
final class WorkSignal: Sendable {
    private typealias Continuations = [Int: CheckedContinuation<Void, Never>]

    private struct State {
        var version = 0
        var nextNumber = 0
        var waiters: Continuations = [:]
        /// Those that wait for a waiter.
        var watchers: Continuations = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// The version for `wait`; read it before the query.
    var version: Int { state.withLock { $0.version } }

    var waiterCount: Int { state.withLock { $0.waiters.count } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Wakes all waiters.
    func fire() {
        let waiters = state.withLock { state in
            state.version += 1
            defer { state.waiters.removeAll() }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Wakes all waiters and prevents further waits.
    func close() {
        state.withLock { $0.isClosed = true }
        fire()
    }

    /// Waits for a signal after `version`, for `duration` at most.
    func wait(after version: Int, atMost duration: Duration) async {
        await waitAtMost(duration) { await self.wait(after: version) }
    }

    /// Waits until somebody waits for a signal, for `duration` at most.
    func waitForWaiter(atMost duration: Duration) async {
        await waitAtMost(duration) {
            await self.wait(among: \.watchers) { !$0.waiters.isEmpty }
        }
    }

    /// Waits for a signal after `version`, or until the task is cancelled.
    private func wait(after version: Int) async {
        await wait(among: \.waiters) { $0.version != version || $0.isClosed }
    }

    /// Waits to be resumed as one of `continuations`, or until the task is cancelled; not at all if
    /// the wait is over already.
    private func wait(
        among continuations: any WritableKeyPath<State, Continuations> & Sendable,
        unless isOver: (State) -> Bool
    ) async {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let woken: [CheckedContinuation<Void, Never>] = state.withLock { state in
                    if isOver(state) || Task.isCancelled { return [continuation] }
                    state[keyPath: continuations][number] = continuation
                    guard !state.waiters.isEmpty else { return [] }
                    defer { state.watchers.removeAll() }
                    return Array(state.watchers.values)
                }
                for continuation in woken { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0[keyPath: continuations].removeValue(forKey: number) }?.resume()
        }
    }
}
