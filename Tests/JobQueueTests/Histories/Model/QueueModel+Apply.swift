import API
import Model
import TestSupport

extension QueueModel {
    /// Carries a step out and says what the queue may answer. A claim is carried out by `grant`,
    /// when it is known what was given.
    mutating func apply(_ step: Step) -> Expected {
        switch step {
        case .open(let catalog): return .exactly(open(catalog))
        case .add(let catalog, let generation, let specs):
            return .exactly(add(specs, to: catalog, generation))
        case .start(let catalog, let generation): return .exactly(start(catalog, generation))
        case .interrupt(let catalog): return .exactly(interrupt(catalog))
        case .claim(let lease, _, let sites, let most):
            // What was released before is never granted.
            let isFree = leases[lease] == nil
            return claimable(sites: sites, most: isFree ? most : 0)
        case .release(let worker, let lease):
            release(lease, by: worker)
            return .exactly(.nothing)
        case .heartbeat(let worker, let leases): return heartbeat(worker, leases)
        case .report(let worker, let results):
            return .accepted(reportPlain(results, by: worker))
        case .reportRest(let worker, let results):
            return .exactly(reportRest(results, by: worker))
        case .addSegments(let worker, let ticket, let segments):
            return .exactly(addSegments(segments, ticket, by: worker))
        case .split(let worker, let ticket, let split, let totalBytes):
            return .exactly(self.split(ticket, by: worker, split, totalBytes))
        case .beginRefresh(let worker, let ticket):
            return .exactly(beginRefresh(ticket, by: worker))
        case .handIn(let worker, let ticket, _, let object, let publishes):
            return .exactly(handIn(object, ticket, by: worker, publishes: publishes))
        case .sweep: return .exactly(sweep())
        case .tidy:
            abandonMultipartFiles()
            return .exactly(.nothing)
        case .choose: return .exactly(.nothing)
        case .operate(let operation): return operate(operation)
        case .control(let site, let state): return control(site, state)
        case .recordVolume(let worker, let lease, let site, let volume, let fileSystem):
            return .exactly(
                record(volume, on: fileSystem, of: site, under: lease, by: worker))
        case .acceptVolume(let site): return .exactly(acceptVolume(of: site))
        case .fold:
            fold()
            return .exactly(.nothing)
        case .expire(let ended):
            for lease in ended { leases[lease]?.isOverdue = true }
            return .exactly(.nothing)
        case .due:
            for work in jobs.keys { jobs[work]?.isDelayed = false }
            originsInCooldown = []
            faultySites = []
            return .exactly(.nothing)
        }
    }

    // MARK: Claims

    private func claimable(sites wanted: [Int], most: Int) -> Expected {
        var permitted: [Granted] = []
        var sites: [Work: Int] = [:]
        var mustGive = false
        for (work, job) in jobs
        where job.hold == nil && !job.isDelayed && job.awaitsURL == nil
            && job.priority != Job.paused
        {
            let site = site(of: work)
            let isInCooldown = origin(of: work).map(originsInCooldown.contains) ?? false
            // A verification asks nothing of the origin; whether it waits all the same is not said. Nor is what
            // has gone to a mirror.
            guard wanted.isEmpty || wanted.contains(site), queues[site] != .paused,
                !faultySites.contains(site), catalogs[work.catalog]?.isHeldBack == false,
                !isInCooldown || work.kind == .verify || hasMirror(work)
            else { continue }
            permitted.append(granted(work, attempt: job.attempt + 1))
            sites[work] = site
            mustGive = mustGive || !isInCooldown
        }
        return .grant(of: permitted, sites: sites, most: most, mustGive: mustGive && most > 0)
    }

    /// The description of a job for a worker.
    private func granted(_ work: Work, attempt: Int) -> Granted {
        var granted = Granted(work: work, attempt: attempt)
        guard let key = work.asset, let segment = self[key]?.segments[work.ordinal],
            ![.resolve, .refresh, .publish].contains(work.kind)
        else { return granted }
        granted.sha256 = segment.spec.sha256
        if let offset = work.offset {
            granted.sha256 = nil
            granted.length = segment.multipart?.lengths[offset]
        } else if work.kind == .fetch {
            granted.length = segment.spec.bytes
        }
        if work.kind == .verify || work.offset != nil { granted.split = segment.multipart?.split }
        if work.kind == .verify {
            granted.parts = segment.multipart?.parts.compactMapValues(\.stored?.sha256)
        }
        if work.kind == .fetch {
            let piece =
                work.offset.map { segment.multipart?.parts[$0] ?? Piece() } ?? segment.whole
            granted.known = piece.stored
        }
        return granted
    }

