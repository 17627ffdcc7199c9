import Synchronization

/// Decides how many jobs a worker holds: enough that no connection idles while the next batch is
/// on its way, few enough that others get their share. Safe from any thread.
///
/// The measure is the rate at which jobs end, so small objects come in large batches and large
/// ones few at a time.
final class LeasePace: Sendable {
    private struct State {
        /// Jobs ended a second, smoothed.
        var rate = 0.0
        var ended = 0
        var since = ContinuousClock.now
        var waiter: CheckedContinuation<Void, Never>?
        /// How many more must end before the waiter is woken.
        var awaited = 0
    }

    private let state = Mutex(State())

    /// How many seconds of work a worker holds.
    private static let reserveSeconds = 0.3

    /// Counts jobs that ended, and wakes the lease loop when it has waited for so many.
    func ended(_ count: Int) {
        let waiter = state.withLock { state in
            state.ended += count
            let seconds = state.since.duration(to: .now) / .seconds(1)
            if seconds >= 0.05 {
                let now = Double(state.ended) / seconds
                state.rate = state.rate == 0 ? now : state.rate * 0.5 + now * 0.5
                state.ended = 0
                state.since = .now
            }
            state.awaited -= count
            guard state.awaited <= 0 else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// How many jobs to hold with this many connections.
    func target(connections: Int, most: Int) -> Int {
        let rate = state.withLock { $0.rate }
        return min(max(2 * connections, Int(rate * Self.reserveSeconds)), most)
    }

    /// Returns when `count` more jobs have ended, or after `duration`. For one task at a time.
    func wait(forEnded count: Int = 1, atMost duration: Duration) async {
        let timer = Task { [weak self] in
            try? await Task.sleep(for: duration)
            self?.wake()
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let old = state.withLock { state in
                defer { state.waiter = continuation }
                state.awaited = count
                return state.waiter
            }
            old?.resume()
        }
        timer.cancel()
    }

    private func wake() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
