import Synchronization

/// Slow transfers: who is one, when one starts, and when one is stopped so that others have its slot.
extension OriginScheduler {
    /// Takes notice of what a loop has seen of its transfers.
    func judge(_ judgements: [Judgement], on loop: Int, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for judgement in judgements { state.judge(judgement, on: loop, &effects, now: now) }
            return effects
        }
    }

    /// Transfers of a loop that are to be stopped.
    func takeStops(on loop: Int) -> [UInt64] {
        state.withLock { $0.classes?.takeStops(on: loop) ?? [] }
    }

    /// A transfer cannot be stopped after all.
    func keep(_ transfer: UInt64) {
        state.withLock { $0.classes?.keep(transfer) }
    }

    /// Has a transfer wait for a slow slot, whose own slot is free then; false when it was cancelled.
    func stop(
        _ waiting: Waiting, from release: Release, on loop: Int, now: Double
    ) -> (waits: Bool, effects: Effects) {
        state.withLock { state in
            var effects = Effects()
            state.release(release, on: loop, &effects, now: now)
            guard !state.isCancelled(waiting.transfer) else { return (false, effects) }
            let lane = waiting.lane
            lane.slowLine.append(waiting)
            lane.pending += 1
            state.waitingCount += 1
            state.classes?.putLast(lane)
            state.wait(lane, for: .slow, &effects, now: now)
            if lane.cooling != nil { state.review(lane, &effects, now: now) }
            return (true, effects)
        }
    }

    /// What is in hand beside prompt work, with at most `most` origins.
    func slowWork(most: Int, now: Double) -> SlowWork {
        state.withLock { $0.slowWork(most: most, now: now) }
    }
}

extension OriginScheduler.State {
    typealias Batch = OriginScheduler.Batch

    /// Which slots a transfer competes for.
    enum SlotClass {
        case prompt
        case trial
        case slow
    }

    // MARK: Who is slow

    mutating func judge(
        _ judgement: Judgement, on loop: Int, _ effects: inout Effects, now: Double
    ) {
        guard classes != nil, let lane = judgement.lanes.first else { return }
        let id = judgement.transfer
        if case .slow = judgement.pace {
            var entry =
                classes?.slow[id]
                ?? SlotClasses.Slow(lane: lane, home: judgement.lanes.last ?? lane, loop: loop)
            entry.isJudged = true
            entry.bytesAtRisk = judgement.bytesAtRisk
            entry.mayStop = judgement.mayStop
            entry.losses = judgement.losses
            entry.slowSeconds = judgement.slowSeconds
            classes?.set(id, entry)
        } else {
            classes?.remove(id)
        }
        add(judgement.pace, of: judgement.lanes, &effects, now: now)
    }

    /// Books what was seen of a transfer on the origins that it was at.
    private mutating func add(
        _ pace: TransferPace, of lanes: [OriginLane], _ effects: inout Effects, now: Double
    ) {
        for lane in lanes {
            let credit = Int(lane.pace.credit)
            let hasChanged = lane.pace.add(pace, now: now)
            if case .prompt = pace { classes?.favour(lane) }
            if Int(lane.pace.credit) > credit { markReady(lane, &effects, now: now) }
            guard hasChanged else { continue }
            if lane.pace.isSlow {
                hasSlowLanes = true
                if !lane.line.isEmpty { wait(lane, for: .slow, &effects, now: now) }
            } else {
                review(lane, &effects, now: now)
            }
        }
    }

    /// Takes a transfer that has left its slot out of its class, and books its end on its origins.
    mutating func leaveClass(
        _ release: OriginScheduler.Release, _ effects: inout Effects, now: Double
    ) {
        guard classes != nil else { return }
        // Of one that was slow to its end, all is booked.
        let left = classes?.remove(release.transfer)
        if let left { classes?.book(left) }
        guard left?.isJudged != true, release.pace != .unknown else { return }
        let lanes = release.home.map { [release.lane, $0] } ?? [release.lane]
        add(release.pace, of: lanes, &effects, now: now)
    }

    // MARK: Classes

    /// The class that a lane's next transfer belongs to.
    func slotClass(of lane: OriginLane) -> SlotClass {
        if classes == nil { return .prompt }
        if lane.pace.isSlow { return .slow }
        return lane.promptRoom > 0 ? .prompt : .trial
    }

