import API
import Model
import Synchronization

/// The resolve jobs that wait for a slot, and those that have one. Safe from any thread.
final class TitleQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    typealias Title = Leased<AssetSource>

    private struct State {
        var turns = TitleTurns<Title>()
        /// Titles that must return their slots.
        var over: Set<Title> = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Wakes `nextOver`: a title was added, has started or has ended.
    private let changes = Wakeup()

    func push(_ title: Title) {
        update { $0.turns.add(title, of: title.job.id, at: hostName(of: title.task.url)) }
    }

    func end(_ turn: Int, _ title: Title) {
        update { state in
            state.turns.end(turn)
            state.over.remove(title)
        }
    }

    /// Closes the queue to new titles; waiting ones are still delivered.
    func close() { update { $0.isClosed = true } }

    /// Waits for a slot and returns the next title; nil only after `close()`.
    ///
    /// For one task at a time.
    func next() async -> (turn: Int, title: Title)? {
        while true {
            let (next, isOver) = state.withLock { state in
                let next = state.turns.next(now: .now)
                return (next, state.isClosed && !state.turns.isAnyWaiting)
            }
            if next != nil { changes.wake() }
            if next != nil || isOver { return next }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.turns.mayStart || state.isClosed && !state.turns.isAnyWaiting {
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// Waits until titles must return their slots, and returns them, each once; returns none if the
    /// task is cancelled. For one task at a time.
    func nextOver<C: Clock>(
        clock: C = ContinuousClock()
    ) async -> Set<Title> where C.Instant == Instant, C.Duration == Duration {
        while !Task.isCancelled {
            let now = clock.now
            let (over, check) = state.withLock { state in
                let known = state.over
                state.over = Set(state.turns.titlesThatAreOver(now: now))
                return (state.over.subtracting(known), state.turns.nextCheck(after: now))
            }
            if !over.isEmpty { return over }
            await changes.sleep(until: check, clock: clock)
        }
        return []
    }

    /// Returns true if a title must return its slot.
    func isOver(_ title: Title) -> Bool { state.withLock { $0.over.contains(title) } }

    private func update(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
        changes.wake()
    }
}

/// Returns the host of a URL, without its port.
private func hostName(of url: String) -> String {
    let origin = (originName(of: url) ?? "").drop { $0 != "/" }.dropFirst(2)
    guard let colon = origin.lastIndex(of: ":"), !origin[colon...].contains("]") else {
        return String(origin)
    }
    return String(origin[..<colon])
}
