import EventLoop
import Synchronization

/// Decides how many jobs a worker holds: enough that no connection idles before the next grant, few
/// enough to leave jobs for others. Safe from any thread.
///
/// The measure is the rate at which jobs end, so small objects come in large batches and large ones
/// few at a time.
final class LeasePace: Sendable {
    private struct State {
        /// Jobs ended per second: a rise counts at once up to a bound, a fall by half.
        var rate = 0.0
        var ended = 0
        var since: ContinuousClock.Instant
        /// Number of waits, so that the end of an earlier one cannot end a later one.
        var waits = 0
        var waiter: CheckedContinuation<Void, Never>?
        /// Number of jobs that must still end before the waiter resumes; counted from the start of
        /// the wait, even before it has a waiter.
        var awaited = 0
    }

    private let state: Mutex<State>

    init(now: ContinuousClock.Instant = .now) { state = Mutex(State(since: now)) }

    /// Seconds of work that a worker holds.
    private static let reserveSeconds = 0.3
    /// Jobs per second that any worker may reach.
    private static let surelyPossible = 2_000.0
    /// Minimum length of one rate measurement in seconds.
    private static let windowSeconds = 0.03

    /// Counts jobs that ended, and wakes the lease loop after the number that it waits for.
    func ended(_ count: Int, now: ContinuousClock.Instant = .now) {
        let waiter = state.withLock { state in
            state.ended += count
            let seconds = state.since.duration(to: now) / .seconds(1)
            if seconds >= Self.windowSeconds {
                // Files that are already stored end many at once and predict little.
                let most = max(4 * state.rate, Self.surelyPossible)
                let rate = min(Double(state.ended) / seconds, most)
                state.rate = max(rate, (state.rate + rate) / 2)
                state.ended = 0
                state.since = now
            }
            state.awaited -= count
            return state.awaited <= 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Returns the number of jobs to hold for this many connections.
    func target(connections: Int, most: Int) -> Int {
        let rate = state.withLock { $0.rate }
        return min(max(2 * connections, Int(rate * Self.reserveSeconds)), most)
    }

    /// Returns how many jobs of slow origins to request: none while enough of them are queued to
    /// keep every connection busy for the time of a request.
    static func slowJobs(inHand count: Int, connections: Int) -> Int {
        let most = slowMost(connections: connections)
        return 4 * count > 3 * most ? 0 : most - count
    }

    /// Returns the maximum number of slow origins' jobs to hold: twice the connections.
    static func slowMost(connections: Int) -> Int { 2 * connections }

    /// Waits until `count` more jobs have ended, until `wake()`, or for `duration`. For one task at
    /// a time.
    func wait(forEnded count: Int = 1, atMost duration: Duration) async {
        let (number, old) = state.withLock { state in
            state.waits += 1
            state.awaited = count
            return (state.waits, state.waiter.take())
        }
        old?.resume()
        await waitAtMost(duration) { await self.waitForWake(number) }
    }

    private func waitForWake(_ number: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run before this; it found no waiter then.
                    if state.awaited <= 0 || state.waits != number || Task.isCancelled {
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waits == number ? $0.waiter.take() : nil }
            waiter?.resume()
        }
    }

    /// Ends a wait now: jobs were reported or lost.
    func wake() {
        let waiter = state.withLock { state in
            state.awaited = 0
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
