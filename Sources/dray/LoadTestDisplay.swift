import LoadReport
import LoadTest
import Runtime
import Synchronization

/// Shows how a load test goes: live on a terminal, a line now and then without one, or not at all.
///
/// Safe to use from any thread.
final class LoadTestDisplay: Sendable {
    private let screen: LiveLines
    private let style: TerminalStyle
    private let cores: @Sendable () -> Int
    private let progress = Mutex<LoadProgress?>(nil)

    /// - Parameter cores: that the generators' loops have, as far as that is known.
    init(mode: LiveLines.Mode, style: TerminalStyle, cores: @escaping @Sendable () -> Int) {
        screen = LiveLines(mode: mode)
        self.style = style
        self.cores = cores
    }

    /// A run begins.
    ///
    /// - Parameter step: which of several; nil for a test that runs once.
    func begin(_ step: String?, _ scenario: LoadScenario) {
        var new = LoadProgress(scenario, cores: cores())
        new.step = step
        progress.withLock { $0 = new }
    }

    /// Takes a second that is over, with all that counts up to then.
    func show(_ interval: LoadInterval, _ result: LoadResult) {
        progress.withLock { progress in
            progress?.cores = max(cores(), 1)
            progress?.add(interval, of: result)
            guard let progress else { return }
            screen.show(
                live: { progress.lines(columns: $0, rows: $1, style: style) },
                plain: { progress.plainLine })
        }
    }

    /// Takes the live lines away and the terminal back to its normal state.
    func end() { screen.end() }
}
