import API
import Model
import TestSupport

/// Reports: the changes of a batch of results, first as a plan, then executed.
extension QueueModel {
    /// One batch, in the order in which its parts take effect.
    struct Plan {
        struct Ended {
            var work: Work
            var result: Result
            var isReused = false
        }

        enum Rare {
            case resolved(Work, Int)
            case resolveFailed(Work, FailureCode)
            case partStored(Work)
            case partFailed(Work, FailureCode)
            case reset(AssetKey, Int, isDelayed: Bool)
            case verified(Work, StoredObject)
            case verifyFailed(Work, FailureCode)
            case checksumsEnded(Work, isFailed: Bool)
            case refreshed(Work, RefreshOutcome, FailureCode?)
            case cooldown(Work)
        }

        var ended: [Ended] = []
        var retried: [(work: Work, refund: Int, isDelayed: Bool)] = []
        /// Those of them that wait for fresh URLs.
        var awaiting: [Work: FailureCode] = [:]
        /// Titles whose manifests are read for these.
        var renewals: [AssetKey: (inARow: Int, stored: Int)] = [:]
        var returned: [Work] = []
        var rare: [Rare] = []
        var faultySites: Set<Int> = []
        var withoutRoom: Set<Work> = []
        private var resets: Set<Work> = []

        /// Decides between another attempt and the end, by the failure table.
        mutating func fail(
            _ work: Work, _ code: FailureCode, retryAfter: Double?, in model: QueueModel
        ) {
            let attempt = model.jobs[work]?.attempt ?? 0
            let isAsked = (retryAfter ?? 0) > 0
            if isAsked { rare.append(.cooldown(work)) }
            if code.mayBeExpiredSignature, refuse(work, code, attempt, in: model) { return }
            switch Self.policy(of: code, for: work.kind) {
            case .siteFault:
                retried.append((work, 1, true))
                faultySites.insert(model.site(of: work))
            case .waitsForSpace:
                retried.append((work, 1, true))
                withoutRoom.insert(work)
            case .attempts(let most):
                let segment = work.asset.flatMap { model[$0]?.segments[work.ordinal] }
                if let multipart = segment?.multipart, asksForTheWhole(work, code) {
                    guard multipart.attempt < most else { return giveUp(work, code) }
                    let whole = Work(
                        kind: .fetch, catalog: work.catalog, name: work.name,
                        ordinal: work.ordinal)
                    if let key = work.asset, resets.insert(whole).inserted {
                        rare.append(.reset(key, work.ordinal, isDelayed: isAsked))
                    }
                } else if attempt < most {
                    retried.append((work, 0, isAsked))
                } else {
                    giveUp(work, code)
                }
            case .never: giveUp(work, code)
            }
        }

        /// Whatever a publication fails with, it is tried five times.
        private static func policy(of code: FailureCode, for kind: JobKind) -> FailureRow.Retry {
            switch code.row.retry {
            case .never where kind == .publish, .attempts where kind == .publish:
                .attempts(5)
            case let own: own
            }
        }

        /// Parts that do not belong together: the file is fetched again.
        private func asksForTheWhole(_ work: Work, _ code: FailureCode) -> Bool {
            switch (work.kind, code) {
            case (.fetch, "content.changed"), (.fetch, "origin.http.416"),
                (.fetch, "origin.rangeMismatch"), (.fetch, "integrity.multipartMismatch"):
                work.offset != nil
            case (.verify, "integrity.multipartMismatch"), (.verify, "integrity.digestMismatch"):
                true
            default: false
            }
        }

        mutating func giveUp(_ work: Work, _ code: FailureCode) {
            switch work.kind {
            case .resolve: rare.append(.resolveFailed(work, code))
            case .verify: rare.append(.verifyFailed(work, code))
            case .checksums: rare.append(.checksumsEnded(work, isFailed: true))
            case .refresh, .publish: rare.append(.refreshed(work, .failed, code))
            case .purge: break
            case .fetch:
                ended.append(Ended(work: work, result: .failed(code)))
                if work.offset != nil { rare.append(.partFailed(work, code)) }
            }
        }
    }

    /// The first part of a report: whole objects that were fetched. The places of those results
    /// that are accepted. The second part may come later, or never.
    mutating func reportPlain(_ results: [WorkResult], by worker: Int) -> Set<Int> {
        var plan = Plan()
        var named: Set<Ticket> = []
        var accepted: Set<Int> = []
        for (index, result) in results.enumerated() {
            guard named.insert(result.ticket).inserted, case .stored = result.outcome,
                let work = held(result.ticket, by: worker), work.kind == .fetch,
                work.offset == nil, add(result.outcome, of: work, to: &plan)
            else { continue }
            accepted.insert(index)
        }
        execute(plan)
        return accepted
    }

