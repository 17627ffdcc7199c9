import Model
import Synchronization

/// Resolve jobs that wait for their turn and those that have it. Safe from any thread.
final class TitleQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    typealias Title = LeasedJob

    private struct State {
        var turns = TitleTurns<Title>()
        /// Those that are to give their places back.
        var over: Set<Title> = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    func push(_ title: Title) {
        update { $0.turns.add(title, of: title.job.id, at: hostName(of: title.job.url)) }
    }

    func end(_ turn: Int, _ title: Title) {
        update { state in
            state.turns.end(turn)
            state.over.remove(title)
        }
    }

    /// No more titles will come; those that wait are still handed out.
    func close() { update { $0.isClosed = true } }

    /// The next title, as soon as there is a place for it; nil only after `close`.
    ///
    /// For one task at a time.
    func next() async -> (turn: Int, title: Title)? {
        while true {
            let (next, isOver) = state.withLock { state in
                let next = state.turns.next(now: .now)
                return (next, state.isClosed && !state.turns.isAnyWaiting)
            }
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

    /// Titles that are to give their places back, until they have ended.
    func titlesThatAreOver(now: Instant = .now) -> Set<Title> {
        state.withLock { state in
            state.over = Set(state.turns.titlesThatAreOver(now: now))
            return state.over
        }
    }

    /// Whether a job is to give its place back.
    func isOver(_ title: Title) -> Bool { state.withLock { $0.over.contains(title) } }

    private func update(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
    }
}

/// The host that a URL names, without its port.
private func hostName(of url: String) -> String {
    let origin = (originName(of: url) ?? "").drop { $0 != "/" }.dropFirst(2)
    guard let colon = origin.lastIndex(of: ":"), !origin[colon...].contains("]") else {
        return String(origin)
    }
    return String(origin[..<colon])
}
