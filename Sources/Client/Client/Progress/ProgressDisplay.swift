import API
import Model
package import Rendering
import Synchronization

/// Shows the progress of a catalog: live on a terminal, otherwise regular lines, or nothing.
///
/// Safe from any thread.
package final class ProgressDisplay: Sendable {
    private struct State {
        var meter = ProgressMeter()
        var status: CatalogStatus?
        var troubles = Troubles()
        /// Kinds of deadline outlooks that were reported.
        var outlooks: Set<DeadlineOutlook.Kind> = []
    }

    private let screen: LiveLines
    private let style: TerminalStyle
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// Maximum number of asset lines: more could not be read while they change.
    private static let assetRows = 12

    package init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// True if active assets have their own lines.
    var showsAssets: Bool { screen.mode == .live }

    /// Shows a status, and the failure that blocks the catalog, if any.
    func show(_ status: CatalogStatus, trouble: Troubles.Trouble? = nil) {
        state.withLock { state in
            let isOver = status.state == .running || status.state == .completed
            tell(state.troubles.answer(trouble, isOver: isOver))
            take(status, &state)
            tellDeadline(status, &state)
            draw(state)
        }
    }

    /// Times that the catalog waited, by reason, while it was followed.
    var waited: [WaitHistory.Total] { state.withLock { $0.meter.waits.totals } }

    /// The catalog's present reasons to wait.
    var waits: [CatalogWait] { state.withLock { $0.meter.waits.current } }

    /// Reports each kind of a missed deadline once; a terminal shows it in its lines.
    private func tellDeadline(_ status: CatalogStatus, _ state: inout State) {
        guard status.state == .running, let outlook = status.outlook,
            let text = DeadlineText.line(status), state.outlooks.insert(outlook.kind).inserted,
            screen.mode == .plain
        else { return }
        Console.note(text)
    }

    /// Shows that the coordinator does not answer.
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

    /// Prints a message above the progress; nothing in quiet mode.
    func note(_ text: String) { screen.note(text) }

    /// Removes the live lines while a question stands on the terminal.
    func pause() { screen.pause() }

    /// Shows the progress again.
    ///
    /// - Parameter breaksLine: true if the cursor is behind the question.
    func resume(breaksLine: Bool = false) { screen.resume(breaksLine: breaksLine) }

    /// Removes the live lines and restores the terminal.
    func end() { screen.end() }

    private func draw(_ state: State) {
        // Without a terminal the failure was reported already; further lines add nothing.
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
