package import CommandLine
import Glibc
import Model
package import Services
import Synchronization
import Text

/// Writes results to stdout and everything else to stderr.
package enum Console {
    /// The errno of a failed write to stdout; 0 if none failed.
    private static let broken = Atomic<Int32>(0)

    /// Writes to stdout, unless an earlier write failed. Reports the first failure at once;
    /// `ending` returns its code.
    package static func write(_ text: String) {
        guard broken.load(ordering: .relaxed) == 0,
            let code = writeAll(text, to: STDOUT_FILENO)
        else { return }
        broken.store(code, ordering: .relaxed)
        // A closed pipe is no error: its reader, such as `| head`, has enough.
        if code != EPIPE { note("stdout: \(systemErrorText(code)) (input.destination)") }
    }

    /// Returns the exit code: no success if a write to stdout failed.
    package static func ending(_ code: ExitCode) -> ExitCode {
        code == .success && broken.load(ordering: .relaxed) != 0 ? .usage : code
    }

    package static func note(_ text: String) { writeAll("dray: \(text)\n", to: STDERR_FILENO) }

    /// Reports an invalid command line.
    package static func fail(_ error: UsageError) -> ExitCode {
        let what = printable(Redaction.message(error.message))
        writeAll("dray: \(what) (input.usage)\n\(error.hint)\n", to: STDERR_FILENO)
        return .usage
    }

    /// Reports an error with a hint, and returns the exit code.
    package static func fail(_ error: any Error) -> ExitCode {
        if let error = error as? UsageError { return fail(error) }
        let failure = error as? Failure ?? Failure(.workerInternal, "\(error)")
        if failure.code == .workerCancelled { return ExitCode(failure.code) }
        let what = "\(printable(Redaction.message(failure.message))) (\(failure.code))"
        // It may come from a coordinator, and may have several lines.
        let hint = failure.hint.split(separator: "\n").map { printable(String($0)) + "\n" }.joined()
        writeAll("dray: \(what)\n\(hint)", to: STDERR_FILENO)
        return ExitCode(failure.code)
    }
}

/// Runs services until they end, and returns the exit code.
///
/// A service that a signal stops in order succeeded; one that was forced did not.
package func runServices(
    _ stages: [[any Service]], graceSeconds: Double, hangUp: (@Sendable () -> Void)? = nil
) async -> ExitCode {
    do {
        let group = ServiceGroup(
            stages: stages, graceSeconds: graceSeconds,
            signals: try ProcessSignals.stream(hangUp: hangUp))
        switch try await group.run() {
        case .finished, .signalled(_, isForced: false): return .success
        case .signalled(_, isForced: true): return .interrupted
        }
    } catch {
        return Console.fail(error)
    }
}
