import Glibc
import Services
import Synchronization

/// Lines on a terminal that are redrawn in place, regular lines without a terminal, or nothing.
///
/// Safe from any thread; log lines are printed above the live lines.
package final class LiveLines: Sendable {
    package enum Mode: Sendable {
        case quiet
        case plain
        case live
    }

    private struct State {
        /// The lines on the terminal now.
        var lines: [String] = []
        var isLive = false
        var hasEnded = false
        /// True while a question stands on the terminal.
        var isPaused = false
        var plainLines = LineSchedule()
    }

    let mode: Mode
    private let state = Mutex(State())

    /// Returns `live` if stderr is a terminal that supports more than plain text.
    package static func mode(isQuiet: Bool, environment: [String: String]) -> Mode {
        if isQuiet { return .quiet }
        let isTerminal = isatty(STDERR_FILENO) == 1 && environment["TERM"] ?? "dumb" != "dumb"
        return isTerminal ? .live : .plain
    }

    init(mode: Mode) { self.mode = mode }

    /// Starts the time to the first plain line, unless one was shown before.
    func begin() { state.withLock { $0.plainLines.begin(at: .now) } }

    /// Shows the current lines in the form of the mode.
    ///
    /// - Parameters:
    ///   - live: returns at most `rows` lines of `columns` columns.
    ///   - plain: returns the single line without a terminal.
    func show(live: (_ columns: Int, _ rows: Int) -> [String], plain: () -> String) {
        state.withLock { state in
            guard !state.hasEnded, !state.isPaused else { return }
            switch mode {
            case .quiet: return
            case .plain:
                if state.plainLines.isDue(at: .now) { Console.note(plain()) }
            case .live:
                begin(&state)
                let size = Self.terminalSize()
                // The last column stays free: a full line would wrap on some terminals.
                let lines = live(size.columns - 1, size.rows - 1)
                writeAll(Self.frame(lines, over: state.lines.count), to: STDERR_FILENO)
                state.lines = lines
            }
        }
    }

    /// Prints a message above the lines; in quiet mode only if it is needed.
    func note(_ text: String, isNeeded: Bool = false) {
        guard isNeeded || mode != .quiet else { return }
        print("dray: \(text)\n")
    }

    /// Removes the live lines and restores the terminal.
    func end() {
        LogOutput.redirect(to: nil)
        state.withLock { state in
            state.hasEnded = true
            if state.isPaused { writeAll("\n", to: STDERR_FILENO) }
            state.isPaused = false
            Self.clear(&state)
        }
    }

    /// Removes the live lines until `resume`, so that a question can stand on the terminal.
    func pause() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.isPaused = true
            // Live lines are written over what the terminal shows of Ctrl-C.
            if !state.isLive { writeAll("\n", to: STDERR_FILENO) }
            Self.clear(&state)
        }
    }

    /// Shows the live lines again at the next `show`.
    ///
    /// - Parameter breaksLine: true if the cursor is behind the question.
    func resume(breaksLine: Bool) {
        state.withLock { state in
            guard state.isPaused else { return }
            state.isPaused = false
            if breaksLine { writeAll("\n", to: STDERR_FILENO) }
        }
    }

    private static func clear(_ state: inout State) {
        guard state.isLive else { return }
        state.isLive = false
        writeAll(frame([], over: state.lines.count) + "\u{1B}[?25h", to: STDERR_FILENO)
        state.lines = []
    }

    private func begin(_ state: inout State) {
        guard !state.isLive else { return }
        state.isLive = true
        LogOutput.redirect { [weak self] line in self?.print(line) }
        writeAll("\u{1B}[?25l", to: STDERR_FILENO)
    }

    private func print(_ text: String) {
        state.withLock { state in
            guard state.isLive else {
                writeAll(text, to: STDERR_FILENO)
                return
            }
            let frame = Self.frame([], over: state.lines.count) + text
            writeAll(frame + Self.frame(state.lines, over: 0), to: STDERR_FILENO)
        }
    }

    /// Returns one write that replaces the `rows` lines before the cursor. Each line is overwritten
    /// and its rest cleared, so that nothing flickers.
    static func frame(_ lines: [String], over rows: Int) -> String {
        let up = rows > 0 ? "\u{1B}[\(rows)A" : ""
        return "\r" + up + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }

    /// Returns the columns of a terminal; nil for any other file.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    static func terminalSize() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return (80, 24)
        }
        return (max(20, Int(size.ws_col)), max(3, Int(size.ws_row)))
    }
}
