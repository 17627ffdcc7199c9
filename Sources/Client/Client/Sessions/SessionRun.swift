import API
package import CommandLine
import Model
package import Services

/// A session that follows a cluster's catalog to its end.
package protocol FollowingSession: DrainableService {
    var state: SessionState { get }
    /// Its messages about a signal.
    var messages: InterruptMessages { get }
    /// True between the start of `run` and its end.
    var isUnderWay: Bool { get }
    /// The exit code; nil while it runs and if `run` threw.
    var exitCode: ExitCode? { get }
    /// True while its catalog would continue in the cluster without it.
    var canDetach: Bool { get }
    /// Ends the session and leaves its catalog to the cluster; returns false, and does nothing, if
    /// that is not possible.
    func detach() -> Bool
}

/// The outcome of following a catalog.
enum FollowedEnd: Sendable {
    case ended(CatalogStatus)
    /// A signal, or another process, stopped the catalog.
    case interrupted
    /// The catalog was left to the cluster.
    case detached(CatalogID)
}

/// Runs a session, with or without its own cluster, until it ends or a signal arrives.
package enum SessionRun {
    /// - Parameter choice: what a signal does to the catalog.
    package static func run(
        _ stages: [[any Service]], _ session: any FollowingSession, _ display: ProgressDisplay,
        _ choice: OnInterrupt
    ) async throws -> ExitCode {
        defer { display.end() }
        let (passed, sender) = AsyncStream.makeStream(of: Int32.self)
        let received = try ProcessSignals.stream()
        let policy = InterruptPolicy(choice, hasChoice: session.messages.choice != nil)
        let control = InterruptControl(policy: policy, session: session, display: display)
        let listener = Task { await control.run(received) { sender.yield($0) } }
        defer { listener.cancel() }
        let group = ServiceGroup(
            stages: stages + [[StopNotice(session: session, display: display)]],
            graceSeconds: ClientSettings.drainSeconds + 6,
            signals: passed)
        let ending: ServiceGroup.Ending
        do {
            ending = try await group.run()
        } catch {
            display.end()
            throw error
        }
        display.end()
        // A catalog that ended before the signal took effect has its own exit code.
        if let exitCode = session.exitCode, exitCode != .interrupted { return exitCode }
        if case .finished = ending, session.exitCode == .interrupted {
            Console.note(session.messages.interruptedByAnother)
        } else if let text = session.messages.interrupted {
            Console.note(text)
        }
        return .interrupted
    }

    /// Announces at once that the command will stop; the last service to start.
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
            guard session.isUnderWay, let text = session.messages.stopping else { return }
            display.note("stopping: \(text); Ctrl-C again stops at once")
        }
    }
}
