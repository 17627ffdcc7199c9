import LoadModel
import LoadReport
package import Rendering
import Synchronization

/// Shows how a load test goes: live on a terminal, a line now and then without one, or not at all.
///
/// Safe to use from any thread.
package final class LoadTestDisplay: Sendable {
    private let screen: LiveLines
    private let style: TerminalStyle
    private let progress = Mutex<LoadProgress?>(nil)

    package init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// A run begins.
    ///
    /// - Parameter step: which of several; nil for a test that runs once.
    func begin(_ step: String?, _ scenario: LoadScenario) {
        var new = LoadProgress(scenario, cores: 1)
        new.step = step
        progress.withLock { $0 = new }
    }

    /// Takes a second that is over, with all that counts up to then.
    ///
    /// - Parameter cores: CPUs that the generators can use at once, from 1.
    func show(_ interval: LoadInterval, _ result: LoadResult, cores: Int) {
        progress.withLock { progress in
            progress?.cores = cores
            progress?.add(interval, of: result)
            guard let progress else { return }
            screen.show(
                live: { progress.lines(columns: $0, rows: $1, style: style) },
                plain: { progress.plainLine })
        }
    }

    /// Tells something above the live lines; what is not needed only where these are shown.
    @Sendable package func note(_ text: String, isNeeded: Bool) {
        screen.note(text, isNeeded: isNeeded)
    }

    /// Takes the live lines away and the terminal back to its normal state.
    package func end() { screen.end() }
}
