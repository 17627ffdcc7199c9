import API
import Model
import TestSupport

/// Refreshes of what is completed, and their publications.
extension QueueModel {
    /// - Parameter names: of those selected; nil for all.
    mutating func refresh(_ names: [String]?, of number: Int) -> Expected {
        guard let catalog = catalogs[number] else { return .exactly(.refused("input.notFound")) }
        guard catalog.opened == catalog.generation else {
            return .exactly(.refused("input.field"))
        }
        let present = catalog.assets.filter { $0.value.generation == catalog.generation }
        guard !present.values.contains(where: { [.new, .interrupted].contains($0.state) }) else {
            return .exactly(.refused("input.field"))
        }
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        // The deadline was that of the run before.
        if catalog.state != .running { catalogs[number]?.isOverdue = false }
        for name in catalog.assets.keys {
            catalogs[number]?.assets[name]?.isCounted = present[name] != nil
        }
        for (name, asset) in present where asset.state == .completed {
            let key = AssetKey(catalog: number, name: name)
            // Of one whose refresh has failed, that is history.
            self[key]?.failures = []
            guard !asset.isRedefined, names?.contains(name) ?? true else { continue }
            self[key]?.state = .refreshing
            self[key]?.retries = 0
            self[key]?.handedIn = nil
            jobs[.refresh(key)] = newJob(of: key)
            answer.assets += 1
            answer.jobs += 1
        }
        beginTotals(number, catalog.generation, [])
        return .selected(answer, isWritten: true)
    }

    /// Whether a start would take an asset away that is in the midst of its publication.
    func isPublishing(_ number: Int, before generation: Int) -> Bool {
        catalogs[number]?.assets.values.contains {
            $0.state == .publishing && ($0.isRedefined || $0.generation < generation)
        } ?? false
    }

    mutating func beginRefresh(_ ticket: Ticket, by worker: Int) -> Answer {
        guard let work = held(ticket, by: worker), let key = work.asset,
            [.refresh, .publish].contains(work.kind)
        else { return .refused("worker.leaseLost") }
        if work.kind == .refresh, self[key]?.handedIn?.by != ticket { self[key]?.handedIn = nil }
        return .nothing
    }

    mutating func handIn(
        _ object: StoredObject, _ ticket: Ticket, by worker: Int, publishes: Bool
    ) -> Answer {
        guard let work = held(ticket, by: worker) else { return .verdicts([.stale]) }
        guard let key = work.asset, [.refresh, .publish].contains(work.kind) else {
            return .verdicts([.rejected])
        }
        if work.kind == .publish {
            // Granted to this ticket, and requested once more.
            let isRepeated = publishes && self[key]?.handedIn?.by == ticket
            return .verdicts([isRepeated ? .accepted : .rejected])
        }
        self[key]?.handedIn = HandedIn(object: object, by: ticket, isStaged: publishes)
        guard publishes, var job = jobs.removeValue(forKey: work) else {
            return .verdicts([.accepted])
        }
        job.attempt = 1
        jobs[.publish(key)] = job
        self[key]?.state = .publishing
        return .verdicts([.accepted])
    }

    /// A refresh ended, or the publication of one.
    mutating func refreshed(_ work: Work, _ outcome: RefreshOutcome, _ code: FailureCode?) {
        jobs[work] = nil
        guard let key = work.asset, var asset = self[key] else { return }
        let handedIn = asset.handedIn
        asset.handedIn = nil
        asset.failures = code.map { [$0] } ?? []
        if work.kind == .publish, outcome == .failed {
            asset.state = .failed
            asset.isResolved = false
            // Which bytes lie there is not known.
            asset.segments[0]?.whole.result = nil
            for offset in asset.segments[0]?.multipart?.parts.keys.sorted() ?? [] {
                asset.segments[0]?.multipart?.parts[offset]?.result = nil
            }
        } else {
            asset.state = .completed
            if outcome != .failed, let object = handedIn?.object {
                asset.segments[0]?.whole.result = .stored(object)
            }
            if outcome == .changed {
                asset.refreshedBytes = asset.segments.values.reduce(0) {
                    $0 + ($1.whole.stored?.bytes ?? 0)
                }
            }
            asset.adoptedBytes = min(asset.adoptedBytes, asset.bytes)
        }
        self[key] = asset
    }
}
