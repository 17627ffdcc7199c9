import API
import Model
package import Rendering
import Synchronization
import Text

/// Shows the progress of a catalog, or of one at several sites: live on a terminal, otherwise regular
/// lines, or nothing.
///
/// Safe from any thread.
package final class ProgressDisplay: Sendable {
    private struct Entry {
        /// Name of the site; nil if the display shows one catalog.
        var site: String?
        var meter = ProgressMeter()
        var status: CatalogStatus?
        var issues = Issues()
        /// Kinds of deadline outlooks that were reported.
        var outlooks: Set<DeadlineOutlook.Kind> = []

        /// Returns a message with the site that it is about.
        func labelled(_ text: String) -> String { site.map { "\(printable($0)): \(text)" } ?? text }

        func text(_ style: TerminalStyle) -> ProgressText? {
            status.map {
                var text = ProgressText(status: $0, meter: meter, style: style)
                (text.issue, text.site) = (issues.text, site)
                return text
            }
        }
    }

    private struct State {
        private(set) var order: [CatalogID] = []
        private var entries: [CatalogID: Entry] = [:]

        subscript(catalog: CatalogID) -> Entry {
            get { entries[catalog] ?? Entry() }
            set {
                if entries[catalog] == nil { order.append(catalog) }
                entries[catalog] = newValue
            }
        }

        var all: [Entry] { order.compactMap { entries[$0] } }
    }

    private let screen: LiveLines
    private let style: TerminalStyle
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// Maximum number of asset lines: more could not be read while they change.
    private static let assetRows = 12

    /// False if only messages that are needed are shown.
    var isShown: Bool { screen.mode != .quiet }

    package init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// True if active assets have their own lines.
    var showsAssets: Bool { screen.mode == .live }

    /// Shows several catalogs from now on, in the order of these calls.
    func add(_ catalog: CatalogID, at site: String) {
        state.withLock { $0[catalog].site = site }
    }

    /// Shows a status, and the failure that blocks the catalog, if any.
    func show(_ status: CatalogStatus, issue: Issues.Issue? = nil) {
        state.withLock { state in
            let isOver = status.state == .running || status.state == .completed
            var entry = state[status.id]
            report(entry.issues.answer(issue, isOver: isOver), entry)
            take(status, &entry)
            reportDeadline(status, &entry)
            state[status.id] = entry
            draw(state)
        }
    }

    /// Times that a catalog waited, by reason, while it was followed.
    func waited(of catalog: CatalogID) -> [WaitHistory.Total] {
        state.withLock { $0[catalog].meter.waits.totals }
    }

    /// A catalog's present reasons to wait.
    func waits(of catalog: CatalogID) -> [CatalogWait] {
        state.withLock { $0[catalog].meter.waits.current }
    }

    /// Reports each kind of a missed deadline once; a terminal shows it in its lines.
    private func reportDeadline(_ status: CatalogStatus, _ entry: inout Entry) {
        guard status.state == .running, let outlook = status.outlook,
            let text = DeadlineText.line(status), entry.outlooks.insert(outlook.kind).inserted,
            screen.mode == .plain
        else { return }
        Console.note(entry.labelled(text))
    }

    /// Shows that the coordinator does not answer a request about a catalog.
    func showNoAnswer(_ text: String, of catalog: CatalogID) {
        state.withLock { state in
            var entry = state[catalog]
            report(entry.issues.noAnswer(text), entry)
            state[catalog] = entry
            draw(state)
        }
    }

    private func take(_ status: CatalogStatus, _ entry: inout Entry) {
        let elapsed = ContinuousClock.now - began
        entry.meter.update(status, atSeconds: elapsed / .seconds(1))
        entry.status = status
    }

    private func report(_ lines: [Issues.Line], _ entry: Entry) {
        for line in lines {
            switch (screen.mode, line) {
            case (.live, _), (.quiet, .relief): continue
            case (_, .issue(let text)), (_, .relief(let text)):
                Console.note(entry.labelled(text))
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
        let entries = state.all.filter { screen.mode == .live || $0.issues.text == nil }
        let texts = entries.compactMap { $0.text(style) }
        guard !texts.isEmpty else { return }
        screen.show(
            live: { columns, rows in
                let share = max(min(rows, Self.assetRows + 1) / texts.count, 1)
                return Array(
                    texts.flatMap { $0.lines(columns: columns, rows: share) }.prefix(rows))
            }, plain: { texts.map(\.plainLine).joined(separator: "\ndray: ") })
    }
}
