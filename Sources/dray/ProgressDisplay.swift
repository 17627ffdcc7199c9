import Glibc
import Model
import Runtime
import Synchronization

/// Shows how far a catalog is: live on a terminal, a line now and then without one, or not at all.
///
/// Safe to use from any thread; log lines are printed above the live lines.
final class ProgressDisplay: Sendable {
    enum Mode: Sendable {
        case quiet
        case plain
        case live
    }

    private struct State {
        var meter = ProgressMeter()
        var status: CatalogStatus?
        var trouble: String?
        var relief = ""
        /// Rows that the live lines take at present.
        var rows = 0
        var isLive = false
        var hasEnded = false
        var lastPlainLine: ContinuousClock.Instant?
    }

    private let mode: Mode
    private let style: TerminalStyle
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// Time between two plain lines.
    private static let plainInterval = Duration.seconds(5)
    /// Most lines of assets: more could not be read while they change.
    private static let assetRows = 12

    /// Live when stderr is a terminal that understands more than plain text.
    static func mode(isQuiet: Bool, environment: [String: String]) -> Mode {
        if isQuiet { return .quiet }
        let isTerminal = isatty(STDERR_FILENO) == 1 && environment["TERM"] ?? "dumb" != "dumb"
        return isTerminal ? .live : .plain
    }

    init(mode: Mode, style: TerminalStyle) {
        self.mode = mode
        self.style = style
    }

    /// Whether what is under way gets lines of its own.
    var showsAssets: Bool { mode == .live }

    /// Takes what the coordinator says now.
    func show(_ status: CatalogStatus) {
        state.withLock { state in
            if state.trouble != nil, mode == .plain { Console.note(state.relief) }
            state.trouble = nil
            let elapsed = ContinuousClock.now - began
            state.meter.update(status, atSeconds: elapsed / .seconds(1))
            state.status = status
            draw(&state)
        }
    }

    /// Says why nothing goes on, once until it does.
    ///
    /// - Parameter relief: what is said then.
    func showTrouble(_ text: String, relief: String = "the coordinator answers again") {
        state.withLock { state in
            let isNew = state.trouble == nil
            state.trouble = text
            state.relief = relief
            switch mode {
            case .quiet, .plain: if isNew { Console.note(text) }
            case .live: draw(&state)
            }
        }
    }

    /// A message above the progress; not shown when quiet.
    func note(_ text: String) {
        guard mode != .quiet else { return }
        print("dray: \(text)\n")
    }

    /// Takes the live lines away and the terminal back to its normal state.
    func end() {
        LogOutput.redirect(to: nil)
        state.withLock { state in
            state.hasEnded = true
            guard state.isLive else { return }
            state.isLive = false
            writeAll(Self.erasure(state.rows) + "\u{1B}[?25h", to: STDERR_FILENO)
            state.rows = 0
        }
    }

    private func print(_ text: String) {
        state.withLock { state in
            guard state.isLive else { return writeAll(text, to: STDERR_FILENO) }
            let frame = Self.erasure(state.rows) + text
            state.rows = 0
            writeAll(frame, to: STDERR_FILENO)
            draw(&state)
        }
    }

    private func draw(_ state: inout State) {
        guard let status = state.status, !state.hasEnded else { return }
        var text = ProgressText(status: status, meter: state.meter, style: style)
        text.trouble = state.trouble
        switch mode {
        case .quiet: return
        case .plain:
            let now = ContinuousClock.now
            if let last = state.lastPlainLine, now - last < Self.plainInterval { return }
            // The first line is due after one interval: a short run needs none.
            if state.lastPlainLine != nil { Console.note(text.plainLine) }
            state.lastPlainLine = now
        case .live:
            if !state.isLive {
                state.isLive = true
                LogOutput.redirect { [weak self] line in self?.print(line) }
                writeAll("\u{1B}[?25l", to: STDERR_FILENO)
            }
            let size = Self.terminalSize()
            // The last column stays free: a full line would wrap on some terminals.
            let lines = text.lines(
                columns: size.columns - 1, rows: min(size.rows - 1, Self.assetRows + 1))
            writeAll(Self.frame(lines, over: state.rows), to: STDERR_FILENO)
            state.rows = lines.count
        }
    }

    /// Lines in the place of the `rows` lines before the cursor, in one write: each line is
    /// overwritten and its rest cleared, so that nothing flickers.
    static func frame(_ lines: [String], over rows: Int) -> String {
        let up = rows > 0 ? "\u{1B}[\(rows)A" : ""
        return "\r" + up + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }

    private static func erasure(_ rows: Int) -> String { frame([], over: rows) }

    static func terminalSize() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return (80, 24)
        }
        return (max(20, Int(size.ws_col)), max(3, Int(size.ws_row)))
    }
}
