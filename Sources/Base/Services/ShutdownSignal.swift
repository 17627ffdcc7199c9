import EventLoop
import Synchronization

/// An event that happens at most once and that any number of tasks can await.
///
/// Safe from any thread; `trigger` may be called more than once.
package final class ShutdownSignal: Sendable {
    private struct State {
        var isTriggered = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// True from the first `trigger` on; loops check it between two steps.
    package var isDraining: Bool { state.withLock { $0.isTriggered } }

    /// Wakes all present and future waiters.
    package func trigger() {
        let waiters = state.withLock { state in
            state.isTriggered = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Waits until the signal was triggered, or the calling task is cancelled.
    package func wait() async {
        let number = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run before this; it found no waiter then.
                    if state.isTriggered || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// Waits at most `duration`; returns true if the signal was triggered by then.
    package func wait(atMost duration: Duration) async -> Bool {
        await waitAtMost(duration) { await self.wait() }
        return isDraining
    }
}
