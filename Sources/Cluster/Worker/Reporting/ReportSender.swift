import API
import CoordinatorClient
import Metrics
import Model
import Schedule
import Services

/// Sends results to coordinators in batches; results that arrive during one request are the next.
struct ReportSender: Sendable {
    let worker: WorkerID
    /// Number of pending downloads above which a batch waits for more results.
    let connections: Int
    let client: CoordinatorClient
    let results: Mailbox<JobReport>
    let held: HeldWork
    let pace: LeasePace
    let cooldowns: CooldownRelay
    let metrics: WorkerMetrics
    let log: Logger
    let episodes = FailureEpisodes()

    /// Number of results that fill a request.
    static let fullReport = 200
    /// Maximum time for which a batch waits for more results.
    private static let gathering = Duration.milliseconds(40)
    /// Seconds for which a batch is retried before its leases are checked again.
    private static let offeredSeconds = 10.0

    /// Runs until the mailbox is closed and empty.
    func run() async {
        while true {
            var batch = await results.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            if isWorthWaiting(batch) {
                // Only while there is something to download.
                await held.waitUntil(.nothingPending, atMost: Self.gathering)
                batch += results.takeNow(WireLimits.resultsPerReport - batch.count)
            }
            batch = held.withoutCancelled(batch)
            await send(batch)
            held.remove(batch.lazy.map { (job: $0.job, lease: $0.lease) })
            pace.wake()
        }
    }

    /// Returns true if a short wait would combine several transactions. An origin's Retry-After is
    /// reported at once, since it concerns all workers.
    func isWorthWaiting(_ batch: [JobReport]) -> Bool {
        batch.count < Self.fullReport && held.pendingCount > connections
            && !batch.contains(where: \.asksForPause)
    }

    /// Sends results while they count. If coordinators do not answer, it retries until the leases
    /// expire; if one rejects the batch, it sends each half alone.
    private func send(_ batch: [JobReport]) async {
        var batch = batch
        while !batch.isEmpty {
            do {
                let answer = try await client.report(
                    ReportRequest(worker: worker, results: batch),
                    retrySeconds: Self.offeredSeconds)
                log.debug("results were recorded", ["count": batch.count])
                cooldowns.take(answer.cooldowns)
                if let episode = episodes.succeeded("report") {
                    log.info(
                        "results are reported again",
                        ["failures": episode.count, "seconds": episode.seconds])
                }
                return note(answer)
            } catch {
                metrics.failedReports.add()
                // The lease of a lost result expires, and another worker gets the job.
                if !error.code.isOfUnavailableCluster || episodes.failed("report") != nil {
                    log.error(
                        "results could not be reported",
                        ["count": batch.count, "code": error.code, "error": error])
                }
                if Task.isCancelled { return }
                if error.code.isOfUnavailableCluster {
                    batch.removeAll { !held.isHeld($0.lease) }
                } else if batch.count > 1 {
                    await send(Array(batch[..<(batch.count / 2)]))
                    batch.removeFirst(batch.count / 2)
                } else {
                    return
                }
            }
        }
    }

    private func note(_ answer: ReportAnswer) {
        metrics.reported(answer)
        let (stale, rejected) = (answer.stale.count, answer.rejected.count)
        if stale > 0 { log.info("results were stale", ["count": stale]) }
        if rejected > 0 { log.error("results were rejected", ["count": rejected]) }
    }
}

extension JobReport {
    /// True if an origin requested a pause.
    fileprivate var asksForPause: Bool {
        let isPaused =
            switch outcome {
            case .done: false
            case .failed(let failed): failed.retryAfterSeconds != nil
            case .returned(let afterSeconds): afterSeconds != nil
            }
        return isPaused || origins?.contains { $0.retryAfterSeconds != nil } == true
    }
}
