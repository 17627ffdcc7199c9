package import CommandLine
import Services
import Synchronization

/// The state that sessions share: whether one runs, drains or is detached, and how it ended. Safe from
/// any thread.
package final class SessionState: Sendable {
    let draining = ShutdownSignal()
    let detachment = Detachment()
    /// False for a private cluster, which ends with its session.
    private let outlives: Bool
    private let isRunning = Atomic<Bool>(false)
    private let result = Mutex<ExitCode?>(nil)

    init(isEmbedded: Bool) { outlives = !isEmbedded }

    var isUnderWay: Bool { isRunning.load(ordering: .acquiring) }

    var exitCode: ExitCode? { result.withLock { $0 } }

    var canDetach: Bool { outlives && detachment.isPossible }

    func begin() { isRunning.store(true, ordering: .releasing) }

    /// Ends `begin`, with or without an exit code.
    func end() { isRunning.store(false, ordering: .releasing) }

    func set(_ code: ExitCode) { result.withLock { $0 = code } }

    func detach() -> Bool {
        guard canDetach, detachment.detach() else { return false }
        draining.trigger()
        return true
    }
}

extension FollowingSession {
    package var isUnderWay: Bool { state.isUnderWay }
    package var exitCode: ExitCode? { state.exitCode }
    package var canDetach: Bool { state.canDetach }
    package func detach() -> Bool { state.detach() }
    package func drain() async { state.draining.trigger() }
}
