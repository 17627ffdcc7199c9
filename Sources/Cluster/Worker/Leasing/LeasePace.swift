import EventLoop
import Synchronization

/// Decides how many jobs a worker holds: one for each connection, and a reserve, so that no
/// connection idles before the next grant. Safe from any thread.
///
/// The reserve is 0.3 seconds of work at the rate at which jobs end. So small objects come in large
/// batches, and of objects that take seconds no worker holds one that another could begin. Jobs
/// that began together end together: between two such rounds nothing ends, however high the mean
/// rate, and a reserve would wait for the whole round.
final class LeasePace: Sendable {
    private struct State {
        /// Jobs ended per second: a rise counts at once up to a bound, a fall by half.
        var rate = 0.0
        /// Jobs that ended since `since`.
        var ended = 0
        var lastEnd: ContinuousClock.Instant
        /// The number of connections at the last level.
        var connections = 0
        var since: ContinuousClock.Instant
        /// Maximum of jobs to hold after some were given back, and its end.
        var bound: (jobs: Int, until: ContinuousClock.Instant)?
        /// Number of waits, so that the end of an earlier one cannot end a later one.
        var waits = 0
        var waiter: CheckedContinuation<Void, Never>?
        /// Number of jobs that must still end before the waiter resumes; counted from the mark of
        /// the wait, even before it has a waiter.
        var awaited = 0
        /// What has happened since the start.
        var mark = Mark()

        /// Lowers the rate for the time without an end, which is over now.
        mutating func endPause(now: ContinuousClock.Instant) {
            let seconds = lastEnd.duration(to: now) / .seconds(1)
            lastEnd = now
            guard seconds > LeasePace.reserveSeconds else { return }
            guard seconds > LeasePace.roundSeconds else {
                // No connection ended two jobs meanwhile.
                rate = min(rate, Double(connections) / seconds)
                return
            }
            (rate, ended, since) = (0, 0, now)
        }
    }

    /// The jobs that ended, and the calls of `wake()`, up to some time. A decision reads it first, so
    /// that a wait after the decision misses nothing.
    struct Mark: Sendable, Equatable {
        fileprivate var ended = 0
        fileprivate var wakes = 0
    }

    private let state: Mutex<State>

    init(now: ContinuousClock.Instant = .now) { state = Mutex(State(lastEnd: now, since: now)) }

    /// Seconds of work that a worker holds.
    static let reserveSeconds = 0.3
    /// Seconds without an end after which there is no reserve: jobs end in rounds, or others begin.
    private static let roundSeconds = 1.0
    /// Jobs per second that any worker may reach.
    private static let surelyPossible = 2_000.0
    /// Minimum length of one rate measurement in seconds.
    private static let windowSeconds = 0.03
    /// Length after which a measurement may show a fall.
    private static let longWindowSeconds = 0.3

    /// Counts jobs that ended, and wakes the lease loop after the number that it waits for.
    func ended(_ count: Int, now: ContinuousClock.Instant = .now) {
        let waiter = state.withLock { state in
            if count > 0 { state.endPause(now: now) }
            state.ended += count
            let seconds = state.since.duration(to: now) / .seconds(1)
            // Files that are already stored end many at once and predict little.
            let most = max(4 * state.rate, Self.surelyPossible)
            let rate = min(Double(state.ended) / max(seconds, Self.windowSeconds), most)
            // Jobs that began together may end together: one for each connection shows no rise.
            let isCertain = seconds >= Self.windowSeconds && state.ended > state.connections
            if isCertain || seconds >= Self.longWindowSeconds && rate <= state.rate {
                // Small jobs: others would not begin them sooner.
                if isCertain { state.bound = nil }
                state.rate = max(rate, (state.rate + rate) / 2)
                state.ended = 0
                state.since = now
            }
            state.mark.ended += count
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

    /// Returns how many jobs end within the time of the reserve: none, if none has ended for longer
    /// than that.
    func reserve(now: ContinuousClock.Instant = .now) -> Int {
        state.withLock { state in
            let seconds = state.lastEnd.duration(to: now) / .seconds(1)
            return seconds > Self.reserveSeconds ? 0 : Int(state.rate * Self.reserveSeconds)
        }
    }

    /// Returns true if no job has ended for so long that those under way are large.
    func isPaused(now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { $0.lastEnd.duration(to: now) / .seconds(1) > Self.roundSeconds }
    }

    /// Bounds the jobs in hand for a while, because others can begin those that were given back. It
    /// ends once more jobs have ended since than there are connections.
    func bound(
        to jobs: Int, for duration: Duration, now: ContinuousClock.Instant = .now
    ) {
        state.withLock { state in
            state.bound = (jobs, now + duration)
            (state.ended, state.since) = (0, now)
        }
    }

    /// Returns the bound of the jobs in hand; nil for none.
    func bound(now: ContinuousClock.Instant = .now) -> Int? {
        state.withLock { state in
            if let bound = state.bound, bound.until <= now { state.bound = nil }
            return state.bound?.jobs
        }
    }

    var mark: Mark { state.withLock(\.mark) }

    /// Waits until `count` jobs have ended after `mark`, until `wake()` was called after it, or for
    /// `duration`. For one task at a time.
    func wait(forEnded count: Int = 1, after mark: Mark, atMost duration: Duration) async {
        let (number, old) = state.withLock { state in
            state.waits += 1
            state.awaited =
                state.mark.wakes == mark.wakes ? count - (state.mark.ended - mark.ended) : 0
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
            state.mark.wakes += 1
            state.awaited = 0
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
