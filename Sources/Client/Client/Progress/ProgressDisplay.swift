import Model
package import Rendering
import Synchronization

/// Shows how far a catalog is: live on a terminal, a line now and then without one, or not at all.
///
/// Safe to use from any thread.
package final class ProgressDisplay: Sendable {
    private struct State {
        var meter = ProgressMeter()
        var status: CatalogStatus?
        var troubles = Troubles()
        /// Kinds of outlooks of the deadline that were reported.
        var outlooks: Set<DeadlineOutlook.Kind> = []
    }

    private let screen: LiveLines
    private let style: TerminalStyle
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// Most lines of assets: more could not be read while they change.
    private static let assetRows = 12

    package init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// Whether current assets have their own lines.
    var showsAssets: Bool { screen.mode == .live }

    /// Takes what the coordinator says now, and why nothing goes on, if so.
    func show(_ status: CatalogStatus, trouble: Troubles.Trouble? = nil) {
        state.withLock { state in
            let isOver = status.state == .running || status.state == .completed
            tell(state.troubles.answer(trouble, isOver: isOver))
            take(status, &state)
            tellDeadline(status, &state)
            draw(state)
        }
    }

    /// For how long the catalog waited for what, as far as it was followed.
    var waited: [WaitHistory.Total] { state.withLock { $0.meter.waits.totals } }

    /// What the catalog waits for now.
    var waits: [CatalogWait] { state.withLock { $0.meter.waits.current } }

    /// Reports once of each kind that the deadline is not met; a terminal has it among its lines.
    private func tellDeadline(_ status: CatalogStatus, _ state: inout State) {
        guard status.state == .running, let outlook = status.outlook,
            let text = DeadlineText.line(status), state.outlooks.insert(outlook.kind).inserted,
            screen.mode == .plain
        else { return }
        Console.note(text)
    }

    /// Takes why the coordinator does not say how far it is.
    func showNoAnswer(_ text: String) {
        state.withLock { state in
            tell(state.troubles.noAnswer(text))
            draw(state)
        }
    }

    private func take(_ status: CatalogStatus, _ state: inout State) {
        let elapsed = ContinuousClock.now - began
        state.meter.update(status, atSeconds: elapsed / .seconds(1))
        state.status = status
    }

    private func tell(_ lines: [Troubles.Line]) {
        for line in lines {
            switch (screen.mode, line) {
            case (.live, _), (.quiet, .relief): continue
            case (_, .trouble(let text)), (_, .relief(let text)): Console.note(text)
            }
        }
    }

    /// A message above the progress; not shown when quiet.
    func note(_ text: String) { screen.note(text) }

    /// Takes the live lines away and the terminal back to its normal state.
    func end() { screen.end() }

    private func draw(_ state: State) {
        // Without a terminal what is the matter was told, and nothing is to be added.
        guard let status = state.status, screen.mode == .live || state.troubles.text == nil else {
            return
        }
        var text = ProgressText(status: status, meter: state.meter, style: style)
        text.trouble = state.troubles.text
        screen.show(
            live: { columns, rows in
                text.lines(columns: columns, rows: min(rows, Self.assetRows + 1))
            }, plain: { text.plainLine })
    }
}
