import CoordinatorClient
import Digest
import Model

/// Takes what became of jobs, and has it reported. Safe from any thread.
struct Reporter: Sendable {
    let held: HeldWork
    let sites: SiteFailures
    let suspects: SuspectOrigins
    /// What `ReportSender` sends.
    let results: Mailbox<JobReport>

    /// A job is stored, resolved, verified or refreshed.
    func done(_ report: JobReport) {
        held.downloaded(report.job, report.lease)
        results.push(report)
    }

    /// As `done`, of many.
    func done(_ reports: [JobReport]) {
        for report in reports { held.downloaded(report.job, report.lease) }
        results.push(contentsOf: reports)
    }

    /// Returns a job to its queue without an attempt.
    func giveBack(_ work: LeasedJob) {
        held.downloaded(work)
        results.push(JobReport(job: work.job.id, lease: work.lease, outcome: .returned))
    }

    /// Ends a job by a failure. What is no failure of the job, but of this worker or its lease, gives it back.
    func fail(
        _ work: LeasedJob, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        guard !["worker.cancelled", "worker.leaseLost"].contains(failure.code) else {
            return giveBack(work)
        }
        guard failure.code != "storage.outsideRoots" else {
            sites.refuse(work.job.site, failure)
            return giveBack(work)
        }
        reportFailure(work, failure, retryAfter: retryAfter, origins: origins)
    }

    /// As `fail`, for what was thrown by anything that a job needs.
    func fail(_ work: LeasedJob, any error: any Error) {
        switch error {
        case let failure as FetchFailure:
            fail(
                work, failure.failure, retryAfter: failure.retryAfterSeconds,
                origins: failure.origins)
        case let failure as Failure: fail(work, failure)
        default: fail(work, Failure("worker.internal", "\(error)"))
        }
    }

    /// As `fail`, for a failure that is the job's end or counts as a try.
    func reportFailure(
        _ work: LeasedJob, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        let job = work.job
        held.setBegun(0, of: work)
        let failure = sites.judge(failure, at: job.site)
        var report = JobReport(job: job.id, lease: work.lease, outcome: .failed)
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
        if let origins { suspects.add(origins.map(\.origin)) }
        done(report)
    }
}

/// A failure with what the origin answered about trying again.
struct FetchFailure: Error {
    var failure: Failure
    var retryAfterSeconds: Double?
    /// Whose doing it is, where that is not the job's own origin.
    var origins: [OriginOutcome]?
}
