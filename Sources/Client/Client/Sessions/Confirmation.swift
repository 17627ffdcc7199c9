package import CommandLine
import Glibc
import Services

/// A question on the terminal before files are deleted.
package enum Confirmation {
    /// Seconds after which a question without an answer counts as no.
    private static let patienceSeconds = 60

    /// Returns true if the answer is yes; false for any other, at the end of the input, and if the task
    /// is cancelled. Throws `unconfirmed` without a terminal.
    package static func ask(
        _ question: String, else unconfirmed: UsageError
    ) async throws(UsageError) -> Bool {
        guard isatty(STDERR_FILENO) == 1 else { throw unconfirmed }
        switch await TerminalQuestion.ask(question, atMost: .seconds(patienceSeconds)) {
        case .line(let text):
            return ["y", "yes"].contains(text.lowercased().filter { !$0.isWhitespace })
        case .noTerminal: throw unconfirmed
        case .none, .endOfInput:
            // The cursor is behind the question.
            writeAll("\n", to: STDERR_FILENO)
            return false
        }
    }
}
