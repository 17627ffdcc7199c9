import API
import Model

/// The writes that a batch of results requires, before any of them: a pure value.
///
/// Ordinary fetches are settled in one statement; whatever is rarer becomes a step of its own.
struct ReportPlan {
    enum Step {
        case resolved(HeldJob, segments: Int)
        case resolveFailed(HeldJob, Failure)
        /// - stated: digests of the whole, by the origin; empty for none.
        case partDone(whole: Int64, bytes: Int64, stated: String)
        case partFailed(whole: Int64, asset: Int64, Failure)
        /// - counts: whether the try that ends so uses up an attempt.
        /// - isDivisible: whether the file may be divided again.
        case reset(whole: Int64, seconds: Double, counts: Bool, isDivisible: Bool)
        case verified(HeldJob, StoredObject, isCompared: Bool)
        case verifyFailed(HeldJob, Failure)
        case publicationFailed(HeldJob, Failure)
    }

    var settled = Settled()
    var retried = Retried()
    /// Those of them that are fetches which workers give back.
    var returned = HeldJobs()
    var checksums = Checksums()
    var refreshes = Refreshes()
    var refreshTimes = RefreshTimes()
    /// Purge jobs without files left to delete.
    var purges = HeldJobs()
    /// Purge jobs whose workers have reported, whatever.
    var reportedPurges = HeldJobs()
    var origins = Origins()
    var siteFailures = SiteFailures()
    var renewals = Renewals()
    /// Jobs that ended, and files that are fetched again, for `outcomes`.
    var ended = Outcomes()
    /// Failures on the way of assets to their ends.
    var met = MetFailures()
    /// Facts about the URLs that were rejected.
    let rejections: [JobID: Rejection]
    var steps: [Step] = []
    /// Files that are fetched again: once, whatever the number of their parts that ask for it.
    private var resets: Set<Int64> = []
    private let maxAttemptsAtMirrors: Int

    init(maxAttemptsAtMirrors: Int, rejections: [JobID: Rejection] = [:]) {
        self.maxAttemptsAtMirrors = maxAttemptsAtMirrors
        self.rejections = rejections
    }

    /// Files one result; false when it makes no sense for its job and is rejected.
    ///
    /// - Parameter delay: seconds to the next try, by attempt and Retry-After.
    mutating func add(
        _ report: JobReport, of job: HeldJob, delay: (Int, Double?) -> Double
    ) -> Bool {
        if job.kind == .purge { reportedPurges.add(job) }
        switch report.outcome {
        case .returned(let afterSeconds):
            if job.kind == .fetch { returned.add(job) }
            let wait = afterSeconds ?? 0
            retry(
                job, seconds: wait.isFinite ? min(max(wait, 0), 60) : 0, attempts: job.attempt - 1,
                counts: false)
            return true
        case .failed(let failed):
            fail(
                job, Failure(failed.failure.code, cleaned(failed.failure.message)),
                retryAfter: failed.retryAfterSeconds, origins: report.origins,
                refused: failed.refused, delay: delay)
            return true
        case .done(let done):
            guard finish(job, done) else { return false }
            if let fresh = done.freshSeconds { refreshTimes.add(job, fresh: fresh) }
            if !done.isReused { note(report.origins, of: job) }
            return true
        }
    }

    /// Notes which origins served what is done, and which had failed at it.
    private mutating func note(_ outcomes: [OriginOutcome]?, of job: HeldJob) {
        guard [.fetch, .resolve, .refresh].contains(job.kind) else { return }
        guard let served = outcomes else { return origins.well.add(job.lane, nil) }
        for outcome in served {
            guard let code = outcome.code else {
                origins.well.add(job.lane, outcome.origin)
                continue
            }
            origins.failed(
                job.lane, outcome.origin, code, retryAfter: outcome.retryAfterSeconds)
            if job.kind != .refresh {
                ended.mirrored(job.lane, code)
                met.add(job, code, .mirror)
            }
        }
    }

