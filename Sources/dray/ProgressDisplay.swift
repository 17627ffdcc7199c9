import Model
import Runtime
import Synchronization

/// Shows how far a catalog is: live on a terminal, a line now and then without one, or not at all.
///
/// Safe to use from any thread.
final class ProgressDisplay: Sendable {
    private struct State {
        var meter = ProgressMeter()
        var status: CatalogStatus?
        var trouble: Trouble?
    }

    private let screen: LiveLines
    private let style: TerminalStyle
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// Most lines of assets: more could not be read while they change.
    private static let assetRows = 12

    init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// Whether what is under way gets lines of its own.
    var showsAssets: Bool { screen.mode == .live }

    /// Takes what the coordinator says now.
    func show(_ status: CatalogStatus) {
        state.withLock { state in
            if let trouble = state.trouble, screen.mode == .plain { Console.note(trouble.relief) }
            state.trouble = nil
            take(status, &state)
            draw(state)
        }
    }

    private func take(_ status: CatalogStatus, _ state: inout State) {
        let elapsed = ContinuousClock.now - began
        state.meter.update(status, atSeconds: elapsed / .seconds(1))
        state.status = status
    }

    /// Says why nothing goes on, once until it does or something else is the matter.
    ///
    /// - Parameters:
    ///   - status: what the coordinator says, where it answers.
    ///   - relief: what is said then.
    func showTrouble(
        _ text: String, _ status: CatalogStatus? = nil,
        relief: String = "the coordinator answers again"
    ) {
        state.withLock { state in
            if let status { take(status, &state) }
            let trouble = Trouble(text: text, relief: relief, isOfCoordinator: status == nil)
            let notes = trouble.notes(after: state.trouble)
            state.trouble = trouble
            switch screen.mode {
            case .quiet: if !notes.isEmpty { Console.note(text) }
            case .plain: for note in notes { Console.note(note) }
            case .live: draw(state)
            }
        }
    }

    /// A message above the progress; not shown when quiet.
    func note(_ text: String) { screen.note(text) }

    /// Takes the live lines away and the terminal back to its normal state.
    func end() { screen.end() }

    private func draw(_ state: State) {
        guard let status = state.status else { return }
        var text = ProgressText(status: status, meter: state.meter, style: style)
        text.trouble = state.trouble?.text
        screen.show(
            live: { columns, rows in
                text.lines(columns: columns, rows: min(rows, Self.assetRows + 1))
            }, plain: { text.plainLine })
    }
}

/// Why nothing of a catalog goes on.
struct Trouble {
    var text: String
    /// What is said when it goes on. Troubles that end with the same words are of one kind.
    var relief: String
    /// The coordinator does not say how far it is.
    var isOfCoordinator: Bool

    /// What is worth a line, after the trouble that was told last.
    func notes(after last: Trouble?) -> [String] {
        guard let last else { return [text] }
        if last.relief == relief { return [] }
        return last.isOfCoordinator && !isOfCoordinator ? [last.relief, text] : [text]
    }
}
