package import CommandLine
import Glibc
import Text

/// Effect of Ctrl-C on a catalog of a cluster that a command follows.
package enum OnInterrupt: String, CaseIterable, Sendable {
    /// Asks on the terminal.
    case ask
    /// Ends the command; the cluster continues.
    case detach
    /// Interrupts the catalog, or cancels the refresh.
    case interrupt

    package static let option = CommandOption(
        "on-interrupt", .choice(placeholder: "WHAT", of: allCases.map(\.rawValue)),
        setting: Settings.onInterrupt,
        help: "What Ctrl-C does with a cluster: detach leaves the catalog to it, interrupt stops "
            + "the catalog, ask asks on the terminal. Default: $DRAY_ON_INTERRUPT, or else ask on a "
            + "terminal and interrupt without one.")

    /// Seconds after which a question without an answer is taken as `detach`: nothing is lost by
    /// that, and the catalog can still be stopped.
    static let patienceSeconds = 30

    /// Returns the choice of the command line, the environment or the configuration file.
    ///
    /// Throws a `UsageError` for another word.
    package static func chosen() throws(UsageError) -> OnInterrupt {
        let variable = Settings.onInterrupt.variable
        guard let text = ClientSettings.environment[variable], !text.isEmpty else {
            return isatty(STDERR_FILENO) == 1 ? .ask : .interrupt
        }
        guard let choice = OnInterrupt(rawValue: text) else {
            throw UsageError(
                "\(ClientSettings.source(of: variable)) is '\(printable(String(text.prefix(100))))'",
                hint: "Use ask, detach or interrupt.")
        }
        return choice
    }
}

/// Commands that messages name for a catalog that continues without this process.
package enum CatalogHints {
    /// Follows the events of a catalog until it ends.
    package static let follow = "dray watch"
    /// Stops a catalog.
    package static let stop = "dray catalog cancel"
}
