import Model
import Storage
import Transfer

/// Takes the results of fetches' transfers: has what came whole committed, and what failed reported.
struct FetchResults: Sendable {
    let held: HeldWork
    let pace: LeasePace
    let tally: WorkTally
    let splitter: Splitter
    let partials: PartialBodies
    let sites: SitesInUse
    let suspects: SuspectOrigins
    let finished: Mailbox<FinishedTransfer>
    let reporter: Reporter

    /// Takes a transfer's result from its loop's thread; must not block.
    func end(
        _ work: Assignment, _ transfer: Transfer, _ result: TransferResult, _ split: Split,
        _ course: MirrorCourse
    ) {
        held.downloaded(work.leased)
        switch result.outcome {
        case .failure(let failure):
            // What is given back tells nothing of how fast work is done.
            if failure.code == "worker.cancelled" { pace.wake() } else { pace.ended(1) }
            Task { await self.fail(work, transfer, result, failure, split, course) }
        case .success(let fetched) where fetched.isUnchanged:
            pace.ended(1)
            reporter.done(StoredFiles.report(work.leased, reused: work.job.known))
        case .success(let fetched):
            defer { pace.ended(1) }
            tally.ended(seconds: result.totalSeconds, bytes: fetched.bytes)
            let end = FinishedTransfer(
                work: work, fetched: fetched, transfer: transfer,
                origins: suspects.served(by: result.origin, course))
            guard fetched.isFirstPart else {
                finished.push(end)
                return
            }
            Task { await self.endFirstPart(end, split) }
        }
    }

    private func fail(
        _ work: Assignment, _ transfer: Transfer, _ result: TransferResult, _ failure: Failure,
        _ split: Split, _ course: MirrorCourse
    ) async {
        // A split that is on its way must not overtake the failure: the job changes under it.
        if await splitter.isUndone(split, work.storage) {
            result.left?.object?.discard()
        } else {
            await partials.keep(result.left, of: work, split)
        }
        let last = result.ending(await sites.judge(failure, of: work, transfer))
        let ending = course.result(last)
        reporter.fail(
            work.leased, ending.failure.ofSegment(role: work.job.role),
            retryAfter: ending.retryAfterSeconds, origins: course.outcomes(last))
    }

    /// Only as a part is what was received complete.
    private func endFirstPart(_ end: FinishedTransfer, _ split: Split) async {
        guard await splitter.isUndone(split, end.work.storage) else { return finished.push(end) }
        end.fetched.object?.discard()
        if case .refused(let failure) = await split.answer() {
            reporter.fail(end.work.leased, failure)
        } else {
            reporter.giveBack(end.work.leased)
        }
    }
}

extension Failure {
    /// What a failure means for a segment. A playlist's length and digest are those that were
    /// read when its title was resolved.
    func ofSegment(role: SegmentRole?) -> Failure {
        switch (role, code) {
        case (.playlist, "integrity.digestMismatch"), (.playlist, "content.lengthMismatch"):
            Failure("manifest.changed", message)
        default: self
        }
    }
}
