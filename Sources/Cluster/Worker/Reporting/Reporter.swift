import API
import CoordinatorClient
import Digest
import Model
import Services

/// Reports the results of jobs. Safe from any thread.
struct Reporter: Sendable {
    let held: HeldWork
    let sites: SiteFailures
    let suspects: SuspectOrigins
    /// The results that `ReportSender` sends.
    let results: Mailbox<JobReport>
    let log: Logger

    /// Reports that a job is stored, resolved, verified or refreshed.
    func done(_ work: LeasedJob, _ done: JobReport.Done = JobReport.Done()) {
        end(work.report(.done(done)))
    }

    /// Reports several completed jobs.
    func done(_ reports: [JobReport]) {
        for report in reports { held.downloaded(report.job, report.lease) }
        results.push(contentsOf: reports)
    }

    private func end(_ report: JobReport) {
        held.downloaded(report.job, report.lease)
        results.push(report)
    }

    /// Returns a job to its queue without an attempt, to be leased again after some seconds.
    func giveBack(_ work: LeasedJob, afterSeconds: Double? = nil) {
        end(work.report(.returned(afterSeconds: afterSeconds)))
    }

    /// Reports a failed job. Failures of the worker or its lease return the job instead.
    func fail(
        _ work: LeasedJob, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        guard ![.workerCancelled, .workerLeaseLost].contains(failure.code) else {
            return giveBack(work)
        }
        guard failure.code != .storageOutsideRoots else {
            sites.refuse(work.site.id, failure)
            return giveBack(work)
        }
        reportFailure(work, failure, retryAfter: retryAfter, origins: origins)
    }

    /// Reports any error that a job's work threw.
    func fail(_ work: LeasedJob, any error: any Error) {
        switch error {
        case let failure as FetchFailure:
            fail(
                work, failure.failure, retryAfter: failure.retryAfterSeconds,
                origins: failure.origins)
        case let failure as Failure: fail(work, failure)
        default: fail(work, Failure(.workerInternal, "\(error)"))
        }
    }

    /// Reports a failure that ends the job or counts as an attempt.
    func reportFailure(
        _ work: LeasedJob, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        let job = work.job
        held.setBegun(0, of: work)
        let failure = sites.judge(failure, at: work.site.id)
        TraceContext.$current.withValue(work.trace) {
            log.debug(
                "a job failed",
                [
                    "job": job.id, "kind": job.kind.rawValue, "asset": job.asset,
                    "attempt": job.attempt, "code": failure.code, "error": failure.message,
                ])
        }
        var failed = JobReport.Failed(failure, retryAfterSeconds: retryAfter)
        // A query without a known signature may hold a session: see `KeyQueryRules`.
        if failure.code.mayBeExpiredSignature, let url = job.requestedURL.map({ Array($0.utf8) }),
            url.contains(UInt8(ascii: "?")) || SignedQuery.isSigned(url: url)
        {
            failed.refused = SHA256Digest(hashing: url).description
        }
        if let origins { suspects.add(origins.map(\.origin)) }
        end(work.report(.failed(failed), origins: origins))
    }
}

/// A failure with the origin's Retry-After.
struct FetchFailure: Error {
    var failure: Failure
    var retryAfterSeconds: Double?
    /// The origins at fault, if not the job's own.
    var origins: [OriginOutcome]?
}
