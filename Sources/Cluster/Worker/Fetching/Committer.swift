import API
import CoordinatorClient
import Model
import Storage
import Transfer

/// A successful transfer whose bytes are not durable yet.
struct FinishedTransfer: Sendable {
    let work: Assignment
    let object: PendingObject
    /// The result once the object is stored.
    let done: JobReport.Done
    /// Outcomes by origin; nil if only the job's own origin was used.
    var origins: [OriginOutcome]?
}

/// Passes finished transfers to the object that stores them.
struct FinishedTransfers: Sendable {
    /// Those of directories.
    let committed = Mailbox<FinishedTransfer>()
    /// Those of buckets.
    let uploaded = Mailbox<FinishedTransfer>()

    func push(_ transfer: FinishedTransfer) {
        (transfer.work.storage.isBucket ? uploaded : committed).push(transfer)
    }

    func close() {
        committed.close()
        uploaded.close()
    }
}

/// Makes finished transfers durable in batches, with one barrier per batch, and passes on their
/// results.
struct Committer: Sendable {
    let finished: Mailbox<FinishedTransfer>
    let held: HeldWork
    let sites: SitesInUse
    let failures: SiteFailures
    let blocking: BlockingCalls
    let metrics: WorkerMetrics
    let results: Mailbox<JobReport>

    /// Runs until the mailbox is closed and empty.
    func run() async {
        while true {
            let batch = await finished.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            results.push(contentsOf: await blocking.run { self.commit(batch) })
        }
    }

    private func commit(_ batch: [FinishedTransfer]) -> [JobReport] {
        var reports: [JobReport] = []
        reports.reserveCapacity(batch.count)
        // A worker that lost its lease must not write to a final key: another worker may have. The
        // job is returned all the same: a running heartbeat may still save the lease.
        var ours: [FinishedTransfer] = []
        for end in batch {
            if held.isWanted(end.work.leased) {
                ours.append(end)
            } else {
                end.object.discard()
                reports.append(end.work.leased.report(.returned()))
            }
        }
        var stored: Set<SiteID> = []
        for (_, group) in Dictionary(
            grouping: ours, by: { ObjectIdentifier($0.work.storage.receiving) })
        {
            guard let storage = group.first?.work.storage.receiving else { continue }
            // Checked again at each rename: the barrier before it may take longer than the lease
            // lasts.
            let outcomes = storage.commit(group.map(\.object)) { index in
                self.held.isWanted(group[index].work.leased)
            }
            var count = (files: 0, bytes: Int64(0))
            for (end, outcome) in zip(group, outcomes) {
                if case .success = outcome {
                    stored.insert(end.work.site)
                    count.files += 1
                    count.bytes += end.done.stored?.bytes ?? 0
                }
                reports.append(failures.report(of: end, outcome, metrics))
            }
            metrics.stored(count.files, count.bytes, at: storage.url.description)
        }
        sites.stored(at: stored)
        return reports
    }
}

extension SiteFailures {
    /// Returns the report of a transfer by the outcome of storing it; records a failure.
    func report(
        of end: FinishedTransfer, _ outcome: Result<Void, Failure>, _ metrics: WorkerMetrics
    ) -> JobReport {
        let leased = end.work.leased
        guard case .failure(let failure) = outcome else {
            return leased.report(.done(end.done), origins: end.origins)
        }
        var outcome = JobReport.Outcome.returned()
        switch failure.code {
        case .workerLeaseLost: break
        case .storageOutsideRoots: refuse(end.work.site, failure)
        default:
            note(failure, at: end.work.site)
            metrics.failed(failure)
            outcome = .failed(JobReport.Failed(named(failure)))
        }
        return leased.report(outcome)
    }
}
