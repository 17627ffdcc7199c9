import EventLoop
import Synchronization

/// Decides how many jobs a worker holds: one for each connection, and a reserve, so that no
/// connection idles before the next grant. Safe from any thread.
///
/// The reserve is 0.3 seconds of work at the rate at which jobs end. So small objects come in large
/// batches, and of objects that take seconds no worker holds one that another could begin.
final class LeasePace: Sendable {
    private struct State {
        /// Jobs ended per second: a rise counts at once up to a bound, a fall by half.
        var rate = 0.0
        var ended = 0
        /// As of the last level.
        var connections = 0
        var since: ContinuousClock.Instant
        /// Maximum of jobs to hold after some were given back, and its end.
        var bound: (jobs: Int, until: ContinuousClock.Instant)?
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
    /// Length after which a measurement ends with any number of jobs.
    private static let longWindowSeconds = 0.3

    /// Counts jobs that ended, and wakes the lease loop after the number that it waits for.
    func ended(_ count: Int, now: ContinuousClock.Instant = .now) {
        let waiter = state.withLock { state in
            state.ended += count
            let seconds = state.since.duration(to: now) / .seconds(1)
            // Files that are already stored end many at once and predict little.
            let most = max(4 * state.rate, Self.surelyPossible)
            let rate = min(Double(state.ended) / max(seconds, Self.windowSeconds), most)
            // Jobs that began together may end together: one for each connection shows no rise.
            if seconds >= Self.longWindowSeconds
                || seconds >= Self.windowSeconds
                    && (state.ended > state.connections || rate <= state.rate)
            {
                state.rate = max(rate, (state.rate + rate) / 2)
                state.ended = 0
                state.since = now
            }
            state.awaited -= count
            return state.awaited <= 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// The number of jobs to hold, and that at which to request more.
    struct Level: Equatable {
        var jobs: Int
        /// Few requests for many small objects; one for each object that takes seconds.
        var refill: Int

        init(connections: Int, reserve: Int) {
            jobs = connections + reserve
            refill = reserve > 0 ? connections + reserve / 2 : connections - 1
        }

        /// Returns how many jobs to request with `count` in hand; 0 for enough.
        func wanted(inHand count: Int) -> Int { count > refill ? 0 : jobs - count }
    }

    /// Returns the level for this many connections, of at most `most` jobs.
    func level(
        connections: Int, most: Int, now: ContinuousClock.Instant = .now
    ) -> Level {
        state.withLock { $0.connections = connections }
        return Level(
            connections: min(connections, most),
            reserve: min(reserve(now: now), max(most - connections, 0)))
    }

    /// Returns how many jobs end within the time of the reserve.
    func reserve(now: ContinuousClock.Instant = .now) -> Int {
        state.withLock { state in
            let seconds = state.since.duration(to: now) / .seconds(1)
            // Without an end for longer than that, the rate is of earlier jobs.
            let isPast = seconds > Self.reserveSeconds
            let rate = isPast ? min(state.rate, Double(state.ended + 1) / seconds) : state.rate
            return Int(rate * Self.reserveSeconds)
        }
    }

    /// Bounds the jobs in hand for a while, because others can begin those that were given back.
    func bound(to jobs: Int, until end: ContinuousClock.Instant) {
        state.withLock { $0.bound = (jobs, end) }
    }

    /// Returns the bound of the jobs in hand; nil for none.
    func bound(now: ContinuousClock.Instant = .now) -> Int? {
        state.withLock { state in
            if let bound = state.bound, bound.until <= now { state.bound = nil }
            return state.bound?.jobs
        }
    }

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
