import Model
import Services
import Synchronization
import Text

/// Why the last requests for work failed, and how long the next one waits. Safe from any thread.
final class LeaseFailures: Sendable {
    private struct State {
        var count = 0
        var failure: Failure?
    }

    private let log: Logger
    private let state = Mutex(State())

    init(log: Logger) { self.log = log }

    /// What a coordinator refused the last requests with, for heartbeats. Once is nothing, and whoever follows a
    /// catalog sees by himself that no coordinator answers.
    var toReport: Failure? { state.withLock { $0.failure } }

    func succeeded() { state.withLock { $0 = State() } }

    /// Takes note of a failure; answers how long to wait before the next request.
    func failed(_ failure: Failure) -> Duration {
        let isReported = !failure.code.isOfUnavailableCluster
        let message = printable(String(failure.message.prefix(WireLimits.reasonCharacters / 4)))
        let count = state.withLock { state in
            state.count += 1
            let isFirst = state.count == 1
            state.failure = isReported && !isFirst ? Failure(failure.code, message) : nil
            return state.count
        }
        if count == 1 {
            log.warning(
                "cannot lease jobs", ["error": "\(failure)", "hint": failure.code.row.hint])
        }
        return .milliseconds(min(100 << min(count, 5), 3_000))
    }
}