    /// The second part: everything else. What the first has accepted is stale by now.
    mutating func reportRest(_ results: [WorkResult], by worker: Int) -> Answer {
        var plan = Plan()
        var answered: Set<Work> = []
        var verdicts: [ReportAnswer.Verdict] = []
        for result in results {
            guard let work = held(result.ticket, by: worker), answered.insert(work).inserted else {
                verdicts.append(.stale)
                continue
            }
            verdicts.append(add(result.outcome, of: work, to: &plan) ? .accepted : .rejected)
        }
        let before = self
        guard execute(plan) else {
            // A list that is not whole: nothing of this part counts.
            self = before
            return .refused("cluster.protocol")
        }
        return .verdicts(verdicts)
    }

    /// False when the outcome makes no sense for the work.
    private func add(_ outcome: WorkResult.Outcome, of work: Work, to plan: inout Plan) -> Bool {
        switch (outcome, work.kind) {
        case (.returned, _): plan.returned.append(work)
        case (.failed(let code, let retryAfter), _):
            plan.fail(work, code, retryAfter: retryAfter, in: self)
        case (.refreshed(let outcome), .refresh) where outcome != .failed,
            (.refreshed(let outcome), .publish) where outcome == .changed:
            plan.rare.append(.refreshed(work, outcome, nil))
        case (_, .checksums): plan.rare.append(.checksumsEnded(work, isFailed: false))
        case (.resolved(let count), .resolve):
            guard count > 0 else { return false }
            plan.rare.append(.resolved(work, count))
        case (.stored(let bytes, let sha256, _), .verify):
            plan.rare.append(.verified(work, StoredObject(bytes: bytes, sha256: sha256)))
        case (.stored(let bytes, let sha256, let isReused), .fetch):
            if let length = length(of: work), length != bytes { return false }
            let stored = StoredObject(bytes: bytes, sha256: sha256)
            plan.ended.append(
                Plan.Ended(work: work, result: .stored(stored), isReused: isReused))
            if work.offset != nil { plan.rare.append(.partStored(work)) }
        default: return false
        }
        return true
    }

    /// False when the batch cannot be carried out as a whole.
    @discardableResult
    mutating func execute(_ plan: Plan) -> Bool {
        settle(plan.ended)
        for (work, refund, isDelayed) in plan.retried {
            wait(work, refund: refund, isDelayed: isDelayed)
            if let key = work.asset {
                self[key]?.retries += 1
            } else {
                catalogs[work.catalog]?.checksumsRetries += 1
            }
        }
        for work in plan.withoutRoom { jobs[work]?.waitsForSpace = true }
        for (work, code) in plan.awaiting { jobs[work]?.awaitsURL = code }
        for (key, renewals) in plan.renewals {
            beginRenewal(of: key, renewals.inARow, renewals.stored)
        }
        faultySites.formUnion(plan.faultySites)
        for work in plan.returned { wait(work, refund: 1, isDelayed: false) }
        for step in plan.rare {
            guard execute(step) else { return false }
        }
        return true
    }

    private mutating func wait(_ work: Work, refund: Int, isDelayed: Bool) {
        guard var job = jobs[work] else { return }
        job.hold = nil
        job.attempt = max(0, job.attempt - refund)
        job.isDelayed = isDelayed
        job.waitsForSpace = false
        job.priority = newJob(of: work.asset).priority
        jobs[work] = job
    }

    private mutating func execute(_ step: Plan.Rare) -> Bool {
        switch step {
        case .resolved(let work, _) where isRenewal(work): endRenewal(work, nil)
        case .resolveFailed(let work, let code) where isRenewal(work): endRenewal(work, code)
        case .resolved(let work, let count): return resolve(work, count)
        case .resolveFailed(let work, let code):
            jobs[work] = nil
            if let key = work.asset {
                self[key]?.note([code])
                self[key]?.state = .failed
            }
        case .partStored(let work): partStored(work)
        case .partFailed(let work, let code): partFailed(work, code)
        case .reset(let key, let ordinal, let isDelayed): reset(key, ordinal, isDelayed)
        case .verified(let work, let stored): verified(work, .stored(stored))
        case .verifyFailed(let work, let code): verified(work, .failed(code))
        case .checksumsEnded(let work, let isFailed): checksumsEnded(work, isFailed)
        case .refreshed(let work, let outcome, let code): refreshed(work, outcome, code)
        case .cooldown(let work):
            if let origin = origin(of: work) { originsInCooldown.insert(origin) }
        }
        return true
    }
}