    /// Carries out a claim that was answered with `works`.
    mutating func grant(_ works: [Work], under lease: Int, to worker: Int) {
        guard !works.isEmpty else { return }
        leases[lease] = Lease(worker: worker)
        for work in works {
            jobs[work]?.hold = Ticket(lease: lease, work: work)
            jobs[work]?.attempt += 1
        }
    }

    // MARK: Leases

    private mutating func release(_ lease: Int, by worker: Int) {
        guard let owner = leases[lease]?.worker else {
            leases[lease] = Lease(worker: worker)
            return
        }
        guard owner == worker else { return }
        var plan = Plan()
        plan.returned = jobs.filter { $0.value.hold?.lease == lease }.keys.sorted()
        execute(plan)
    }

    private mutating func heartbeat(_ worker: Int, _ named: [Int]) -> Expected {
        let own = Set(named.filter { leases[$0]?.worker == worker })
        for lease in own { leases[lease]?.isOverdue = false }
        // One that holds nothing any more may have been forgotten.
        let told = own.filter { leases[$0]?.cancelled.isEmpty == false }
        let cancelled = told.flatMap { leases[$0]?.cancelled ?? [] }.sorted()
        return .leases(must: own.filter(holdsWork).union(told), may: own, cancelled: cancelled)
    }

    private mutating func sweep() -> Answer {
        let overdue = Set(leases.filter(\.value.isOverdue).keys)
        let lost = jobs.filter { $0.value.hold.map { overdue.contains($0.lease) } ?? false }.keys
            .sorted()
        var plan = Plan()
        for work in lost {
            plan.fail(work, "worker.lost", retryAfter: nil, in: self)
        }
        execute(plan)
        for lease in overdue { leases[lease] = nil }
        return .swept(lost.count)
    }

    // MARK: Titles and large files

    private mutating func addSegments(
        _ specs: [SegmentSpec], _ ticket: Ticket, by worker: Int
    ) -> Answer {
        guard let work = held(ticket, by: worker) else { return .verdicts([.stale]) }
        guard work.kind == .resolve, let key = work.asset else { return .verdicts([.rejected]) }
        if self[key]?.isRenewing == true {
            renew(specs, of: key)
            return .verdicts([.accepted])
        }
        for spec in specs where self[key]?.segments[spec.ordinal]?.spec != spec {
            // One that is listed otherwise than before starts from nothing; a signature is no other one.
            let former = self[key]?.segments[spec.ordinal]
            let isSame =
                former?.spec.key == spec.key
                && former.map { objectOf($0.spec.url) } == objectOf(spec.url)
            if !isSame {
                self[key]?.segments[spec.ordinal, default: Segment(spec: spec)].whole = Piece()
            }
            self[key]?.segments[spec.ordinal]?.spec = spec
            self[key]?.segments[spec.ordinal]?.isFresh = false
        }
        return .verdicts([.accepted])
    }

    private mutating func split(
        _ ticket: Ticket, by worker: Int, _ split: Int, _ totalBytes: Int64
    ) -> Answer {
        guard let work = held(ticket, by: worker) else { return .splitInto(.stale) }
        guard work.kind == .fetch, let key = work.asset, let job = jobs[work] else {
            return .splitInto(.rejected)
        }
        if let offset = work.offset {
            // Only the same request again is accepted.
            let known = self[key]?.segments[work.ordinal]?.multipart?.split
            return .splitInto(offset == 0 && known == split ? .accepted : .rejected)
        }
        var lengths: [Int64: Int64] = [:]
        for offset in stride(from: 0, to: totalBytes, by: Int(Step.partBytes)) {
            lengths[offset] = min(Step.partBytes, totalBytes - offset)
            jobs[.fetch(key, work.ordinal, offset: offset)] = offset == 0 ? job : newJob(of: key)
        }
        jobs[work] = nil
        self[key]?.segments[work.ordinal]?.whole.tally = nil
        self[key]?.segments[work.ordinal]?.multipart = MultipartFile(
            split: split, totalBytes: totalBytes, parts: lengths.mapValues { _ in Piece() },
            lengths: lengths, attempt: job.attempt)
        self[key]?.state = .inProgress
        return .splitInto(.accepted)
    }
}

extension QueueModel.Piece {
    var stored: StoredObject? {
        if case .stored(let object) = result { object } else { nil }
    }
}
