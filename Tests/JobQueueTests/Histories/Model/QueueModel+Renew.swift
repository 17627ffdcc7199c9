import Model
import TestSupport

/// Fresh URLs for segments whose signatures have expired.
extension QueueModel.Plan {
    /// False where a fresh URL cannot help, or was tried.
    mutating func refuse(
        _ work: Work, _ code: FailureCode, _ attempt: Int, in model: QueueModel
    ) -> Bool {
        guard [.fetch, .resolve].contains(work.kind), let key = work.asset, let asset = model[key]
        else { return false }
        let segment = work.kind == .fetch ? asset.segments[work.ordinal] : nil
        guard isSigned(segment?.spec.url ?? asset.spec.url), attempt < 6 else { return false }
        guard let segment, asset.spec.kind != .file else {
            giveUp(work, "origin.signatureExpired")
            return true
        }
        guard !segment.isFresh else { return false }
        if !asset.isRenewing && renewals[key] == nil {
            let hasStored = asset.doneCount != asset.renewedDone
            guard hasStored || asset.renewals < 3 else { return false }
            renewals[key] = (hasStored ? 1 : asset.renewals + 1, asset.doneCount)
        }
        retried.append((work, 0, false))
        awaiting[work] = code
        return true
    }
}

extension QueueModel {
    func isRenewal(_ work: Work) -> Bool {
        work.kind == .resolve && work.asset.flatMap { self[$0]?.isRenewing } == true
    }

    /// One job reads the manifest for all that wait.
    mutating func beginRenewal(of key: AssetKey, _ renewals: Int, _ stored: Int) {
        self[key]?.isRenewing = true
        self[key]?.renewals = renewals
        self[key]?.renewedDone = stored
        jobs[.resolve(key)] = newJob(of: key)
    }

    /// Segments get the URLs that are listed by now; those that wait and get no other one fail.
    mutating func renew(_ specs: [SegmentSpec], of key: AssetKey) {
        var refused: [Work] = []
        for spec in specs {
            guard let segment = self[key]?.segments.values.first(where: { $0.spec.key == spec.key })
            else { continue }
            let ordinal = segment.spec.ordinal
            let waiting = jobs.keys.filter {
                $0.asset == key && $0.kind == .fetch && $0.ordinal == ordinal
                    && jobs[$0]?.awaitsURL != nil
            }
            if segment.spec.url != spec.url {
                for work in waiting { jobs[work]?.awaitsURL = nil }
            } else {
                refused += waiting
            }
            self[key]?.segments[ordinal]?.spec.url = spec.url
            self[key]?.segments[ordinal]?.isFresh = true
        }
        fail(refused, nil)
    }

    /// What still waits is not listed any more, or cannot be known to be; nothing else of the title fails.
    mutating func endRenewal(_ work: Work, _ code: FailureCode?) {
        jobs[work] = nil
        guard let key = work.asset else { return }
        self[key]?.isRenewing = false
        let waiting = jobs(of: key).filter { jobs[$0]?.awaitsURL != nil }
        for work in waiting where jobs[work]?.awaitsURL == "content.changed" {
            jobs[work]?.awaitsURL = nil
        }
        fail(waiting, code ?? "manifest.changed")
    }

    /// Of a title that has ended, before a start.
    mutating func endOutlivedRenewal(of key: AssetKey) {
        guard let asset = self[key], asset.isRenewing, asset.state.isSettled else { return }
        jobs[.resolve(key)] = nil
        self[key]?.isRenewing = false
    }

    /// - Parameter code: nil for what its origin answered to each.
    private mutating func fail(_ works: [Work], _ code: FailureCode?) {
        let ended = works.sorted().compactMap { work -> Plan.Ended? in
            guard let refused = jobs[work]?.awaitsURL, refused != "content.changed" else {
                return nil
            }
            return Plan.Ended(work: work, result: .failed(code ?? refused))
        }
        settle(ended)
        for one in ended where one.work.offset != nil {
            guard case .failed(let code) = one.result else { continue }
            partFailed(one.work, code)
        }
    }
}

extension QueueModel.Asset {
    mutating func forgetRenewals() {
        isRenewing = false
        renewals = 0
        renewedDone = doneCount
    }
}
