import Synchronization

/// Wakes long polls when there may be work. Safe from any thread.
///
/// A version number closes the gap between looking for work and waiting for it: a signal that came
/// in between is not missed.
final class WorkSignal: Sendable {
    private struct State {
        var version = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// What `wait` is told, read before looking for work.
    var version: Int { state.withLock { $0.version } }

    var waiterCount: Int { state.withLock { $0.waiters.count } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Wakes everyone who waits.
    func fire() {
        let waiters = state.withLock { state in
            state.version += 1
            defer { state.waiters.removeAll() }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Wakes everyone, for good: nobody waits any more.
    func close() {
        state.withLock { $0.isClosed = true }
        fire()
    }

    /// Returns when there was a signal after `version`, or after `duration`.
    func wait(after version: Int, atMost duration: Duration) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        var timer: Task<Void, Never>?
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.version != version || state.isClosed || Task.isCancelled {
                        return true
                    }
                    state.waiters[number] = continuation
                    return false
                }
                guard !isOver else { return continuation.resume() }
                // Only now: a timer that goes off before there is a waiter would wake nobody.
                timer = Task { [weak self] in
                    try? await Task.sleep(for: duration)
                    self?.release(number)
                }
            }
        } onCancel: {
            release(number)
        }
        timer?.cancel()
    }

    private func release(_ number: Int) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
}
