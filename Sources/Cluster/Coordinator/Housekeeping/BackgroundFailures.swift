import Model
import Services

/// Logs the failures of a coordinator's background work once, and their end.
///
/// All work fails while the database is away, so that is one failure with one pair of lines.
/// Safe from any thread.
struct BackgroundFailures: Sendable {
    private static let database = "database"
    private let log = Logger("coordinator")
    private let episodes: FailureEpisodes

    init(_ episodes: FailureEpisodes = FailureEpisodes()) { self.episodes = episodes }

    func failed(_ work: String, _ error: any Error) {
        let code = (error as? Failure)?.code
        let codeText = code?.rawValue ?? FailureCode.workerInternal.rawValue
        guard code?.isOfUnavailableCluster == true else {
            guard let episode = episodes.failed(work) else { return }
            log.warning(
                "background work failed",
                [
                    "work": work, "code": codeText, "error": "\(error)", "failures": episode.count,
                    "seconds": episode.seconds,
                ])
            return
        }
        guard let episode = episodes.failed(Self.database) else { return }
        log.warning(
            "the database does not answer",
            [
                "work": work, "code": codeText, "error": "\(error)", "failures": episode.count,
                "seconds": episode.seconds,
            ])
    }

    /// - Parameter start: when the work began. What was under way when the database stopped may
    ///   still succeed, which is not its end.
    func succeeded(_ work: String, since start: ContinuousClock.Instant) {
        if let episode = episodes.succeeded(work) {
            log.info(
                "background work recovered",
                ["work": work, "failures": episode.count, "seconds": episode.seconds])
        }
        if let episode = episodes.succeeded(Self.database, since: start) {
            log.info(
                "the database answers again",
                ["failures": episode.count, "seconds": episode.seconds])
        }
    }
}
