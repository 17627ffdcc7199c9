import CoordinatorClient
import Digest
import FoundationEssentials
import Model
import Runtime
import Storage
import Synchronization
import Transfer

/// How results get to a coordinator.
extension WorkerService {
    func fail(
        _ job: Job, _ lease: LeaseID, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        guard !["worker.cancelled", "worker.leaseLost"].contains(failure.code) else {
            return giveBack(job, lease)
        }
        guard failure.code != "storage.outsideRoots" else {
            refuse(job.site, failure)
            return giveBack(job, lease)
        }
        reportFailure(job, lease, failure, retryAfter: retryAfter, origins: origins)
    }

    /// As `fail`, for a failure that is the job's end or counts as a try.
    func reportFailure(
        _ job: Job, _ lease: LeaseID, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        held.setBegun(0, of: job.id, lease)
        let failure = named(ofSite(failure, job.site))
        noteSiteFault(failure, at: job.site)
        var report = JobReport(job: job.id, lease: lease, outcome: .failed)
        report.failure = failure
        report.retryAfterSeconds = retryAfter
        report.origins = origins
        // What of a query is no signature by its name may be a session: see `KeyQueryRules`.
        if failure.code.mayBeExpiredSignature,
            job.url.utf8.contains(UInt8(ascii: "?"))
                || SignedQuery.isSigned(url: Array(job.url.utf8))
        {
            report.refused = SHA256Digest(hashing: Array(job.url.utf8)).description
        }
        if let origins { suspect(origins.map(\.origin)) }
        held.downloaded(job.id, lease)
        reports.push(report)
    }

    func giveBack(_ job: Job, _ lease: LeaseID) {
        held.downloaded(job.id, lease)
        reports.push(JobReport(job: job.id, lease: lease, outcome: .returned))
    }

    /// Makes finished transfers durable in batches, each with one barrier, and hands on their
    /// reports.
    func commitFinished() async {
        while true {
            let batch = await finished.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            let results = await blocking.run { self.commit(batch) }
            reports.push(contentsOf: results)
        }
    }

    private func commit(_ batch: [Finished]) -> [JobReport] {
        var reports: [JobReport] = []
        reports.reserveCapacity(batch.count)
        // Whoever lost its lease must not put anything under a final key: somebody else may have.
        // The job is given back all the same: a heartbeat under way may still save the lease.
        var ours: [Finished] = []
        for end in batch {
            if held.isHeld(end.lease), !held.isCancelled(end.job.id, end.lease) {
                ours.append(end)
            } else {
                end.fetched.object?.discard()
                reports.append(JobReport(job: end.job.id, lease: end.lease, outcome: .returned))
            }
        }
        var sites: Set<SiteID> = []
        for (_, group) in Dictionary(grouping: ours, by: { ObjectIdentifier($0.storage) }) {
            guard let storage = group.first?.storage else { continue }
            let stored = group.compactMap { end in end.fetched.object.map { (end, $0) } }
            for (end, object) in stored { object.note(sha256: end.fetched.sha256) }
            // Asked once more at each rename: the barrier before it may take longer than the lease.
            let outcomes = storage.commit(stored.map(\.1)) { place in
                self.isWanted(stored[place].0.job, stored[place].0.lease)
            }
            for ((end, _), outcome) in zip(stored, outcomes) {
                if case .success = outcome { sites.insert(end.job.site) }
                reports.append(report(of: end, outcome))
            }
        }
        sitesInUse.withLock { table in for site in sites { table.stored(at: site) } }
        return reports
    }

    private func report(of end: Finished, _ outcome: Result<Void, Failure>) -> JobReport {
        var report = JobReport(job: end.job.id, lease: end.lease, outcome: .done)
        switch outcome {
        case .success:
            report.stored = StoredObject(bytes: end.fetched.bytes, sha256: end.fetched.sha256)
            report.verified = end.fetched.isVerified
            // Of a part, its assembly knows it; of a mirror, it says nothing to the file's own origin.
            if end.job.assembly == nil, end.transfer.request.url == end.job.url {
                report.validator = end.fetched.validator
            }
            report.digests = Self.text(of: end.fetched.stated)
            report.origins = end.origins
        case .failure(let failure) where failure.code == "worker.leaseLost":
            report.outcome = .returned
        case .failure(let failure) where failure.code == "storage.outsideRoots":
            refuse(end.job.site, failure)
            report.outcome = .returned
        case .failure(let failure):
            noteSiteFault(failure, at: end.job.site)
            report.outcome = .failed
            report.failure = named(failure)
        }
        return report
    }

    /// Sends results in batches; those that came in during one request are the next.
    func sendReports() async {
        while true {
            var batch = await reports.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            // While much is under way, a moment's patience makes one transaction of several. That an
            // origin wants to be left alone is for all to know.
            if batch.count < Self.fullReport && held.pendingCount > configuration.connections
                && !batch.contains(where: \.asksForTime)
            {
                await gatherReports()
                batch += reports.takeNow(WireLimits.resultsPerReport - batch.count)
            }
            batch = held.withoutCancelled(batch)
            await send(batch)
            held.remove(batch.lazy.map { (job: $0.job, lease: $0.lease) })
            pace.wake()
        }
    }

    /// Waits a moment for other results; not for longer than there is something to download.
    private func gatherReports() async {
        let end = ContinuousClock.now + .milliseconds(40)
        repeat {
            try? await Task.sleep(for: .milliseconds(5))
        } while held.pendingCount > 0 && ContinuousClock.now < end && !Task.isCancelled
    }

    /// Results that are worth a request of their own.
    private static let fullReport = 200

    /// Offers results for as long as they count: to coordinators that do not answer until the
    /// leases are over, and one half at a time where something in them is refused.
    private func send(_ batch: [JobReport]) async {
        var batch = batch
        while !batch.isEmpty {
            do {
                let answer = try await client.report(
                    ReportRequest(worker: id, results: batch), retrySeconds: Self.reportSeconds)
                log.debug("results were recorded", ["count": answer.answers.count])
                cool(answer.cooling)
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

    /// How long a batch of results is offered before its leases are looked at again.
    private static let reportSeconds = 10.0

    private func note(_ answers: [ReportAnswer.Verdict]) {
        let stale = answers.count { $0 == .stale }
        let rejected = answers.count { $0 == .rejected }
        if stale > 0 { log.info("results were stale", ["count": stale]) }
        if rejected > 0 { log.error("results were rejected", ["count": rejected]) }
    }
}

extension JobReport {
    /// Whether an origin wants to be left alone.
    fileprivate var asksForTime: Bool {
        retryAfterSeconds != nil || origins?.contains { $0.retryAfterSeconds != nil } == true
    }
}