    private mutating func finish(_ job: HeldJob, _ done: JobReport.Done) -> Bool {
        switch job.kind {
        case .resolve:
            guard let segments = done.segments, segments > 0,
                segments <= WireLimits.segmentsPerAsset
            else { return false }
            steps.append(.resolved(job, segments: segments))
        case .checksums:
            guard done.stored?.isPlausible ?? true else { return false }
            checksums.add(job, done.stored)
        case .purge:
            purges.add(job)
        case .refresh:
            guard let outcome = done.refreshed, outcome != .failed,
                done.segments.map({ (1...WireLimits.segmentsPerAsset).contains($0) }) ?? true
            else { return false }
            refreshes.add(job, outcome, segments: done.segments)
        case .publish:
            // What it lists was said when it was granted.
            guard done.refreshed == .changed else { return false }
            refreshes.add(job, .changed)
        case .verify:
            guard let stored = done.stored, stored.isPlausible else { return false }
            steps.append(.verified(job, stored, isCompared: done.isVerified))
        case .fetch:
            guard let stored = done.stored, stored.isPlausible,
                job.partBytes == nil || job.partBytes == stored.bytes
            else { return false }
            ended.done(job, done)
            settled.add(
                job, stored: stored, reused: done.isReused, verified: done.isVerified,
                validator: done.validator)
            if let whole = job.parent {
                steps.append(
                    .partDone(whole: whole, bytes: stored.bytes, stated: done.digests ?? ""))
            }
        }
        return true
    }

    /// Decides between another try and the end, by the failure table.
    ///
    /// - Parameters:
    ///   - outcomes: whose doing it is; nil for the job's own origin's.
    ///   - rejected: the digest of the URL that was rejected; nil where it is not known.
    mutating func fail(
        _ job: HeldJob, _ failure: Failure, retryAfter: Double?,
        origins outcomes: [OriginOutcome]? = nil, refused: String? = nil,
        delay: (Int, Double?) -> Double
    ) {
        let wait = delay(job.attempt, retryAfter)
        if let outcomes {
            for outcome in outcomes {
                guard let code = outcome.code else { continue }
                origins.failed(
                    job.lane, outcome.origin, code, retryAfter: outcome.retryAfterSeconds)
            }
        } else if job.kind != .publish, job.kind != .purge {
            // A publication asks nothing of the origin in whose lane it still is.
            origins.failed(job.lane, nil, failure.code, retryAfter: retryAfter)
        }
        // Of several results of a job another one may be the rejection.
        if failure.code.mayBeExpiredSignature, let rejection = rejections[job.id],
            decide(rejection, of: job, failure, isOfPreviousURL: rejection.isPrevious(refused))
        {
            return
        }
        switch Self.policy(of: failure.code, for: job.kind) {
        case .siteFault:
            siteFailures.add(job.lane, failure)
            let seconds = max(wait, Self.siteFaultSeconds)
            if let whole = wholeToRefetch(job, failure.code) {
                if resets.insert(whole).inserted {
                    ended.retried(job.lane, failure.code.rawValue)
                    met.add(job, failure.code, .retry)
                    steps.append(
                        .reset(whole: whole, seconds: seconds, counts: false, isDivisible: true))
                }
            } else {
                retry(
                    job, seconds: seconds, attempts: job.attempt - 1, counts: true,
                    because: failure.code)
            }
        case .waitsForSpace:
            retry(
                job, seconds: max(wait, Self.roomSeconds(failure.code)),
                attempts: job.attempt - 1, counts: true, waitingFor: failure)
        case .attempts(let most):
            if let whole = wholeToRefetch(job, failure.code) {
                guard (job.wholeAttempt ?? job.attempt) < most else { return giveUp(job, failure) }
                if resets.insert(whole).inserted {
                    ended.retried(job.lane, failure.code.rawValue)
                    met.add(job, failure.code, .retry)
                    steps.append(
                        .reset(
                            whole: whole, seconds: wait, counts: true,
                            isDivisible: !failure.code.countsAgainstRanges))
                }
            } else if job.attempt < most
                && !(job.originIsFailing && failure.code.countsAgainstOrigin)
            {
                retry(
                    job, seconds: wait, attempts: job.attempt, counts: true, because: failure.code)
            } else {
                fallBackToOwnOrigin(job, failure)
            }
        case .never:
            fallBackToOwnOrigin(job, failure)
        }
    }

    /// Lets what was rejected for an expired signature have a fresh URL; false where that cannot help, or was tried.
    private mutating func decide(
        _ rejection: Rejection, of job: HeldJob, _ failure: Failure, isOfPreviousURL: Bool
    ) -> Bool {
        let decision = rejection.decision(
            isOfPreviousURL: isOfPreviousURL, isTriedOut: job.attempt >= Rejection.maxAttempts,
            isRenewing: renewals.contains(rejection.asset))
        switch decision {
        case .end: return false
        case .again:
            met.add(job, failure.code, .freshURL)
            retry(job, seconds: 0, attempts: job.attempt, counts: true)
        case .submitAgain:
            giveUp(
                job,
                Failure(
                    .originSignatureExpired,
                    "\(failure.message.prefix(220)); \(rejection.advice)"
                ))
        case .await(let renewals):
            if let renewals { self.renewals.add(rejection, renewals) }
            met.add(job, failure.code, .freshURL)
            retried.add(
                job.id.rawValue, of: job.lane, seconds: 0, attempts: Int64(job.attempt),
                awaitsURL: failure)
        }
        return true
    }

