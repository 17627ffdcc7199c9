import CoordinatorClient
import Model
import Schedule
import Services

/// Sends results to coordinators in batches; those that came in during one request are the next.
struct ReportSender: Sendable {
    let worker: WorkerID
    /// With more jobs than these to download, a batch waits a moment for others.
    let connections: Int
    let client: CoordinatorClient
    let results: Mailbox<JobReport>
    let held: HeldWork
    let pace: LeasePace
    let cooldowns: Cooldowns
    let log: Logger

    /// Results that are worth a request of their own.
    static let fullReport = 200
    /// For so long a batch waits for others at most.
    private static let gathering = Duration.milliseconds(40)
    /// How long a batch of results is offered before its leases are looked at again.
    private static let offeredSeconds = 10.0

    /// Works until the mailbox is closed and empty.
    func run() async {
        while true {
            var batch = await results.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            if isWorthWaiting(batch) {
                // Not for longer than there is something to download.
                await held.waitUntil(.nothingPending, atMost: Self.gathering)
                batch += results.takeNow(WireLimits.resultsPerReport - batch.count)
            }
            batch = held.withoutCancelled(batch)
            await send(batch)
            held.remove(batch.lazy.map { (job: $0.job, lease: $0.lease) })
            pace.wake()
        }
    }

    /// While much is under way, a moment's patience makes one transaction of several. That an origin asks for a
    /// pause is for all to know at once.
    func isWorthWaiting(_ batch: [JobReport]) -> Bool {
        batch.count < Self.fullReport && held.pendingCount > connections
            && !batch.contains(where: \.asksForPause)
    }

    /// Offers results for as long as they count: to coordinators that do not answer until the
    /// leases are over, and one half at a time where something in them is refused.
    private func send(_ batch: [JobReport]) async {
        var batch = batch
        while !batch.isEmpty {
            do {
                let answer = try await client.report(
                    ReportRequest(worker: worker, results: batch),
                    retrySeconds: Self.offeredSeconds)
                log.debug("results were recorded", ["count": answer.answers.count])
                cooldowns.take(answer.cooling)
                return note(answer.answers)
            } catch {
                // Where a result is lost, its lease runs out and the job goes to somebody else.
                log.error(
                    "results could not be reported", ["count": batch.count, "error": error])
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

    private func note(_ answers: [ReportAnswer.Verdict]) {
        let stale = answers.count { $0 == .stale }
        let rejected = answers.count { $0 == .rejected }
        if stale > 0 { log.info("results were stale", ["count": stale]) }
        if rejected > 0 { log.error("results were rejected", ["count": rejected]) }
    }
}

extension JobReport {
    /// Whether an origin asks for a pause.
    fileprivate var asksForPause: Bool {
        retryAfterSeconds != nil || origins?.contains { $0.retryAfterSeconds != nil } == true
    }
}
