import Model
import Services
import Synchronization
import Text

/// Failures of the last lease requests, and the delay before the next one. Safe from any thread.
final class LeaseFailures: Sendable {
    private struct State {
        var count = 0
        var failure: Failure?
    }

    private let log: Logger
    private let state = Mutex(State())

    private let episodes: FailureEpisodes

    init(log: Logger, episodes: FailureEpisodes = FailureEpisodes()) {
        self.log = log
        self.episodes = episodes
    }

    /// The failure to report in heartbeats, after at least two failed requests. An unavailable
    /// cluster is not reported: clients notice it themselves.
    var toReport: Failure? { state.withLock { $0.failure } }

    /// Number of failed requests since the last success.
    var count: Int { state.withLock { $0.count } }

    func succeeded() {
        state.withLock { $0 = State() }
        guard let episode = episodes.succeeded("lease") else { return }
        log.info(
            "jobs can be leased again",
            ["failures": episode.count, "seconds": episode.seconds])
    }

    /// Records a failure and returns the delay before the next request.
    func failed(_ failure: Failure) -> Duration {
        let isReported = !failure.code.isOfUnavailableCluster
        let message = printable(String(failure.message.prefix(WireLimits.reasonCharacters / 4)))
        let count = state.withLock { state in
            state.count += 1
            let isFirst = state.count == 1
            state.failure = isReported && !isFirst ? Failure(failure.code, message) : nil
            return state.count
        }
        if let episode = episodes.failed("lease") {
            log.warning(
                "cannot lease jobs",
                [
                    "code": failure.code, "error": "\(failure)", "hint": failure.hint,
                    "failures": episode.count, "seconds": episode.seconds,
                ])
        }
        return .milliseconds(min(100 << min(count, 5), 3_000))
    }
}