    /// Lets a job that a worker died with be tried alone, and holds it for an operator after a second death, whatever
    /// kind it is of: a third would be another worker's.
    mutating func died(with job: HeldJob, _ lost: Failure, _ deaths: WorkerDeaths) {
        guard deaths.count < WorkerDeaths.maxDeaths else { return giveUp(job, deaths.failure) }
        guard case .attempts(let most) = Self.policy(of: lost.code, for: job.kind),
            job.attempt < most
        else { return giveUp(job, lost) }
        met.add(job, lost.code, .retry)
        retried.add(
            job.id.rawValue, of: job.lane, seconds: 0, attempts: Int64(job.attempt),
            isolates: true, because: lost.code)
    }

    /// Fails a job permanently, unless only a neighbour or mirrors were requested, not its own origin: that may have
    /// the file, so the job falls back to it.
    private mutating func fallBackToOwnOrigin(_ job: HeldJob, _ failure: Failure) {
        guard job.isAtMirrors, failure.code.mayBeOriginsAlone,
            job.attempt < maxAttemptsAtMirrors
        else { return giveUp(job, failure) }
        met.add(job, failure.code, .retry)
        retried.add(
            job.id.rawValue, of: job.lane, seconds: 0, attempts: Int64(job.attempt),
            awaitsOwnOrigin: true, because: failure.code)
    }

    /// A publication is tried again whatever its failure is, because another worker may complete it. Its asset fails
    /// after the last attempt.
    private static func policy(of code: FailureCode, for kind: JobKind) -> FailureRow.Retry {
        let own = code.row.retry
        guard kind == .publish else { return own }
        return switch own {
        case .never, .attempts: .attempts(WireLimits.publicationAttempts)
        case .siteFault, .waitsForSpace: own
        }
    }

    /// Seconds before a deletion that has failed is tried again.
    private static let purgeSeconds = 30.0
    /// Seconds for which a full or failing site is paused.
    private static let siteFaultSeconds = 5.0
    /// The interval between checks for space, in seconds: longer if a check takes fetching the
    /// object.
    private static func roomSeconds(_ code: FailureCode) -> Double {
        code == .storageOutgrown ? 600 : 60
    }

    /// The file whose parts do not belong together, when that is what `code` says.
    private func wholeToRefetch(_ job: HeldJob, _ code: FailureCode) -> Int64? {
        switch (job.kind, code) {
        case (.fetch, .contentChanged), (.fetch, .originHTTP416),
            (.fetch, .originRangeIgnored), (.fetch, .originRangeMismatch),
            (.fetch, .integrityMultipartMismatch):
            job.parent
        case (.verify, .integrityMultipartMismatch), (.verify, .integrityDigestMismatch),
            (.verify, .storageSyncFailed):
            job.segment
        default: nil
        }
    }

    /// - Parameter attempts: the tries that count from now on.
    /// - Parameter code: what the last one failed with; nil for a job that was given back.
    private mutating func retry(
        _ job: HeldJob, seconds: Double, attempts: Int, counts: Bool,
        waitingFor failure: Failure? = nil, because code: FailureCode? = nil
    ) {
        if let code = code ?? failure?.code { met.add(job, code, .retry) }
        retried.add(
            job.id.rawValue, of: job.lane, seconds: seconds, attempts: Int64(attempts),
            counts: counts, waitingFor: failure, because: code)
    }

    private mutating func giveUp(_ job: HeldJob, _ failure: Failure) {
        if job.kind != .purge { ended.failed(job.lane, failure.code) }
        met.add(job, failure.code, .nothing)
        switch job.kind {
        case .resolve: steps.append(.resolveFailed(job, failure))
        case .verify: steps.append(.verifyFailed(job, failure))
        case .checksums: checksums.add(job, failed: true)
        // Whatever the reason is, the files still have to go.
        case .purge: retry(job, seconds: Self.purgeSeconds, attempts: 0, counts: false)
        case .refresh: refreshes.add(job, .failed, failure: failure)
        case .publish: steps.append(.publicationFailed(job, failure))
        case .fetch:
            settled.add(job, failure: failure)
            if let whole = job.parent {
                steps.append(.partFailed(whole: whole, asset: job.asset, failure))
            }
        }
    }

    /// A message as it may stand in the database and on a terminal.
    private func cleaned(_ message: String) -> String {
        String(message.prefix(500).map { $0.isASCII && ($0.asciiValue ?? 0) < 0x20 ? " " : $0 })
    }
}
