package import CommandLine
import Glibc
import Model
package import Services
import Synchronization
import Text

/// Writes results to stdout and everything else to stderr.
package enum Console {
    /// The errno value of what stdout did not take; 0 while it has taken everything.
    private static let broken = Atomic<Int32>(0)

    /// Writes to stdout; once that has failed, nothing more. Says so at once, and `ending` at the end.
    package static func write(_ text: String) {
        guard broken.load(ordering: .relaxed) == 0,
            let code = writeAll(text, to: STDOUT_FILENO)
        else { return }
        broken.store(code, ordering: .relaxed)
        // A reader that has gone has read what it wanted: `| head`.
        if code != EPIPE { note("stdout: \(systemErrorText(code)) (input.destination)") }
    }

    /// How the process ends: no success where stdout lacks some of what it was to have.
    package static func ending(_ code: ExitCode) -> ExitCode {
        code == .success && broken.load(ordering: .relaxed) != 0 ? .usage : code
    }

    package static func note(_ text: String) { writeAll("dray: \(text)\n", to: STDERR_FILENO) }

    /// Tells of a command line that cannot be run.
    package static func fail(_ error: UsageError) -> ExitCode {
        let what = printable(Redaction.message(error.message))
        writeAll("dray: \(what) (input.usage)\n\(error.hint)\n", to: STDERR_FILENO)
        return .usage
    }

    /// Tells of an error and what to do about it, and says how the process ends.
    package static func fail(_ error: any Error) -> ExitCode {
        if let error = error as? UsageError { return fail(error) }
        if let error = error as? HintedFailure { return fail(error.failure, hint: error.hint) }
        let failure = error as? Failure ?? Failure("worker.internal", "\(error)")
        if failure.code == "worker.cancelled" { return .interrupted }
        return fail(failure, hint: failure.code.row.hint + "\n")
    }

    private static func fail(_ failure: Failure, hint: String) -> ExitCode {
        let what = "\(printable(Redaction.message(failure.message))) (\(failure.code))"
        writeAll("dray: \(what)\n\(hint)", to: STDERR_FILENO)
        return exitCode(of: failure.code)
    }

    /// What was given wrong is 2; what an origin fails with is 1; what keeps a cluster from being there is 3.
    static func exitCode(of code: FailureCode) -> ExitCode {
        switch code.rawValue.prefix(while: { $0 != "." }) {
        case "input", "storage": .usage
        case "origin", "content", "integrity": .someFailed
        default: .noCluster
        }
    }
}

/// Runs services until they end, then says how the process ends.
///
/// A service stopped by a signal in good order has done its work: success. One that was cut short
/// has not.
package func runServices(_ stages: [[any Service]], graceSeconds: Double) async -> ExitCode {
    do {
        let group = ServiceGroup(
            stages: stages, graceSeconds: graceSeconds, signals: try ProcessSignals.stream())
        switch try await group.run() {
        case .finished, .signalled(_, isForced: false): return .success
        case .signalled(_, isForced: true): return .interrupted
        }
    } catch {
        return Console.fail(error)
    }
}
