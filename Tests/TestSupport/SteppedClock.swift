import Synchronization

/// A clock whose time a test sets. A sleep ends when the time reaches its deadline. Safe from any thread.
package final class SteppedClock: Clock {
    package typealias Instant = ContinuousClock.Instant

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant.now
        var sleepers: [Int: Sleeper] = [:]
        var lastSleeper = 0
        /// Tasks that wait for a sleep.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    package let minimumResolution = Duration.zero

    package init() {}

    package var now: Instant { state.withLock(\.now) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (end, waiters) = state.withLock {
                    state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    // The cancellation handler may have run before this; it found no sleeper then.
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    defer { state.waiters = [] }
                    return (nil, state.waiters)
                }
                if let end { continuation.resume(with: end) }
                for waiter in waiters { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number)?.continuation }?
                .resume(throwing: CancellationError())
        }
    }

    /// Sets the time, and ends the sleeps whose deadlines it reaches.
    package func set(_ now: Instant) {
        let over = state.withLock { state in
            state.now = now
            let over = state.sleepers.filter { $0.value.deadline <= now }
            for number in over.keys { state.sleepers[number] = nil }
            return over.values.map(\.continuation)
        }
        for continuation in over { continuation.resume() }
    }

    /// Waits until a task sleeps until `deadline`.
    package func waitForSleep(until deadline: Instant) async {
        await waitForSleep { $0 == deadline }
    }

    /// Waits until a task sleeps; returns the first deadline.
    @discardableResult
    package func waitForSleep(where isWanted: (Instant) -> Bool = { _ in true }) async -> Instant {
        while true {
            let found = state.withLock { $0.sleepers.values.map(\.deadline).filter(isWanted).min() }
            if let found { return found }
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.sleepers.values.contains(where: { isWanted($0.deadline) }) {
                        return true
                    }
                    state.waiters.append(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }
}
