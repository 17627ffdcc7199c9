import API
import Model
import Storage
import Transfer

/// Handles the results of fetches: sends complete bodies to the committer and reports failures.
struct FetchResults: Sendable {
    let held: HeldWork
    let pace: LeasePace
    let tally: WorkTally
    let metrics: WorkerMetrics
    let splitter: Splitter
    let partials: PartialBodies
    let sites: SitesInUse
    let suspects: SuspectOrigins
    let finished: FinishedTransfers
    let reporter: Reporter

    /// Handles a transfer's result on its loop's thread; must not block.
    func end(
        _ work: Assignment, _ transfer: Transfer, _ result: TransferResult, _ split: Split,
        _ plan: MirrorPlan
    ) {
        var isToUpload = false
        if case .success(let fetched) = result.outcome, !fetched.isUnchanged {
            isToUpload = work.storage.isBucket
        }
        if isToUpload { held.received(work.leased) } else { held.downloaded(work.leased) }
        metrics.ended(transfer, result)
        switch result.outcome {
        case .failure(let failure):
            // A returned job does not measure the speed of work.
            if failure.code == .workerCancelled { pace.wake() } else { pace.ended(1) }
            Task { await self.fail(work, transfer, result, failure, split, plan) }
        case .success(let fetched) where fetched.isUnchanged:
            pace.ended(1)
            reporter.done(
                work.leased,
                StoredFiles.done(
                    work, reused: work.fetch.previous?.stored,
                    fresh: work.fetch.role == .file ? fetched.response.freshSeconds : nil))
        case .success(let fetched):
            defer { pace.ended(1) }
            tally.ended(work.job.run, seconds: result.totalSeconds, bytes: fetched.bytes)
            guard let object = fetched.object else {
                preconditionFailure("a fetch has a destination in storage")
            }
            object.note(sha256: fetched.sha256)
            var done = JobReport.Done(
                stored: fetched.received,
                isVerified: fetched.isVerified,
                milliseconds: Self.milliseconds(result.totalSeconds))
            // A mirror's validator says nothing about the job's own origin. A part's multipart file
            // has the validator.
            if plan.isAtMain, !work.fetch.isPart { done.validator = fetched.response.validator }
            // Of a title its manifests count, all of them: the resolve job reports that.
            if plan.isAtMain, work.fetch.role == .file {
                done.freshSeconds = fetched.response.freshSeconds
            }
            // The digest says that these are the bytes that the origin served to the neighbour.
            if let neighbour = work.fetch.neighbour {
                done.validator = neighbour.validator
                done.freshSeconds = nil
                done.isVerified = neighbour.isVerified
            }
            done.digests = FurtherDigests.text(of: fetched.stated)
            let end = FinishedTransfer(
                work: work, object: object, done: done,
                origins: suspects.served(by: result.origin, plan))
            guard fetched.isFirstPart else {
                finished.push(end)
                return
            }
            Task { await self.endFirstPart(end, split) }
        }
    }

    static func milliseconds(_ seconds: Double) -> Int {
        let most = Double(WireLimits.transferMilliseconds)
        return Int(min(max((seconds * 1_000).rounded(), 0), most))
    }

    private func fail(
        _ work: Assignment, _ transfer: Transfer, _ result: TransferResult, _ failure: Failure,
        _ split: Split, _ plan: MirrorPlan
    ) async {
        // A running split must finish before the failure is reported: it changes the job.
        if await splitter.isUndone(split, work.storage) {
            result.left?.object?.discard()
        } else {
            await partials.keep(result.left, of: work, split)
        }
        let last = result.ending(await sites.judge(failure, of: work, transfer))
        let ending = plan.result(last)
        reporter.fail(
            work.leased, ending.failure.ofSegment(role: work.fetch.role),
            retryAfter: ending.retryAfterSeconds, origins: plan.outcomes(last))
    }

    /// Commits a first part if its split was accepted; the bytes are complete only as a part.
    private func endFirstPart(_ end: FinishedTransfer, _ split: Split) async {
        guard await splitter.isUndone(split, end.work.storage) else { return finished.push(end) }
        end.object.discard()
        if case .refused(let failure) = await split.answer() {
            reporter.fail(end.work.leased, failure)
        } else {
            reporter.giveBack(end.work.leased)
        }
    }
}

extension Failure {
    /// Maps a failure to its meaning for a segment. The length and digest of a playlist were read
    /// when its title was resolved.
    func ofSegment(role: SegmentRole) -> Failure {
        switch (role, code) {
        case (.playlist, .integrityDigestMismatch), (.playlist, .contentLengthMismatch):
            Failure(.manifestChanged, message)
        default: self
        }
    }
}
