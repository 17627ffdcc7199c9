import EventLoop
import Synchronization

/// Wakes the task that sleeps until the next time it knows, when there may be an earlier one. Safe
/// from any thread.
final class Wakeup: Sendable {
    private struct State {
        /// True if `wake()` found no task asleep.
        var isDue = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func wake() {
        let sleeper = state.withLock { state in
            state.isDue = state.sleeper == nil
            return state.sleeper.take()
        }
        sleeper?.resume()
    }

    /// Sleeps until `time`, nil for no end; until `wake()`, also if that came since the last sleep;
    /// or until the task is cancelled. For one task at a time.
    func sleep<C: Clock>(until time: C.Instant?, clock: C) async where C.Duration == Duration {
        guard let time else { return await sleep() }
        await waitAtMost(clock.now.duration(to: time), clock: clock) { await self.sleep() }
    }

    private func sleep() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run before this; it found no sleeper then.
                    if state.isDue || Task.isCancelled {
                        state.isDue = false
                        return true
                    }
                    state.sleeper = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleeper.take() }?.resume()
        }
    }
}
