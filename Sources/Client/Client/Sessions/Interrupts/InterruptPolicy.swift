import Glibc
import Services

/// Decides what signals do to a followed catalog. A value; its owner performs the actions.
///
/// States: following can move to asking, and to decided. Asking can move to following, and to
/// decided. Decided is the last state, in which every signal is passed on.
struct InterruptPolicy: Sendable {
    enum Event: Hashable, Sendable {
        /// A signal; `canDetach` is true while the catalog runs without its submitter.
        case signal(Int32, canDetach: Bool)
        case answer(TerminalQuestion.Answer)
    }

    enum Action: Hashable, Sendable {
        /// Asks on the terminal, and follows meanwhile.
        case ask
        /// Asks again after an answer that is none of the choices.
        case repeatQuestion
        /// Continues to follow.
        case follow
        /// Leaves the catalog to the cluster; if it has ended meanwhile, passes the signal on.
        case detach(signal: Int32)
        /// Passes a signal on to the services, which interrupt the catalog.
        case pass(signal: Int32)
        case nothing
    }

    private enum State: Hashable, Sendable {
        case following
        case asking
        case decided
    }

    private let choice: OnInterrupt
    private var state = State.following

    /// - Parameter hasChoice: false for a session that a signal can only stop: then there is no
    ///   question.
    init(_ choice: OnInterrupt, hasChoice: Bool = true) {
        self.choice = choice == .ask && !hasChoice ? .interrupt : choice
    }

    mutating func handle(_ event: Event) -> Action {
        switch (state, event) {
        case (.following, .signal(let number, canDetach: true)):
            switch choice {
            case .ask where number == SIGINT:
                state = .asking
                return .ask
            case .ask, .interrupt: return decide(.pass(signal: number))
            case .detach: return decide(.detach(signal: number))
            }
        case (_, .signal(let number, _)): return decide(.pass(signal: number))
        case (.asking, .answer(.none)): return decide(.detach(signal: SIGINT))
        case (.asking, .answer(.endOfInput)), (.asking, .answer(.noTerminal)):
            return decide(.pass(signal: SIGINT))
        case (.asking, .answer(.line(let text))): return take(text)
        case (.following, .answer), (.decided, .answer): return .nothing
        }
    }

    private mutating func take(_ line: String) -> Action {
        switch line.lowercased().filter({ !$0.isWhitespace }) {
        case "d", "detach": return decide(.detach(signal: SIGINT))
        case "i", "interrupt": return decide(.pass(signal: SIGINT))
        case "c", "continue":
            state = .following
            return .follow
        default: return .repeatQuestion
        }
    }

    private mutating func decide(_ action: Action) -> Action {
        state = .decided
        return action
    }
}
