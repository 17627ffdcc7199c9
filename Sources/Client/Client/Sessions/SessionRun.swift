package import CommandLine
import Model
package import Services

/// Follows a catalog at a cluster to its end.
package protocol FollowingSession: DrainableService {
    /// True between the start of `run` and its end.
    var isUnderWay: Bool { get }
    /// How the command ends; nil while it runs and when `run` threw.
    var exitCode: ExitCode? { get }
}

/// Runs a session, with a cluster around it or without, until it ends or a signal comes.
package enum SessionRun {
    package static func run(
        _ stages: [[any Service]], _ session: any FollowingSession, _ display: ProgressDisplay
    ) async throws -> ExitCode {
        defer { display.end() }
        let group = ServiceGroup(
            stages: stages + [[StopNotice(session: session, display: display)]],
            graceSeconds: ClientSettings.drainSeconds + 6,
            signals: try ProcessSignals.stream())
        let ending: ServiceGroup.Ending
        do {
            ending = try await group.run()
        } catch {
            display.end()
            throw error
        }
        display.end()
        // A catalog that ended before the signal took hold has its own answer.
        if let exitCode = session.exitCode, exitCode != .interrupted { return exitCode }
        if case .finished = ending, session.exitCode == .interrupted {
            Console.note("another process interrupted the catalog; run the command again to resume")
        } else {
            Console.note("interrupted; run the same command again to resume")
        }
        return .interrupted
    }

    /// Says at once that the command is about to stop; the last service to start.
    private struct StopNotice: DrainableService {
        let name = "notice"
        let session: any FollowingSession
        let display: ProgressDisplay
        private let draining = ShutdownSignal()

        init(session: any FollowingSession, display: ProgressDisplay) {
            self.session = session
            self.display = display
        }

        func run() async throws { await draining.wait() }

        func drain() async {
            draining.trigger()
            guard session.isUnderWay else { return }
            display.note(
                "stopping: current transfers finish or are returned; Ctrl-C again stops "
                    + "at once")
        }
    }
}
