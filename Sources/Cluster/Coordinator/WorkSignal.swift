import EventLoop
import Synchronization

/// Wakes long polls when there may be jobs. Safe from any thread.
///
/// A version number closes the gap between a query and the wait: a signal in between is not missed.
final class WorkSignal: Sendable {
    private struct State {
        var version = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
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

    /// Waits for a signal after `version`, or until the task is cancelled.
    private func wait(after version: Int) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.version != version || state.isClosed || Task.isCancelled {
                        return true
                    }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }
}