    /// The class in which a lane's next transfer may start now; nil for none.
    func openClass(of lane: OriginLane, on loop: Int) -> SlotClass? {
        guard let classes else { return .prompt }
        let slotClass = slotClass(of: lane)
        return switch slotClass {
        case .prompt: slotClass
        case .trial: classes.trialRoom(on: loop, guaranteed: false) > 0 ? slotClass : nil
        case .slow: classes.maySlowStart(on: loop, guaranteed: false) ? slotClass : nil
        }
    }

    /// Puts a transfer that is about to start into its class.
    mutating func enter(
        _ slotClass: SlotClass, _ waiting: Waiting, on loop: Int, now: Double
    ) {
        let id = waiting.transfer.id
        switch slotClass {
        case .prompt: break
        case .trial: classes?.addTrial(id, on: loop)
        case .slow:
            let isAtHome = (waiting.route?.redirects ?? 0) == 0
            let home =
                isAtHome
                ? waiting.lane : lane(ofURL: waiting.transfer.request.url, now: now)
            classes?.set(
                id,
                SlotClasses.Slow(
                    lane: waiting.lane, home: home, loop: loop,
                    mayStop: waiting.route?.mayStop ?? true, losses: waiting.route?.losses ?? 0))
        }
    }

    /// Has a lane wait for a slot of a class, in turn with others.
    mutating func wait(
        _ lane: OriginLane, for slotClass: SlotClass, on loop: Int? = nil, _ effects: inout Effects,
        now: Double
    ) {
        askForTick(at: now + Self.sampleSeconds, &effects)
        switch slotClass {
        case .prompt: return
        case .trial:
            guard !lane.isInTrialLanes else { return }
            lane.isInTrialLanes = true
            classes?.trialLanes.append(lane)
        case .slow:
            guard !lane.isInSlowLanes else { return }
            classes?.waitForSlow(lane)
        }
        effects.wake.formUnion((0..<loops).filter { $0 != loop })
    }

    // MARK: Starting

    /// So many lanes are looked at for one that can start something.
    private static let mostLooks = 16

    /// Starts transfers that are slow, or on trial, one of each origin in turn: in their own slots, or in all that
    /// there are for them.
    mutating func takeOthers(
        _ limit: Int, on loop: Int, guaranteed: Bool, into batch: inout Batch, now: Double
    ) {
        guard classes?.isAnyWaiting == true else { return }
        var tried: Set<ObjectIdentifier> = []
        while tried.count < Self.mostLooks, batch.starts.count < limit,
            classes?.maySlowStart(on: loop, guaranteed: guaranteed) == true,
            let lane = classes?.nextSlow(on: loop, guaranteed: guaranteed, but: tried)
        {
            if !startNext(of: lane, .slow, guaranteed, on: loop, into: &batch, now: now) {
                tried.insert(ObjectIdentifier(lane))
            }
        }
        takeTrials(limit, on: loop, guaranteed: guaranteed, into: &batch, now: now)
    }

    private mutating func takeTrials(
        _ limit: Int, on loop: Int, guaranteed: Bool, into batch: inout Batch, now: Double
    ) {
        var looks = Self.mostLooks
        while looks > 0, batch.starts.count < limit,
            (classes?.trialRoom(on: loop, guaranteed: guaranteed) ?? 0) > 0
        {
            looks -= 1
            if let lane = classes?.nextPromising() {
                guard !lane.line.isEmpty, !lane.pace.isSlow else { continue }
                _ = startNext(of: lane, .trial, guaranteed, on: loop, into: &batch, now: now)
                continue
            }
            guard let lane = classes?.nextTrial() else { break }
            guard !lane.line.isEmpty, !lane.pace.isSlow else {
                lane.isInTrialLanes = false
                continue
            }
            classes?.triedLanes.append(lane)
            if startNext(of: lane, .trial, guaranteed, on: loop, into: &batch, now: now) {
                looks = Self.mostLooks
            }
        }
    }

    /// Starts a lane's next transfer of a class, where its origin admits one; false for none.
    private mutating func startNext(
        of lane: OriginLane, _ slotClass: SlotClass, _ guaranteed: Bool, on loop: Int,
        into batch: inout Batch, now: Double
    ) -> Bool {
        let isSlow = slotClass == .slow
        let next = isSlow ? lane.firstSlow(guaranteed: guaranteed) : lane.line.first
        guard let next else { return false }
        switch lane.admit(next.transfer.id, on: loop, now: now) {
        case .later(let time): review(lane, at: time, &batch.effects)
        case .full: break
        case .now:
            _ = isSlow ? lane.popFirstSlow(guaranteed: guaranteed) : lane.line.popFirst()
            enter(slotClass, next, on: loop, now: now)
            start(next, on: loop, into: &batch, now: now)
            return true
        }
        return false
    }
}
