import API
import CoordinatorClient
import Model
import Storage
import Transfer

/// A successful transfer whose bytes are not durable yet.
struct FinishedTransfer: Sendable {
    var work: Assignment
    var fetched: Fetched
    var transfer: Transfer
    var origins: [OriginOutcome]?
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
                end.fetched.object?.discard()
                reports.append(
                    JobReport(job: end.work.job.id, lease: end.work.lease, outcome: .returned))
            }
        }
        var stored: Set<SiteID> = []
        for (_, group) in Dictionary(grouping: ours, by: { ObjectIdentifier($0.work.storage) }) {
            guard let storage = group.first?.work.storage else { continue }
            let objects = group.compactMap { end in end.fetched.object.map { (end, $0) } }
            for (end, object) in objects { object.note(sha256: end.fetched.sha256) }
            // Checked again at each rename: the barrier before it may take longer than the lease
            // lasts.
            let outcomes = storage.commit(objects.map(\.1)) { index in
                self.held.isWanted(objects[index].0.work.leased)
            }
            var count = (files: 0, bytes: Int64(0))
            for ((end, _), outcome) in zip(objects, outcomes) {
                if case .success = outcome {
                    stored.insert(end.work.job.site)
                    count.files += 1
                    count.bytes += end.fetched.bytes
                }
                reports.append(report(of: end, outcome))
            }
            metrics.stored(count.files, count.bytes, at: storage.url.description)
        }
        sites.stored(at: stored)
        return reports
    }

    private func report(of end: FinishedTransfer, _ outcome: Result<Void, Failure>) -> JobReport {
        let job = end.work.job
        var report = JobReport(job: job.id, lease: end.work.lease, outcome: .done)
        switch outcome {
        case .success:
            report.stored = StoredObject(bytes: end.fetched.bytes, sha256: end.fetched.sha256)
            report.isVerified = end.fetched.isVerified
            // A part's multipart file has the validator; a mirror's says nothing about the job's
            // own origin.
            if !end.work.fetch.isPart, end.transfer.request.url == end.work.fetch.url {
                report.validator = end.fetched.validator
            }
            report.digests = FurtherDigests.text(of: end.fetched.stated)
            report.origins = end.origins
        case .failure(let failure) where failure.code == .workerLeaseLost:
            report.outcome = .returned
        case .failure(let failure) where failure.code == .storageOutsideRoots:
            failures.refuse(job.site, failure)
            report.outcome = .returned
        case .failure(let failure):
            failures.note(failure, at: job.site)
            metrics.failed(failure)
            report.outcome = .failed
            report.failure = failures.named(failure)
        }
        return report
    }
}
