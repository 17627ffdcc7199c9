import Synchronization

/// Decides how many jobs a worker holds: enough that no connection idles while the next batch is
/// on its way, few enough that others get their share. Safe from any thread.
///
/// The measure is the rate at which jobs end, so small objects come in large batches and large
/// ones few at a time.
final class LeasePace: Sendable {
    private struct State {
        /// Jobs ended a second: a rise counts at once, though not any, a fall by half.
        var rate = 0.0
        var ended = 0
        var since: ContinuousClock.Instant
        /// Counts the waits, so that the timer of an earlier one cannot end a later one.
        var waits = 0
        var waiter: CheckedContinuation<Void, Never>?
        /// How many more must end before the waiter is woken.
        var awaited = 0
    }

    private let state: Mutex<State>

    init(now: ContinuousClock.Instant = .now) { state = Mutex(State(since: now)) }

    /// How many seconds of work a worker holds.
    private static let reserveSeconds = 0.3
    /// Jobs a second that are believed of a worker of which nothing is known.
    private static let surelyPossible = 2_000.0
    /// How long jobs are counted for one measurement, at least.
    private static let windowSeconds = 0.03

    /// Counts jobs that ended, and wakes the lease loop when it has waited for so many.
    func ended(_ count: Int, now: ContinuousClock.Instant = .now) {
        let waiter = state.withLock { state in
            state.ended += count
            let seconds = state.since.duration(to: now) / .seconds(1)
            if seconds >= Self.windowSeconds {
                // Files that lie there already end many at once, and say little of those to come.
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

    /// How many jobs to hold with this many connections.
    func target(connections: Int, most: Int) -> Int {
        let rate = state.withLock { $0.rate }
        return min(max(2 * connections, Int(rate * Self.reserveSeconds)), most)
    }

    /// What to ask for when so many jobs of slow origins are in hand: no more of them while there are enough to
    /// keep every connection busy for the time of a request.
    static func slowJobs(inHand count: Int, connections: Int) -> Int {
        let most = slowMost(connections: connections)
        return 4 * count > 3 * most ? 0 : most - count
    }

    /// How many jobs of slow origins to hold at most: as many as all connections could be busy with.
    static func slowMost(connections: Int) -> Int { 2 * connections }

    /// Returns when `count` more jobs have ended, at `wake`, or after `duration`. For one task at a
    /// time.
    func wait(forEnded count: Int = 1, atMost duration: Duration) async {
        var timer: Task<Void, Never>?
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let (number, old) = state.withLock { state in
                state.waits += 1
                defer { state.waiter = continuation }
                state.awaited = count
                return (state.waits, state.waiter)
            }
            old?.resume()
            // Only now: a timer that goes off before there is a waiter would wake nobody.
            timer = Task { [weak self] in
                try? await Task.sleep(for: duration)
                self?.end(wait: number)
            }
        }
        timer?.cancel()
    }

    /// Ends a wait now: jobs were reported or lost.
    func wake() {
        state.withLock { $0.waiter.take() }?.resume()
    }

    private func end(wait number: Int) {
        let waiter = state.withLock { state in
            state.waits == number ? state.waiter.take() : nil
        }
        waiter?.resume()
    }
}
