import LoadModel
import LoadReport
package import Rendering
import Synchronization

/// Shows the progress of a load test: live on a terminal, otherwise regular lines, or nothing.
///
/// Safe from any thread.
package final class LoadTestDisplay: Sendable {
    private let screen: LiveLines
    private let style: TerminalStyle
    private let progress = Mutex<LoadProgress?>(nil)

    package init(mode: LiveLines.Mode, style: TerminalStyle) {
        screen = LiveLines(mode: mode)
        self.style = style
    }

    /// Starts the display of a run.
    ///
    /// - Parameter step: name of the step; nil for a test that runs once.
    func begin(_ step: String?, _ scenario: LoadScenario) {
        var new = LoadProgress(scenario, cores: 1)
        new.step = step
        progress.withLock { $0 = new }
        screen.begin()
    }

    /// Shows another plan from now on.
    func change(to scenario: LoadScenario) { progress.withLock { $0?.change(to: scenario) } }

    /// Shows a complete second, and the totals up to then.
    ///
    /// - Parameter cores: number of CPUs that the generators can use at once, from 1.
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

    /// Prints a message above the live lines; without them, only a needed one.
    @Sendable package func note(_ text: String, isNeeded: Bool) {
        screen.note(text, isNeeded: isNeeded)
    }

    /// Removes the live lines and restores the terminal.
    package func end() { screen.end() }
}
