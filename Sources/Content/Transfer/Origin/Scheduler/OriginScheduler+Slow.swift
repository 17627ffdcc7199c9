import Synchronization

/// Slow transfers: judges which are slow, starts them, and stops them when others need their slots.
extension OriginScheduler {
    /// Records a loop's judgements of its transfers.
    func judge(_ judgements: [Judgement], on loop: Int, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for judgement in judgements { state.judge(judgement, on: loop, &effects, now: now) }
            return effects
        }
    }

    /// Removes and returns the transfers of a loop that must stop.
    func takeStops(on loop: Int) -> [UInt64] {
        state.withLock { $0.classes?.takeStops(on: loop) ?? [] }
    }

    /// Records that a transfer cannot be stopped.
    func keep(_ transfer: UInt64) {
        state.withLock { $0.classes?.keep(transfer) }
    }

    /// Queues a stopped transfer for a slow slot and releases its own slot; `waits` is false when
    /// it was cancelled.
    func stop(
        _ waiting: Waiting, from release: Release, on loop: Int, now: Double
    ) -> (waits: Bool, effects: Effects) {
        state.withLock { state in
            var effects = Effects()
            state.release(release, on: loop, &effects, now: now)
            guard !state.cancellations.contains(waiting.transfer) else { return (false, effects) }
            let lane = waiting.lane
            lane.lines.stopped.append(waiting)
            lane.lines.pending += 1
            state.waitingCount += 1
            state.classes?.putLast(lane)
            state.wait(lane, for: .slow, &effects, now: now)
            if lane.cooling != nil { state.review(lane, &effects, now: now) }
            return (true, effects)
        }
    }

    /// Returns the slow work of all origins, and the names of at most `most` of them.
    func slowWork(most: Int, now: Double) -> SlowWork {
        state.withLock { $0.slowWork(most: most, now: now) }
    }
}

extension OriginScheduler.State {
    typealias Batch = OriginScheduler.Batch

    /// The kind of slots that a transfer competes for.
    enum SlotClass {
        case prompt
        case trial
        case slow
    }

    // MARK: Judging

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

    /// Records a transfer's pace on the origins that it used.
    private mutating func add(
        _ pace: TransferPace, of lanes: [OriginState], _ effects: inout Effects, now: Double
    ) {
        for lane in lanes {
            let credit = Int(lane.pace.credit)
            let hasChanged = lane.pace.add(pace, now: now)
            if case .prompt = pace { classes?.trials.favour(lane) }
            if Int(lane.pace.credit) > credit { markReady(lane, &effects, now: now) }
            guard hasChanged else { continue }
            if lane.pace.isSlow {
                self.lanes.noteSlow()
                if !lane.lines.skipped.isEmpty { wait(lane, for: .slow, &effects, now: now) }
            } else {
                review(lane, &effects, now: now)
            }
        }
    }

    /// Removes a transfer that has left its slot from its class, and records its pace on its
    /// origins.
    mutating func leaveClass(
        _ release: OriginScheduler.Release, _ effects: inout Effects, now: Double
    ) {
        guard classes != nil else { return }
        // For a transfer that was slow to its end, everything is recorded already.
        let left = classes?.remove(release.transfer)
        if let left { classes?.book(left) }
        guard left?.isJudged != true, release.pace != .unknown else { return }
        let lanes = release.home.map { [release.lane, $0] } ?? [release.lane]
        add(release.pace, of: lanes, &effects, now: now)
    }

    // MARK: Classes

    /// Returns the class of a lane's next transfer.
    func slotClass(of lane: OriginState) -> SlotClass {
        if classes == nil { return .prompt }
        if lane.pace.isSlow { return .slow }
        return lane.promptRoom > 0 ? .prompt : .trial
    }

    /// Returns the class in which a lane's next transfer may start now; nil if it cannot.
    func openClass(of lane: OriginState, on loop: Int) -> SlotClass? {
        guard let classes else { return .prompt }
        let slotClass = slotClass(of: lane)
        return switch slotClass {
        case .prompt: slotClass
        case .trial:
            classes.trialRoom(on: loop, guaranteed: false) > 0 || isAlone(lane) ? slotClass : nil
        case .slow: classes.maySlowStart(on: loop, guaranteed: false) ? slotClass : nil
        }
    }

    /// Adds a transfer that is about to start to its class.
    mutating func enter(
        _ slotClass: SlotClass, _ waiting: Waiting, on loop: Int, now: Double
    ) {
        let id = waiting.transfer.id
        switch slotClass {
        case .prompt: break
        case .trial: classes?.trials.add(id, on: loop)
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

    /// Queues a lane for a slot of a class.
    mutating func wait(
        _ lane: OriginState, for slotClass: SlotClass, on loop: Int? = nil,
        _ effects: inout Effects,
        now: Double
    ) {
        askForTick(at: now + ReviewSchedule.sampleSeconds, &effects)
        switch slotClass {
        case .prompt: return
        case .trial:
            guard !lane.slow.isOnTrial else { return }
            classes?.trials.wait(lane)
        case .slow:
            guard !lane.slow.isWaiting else { return }
            classes?.waitForSlow(lane)
        }
        effects.wake.formUnion((0..<loops).filter { $0 != loop })
    }

    // MARK: Starting

    /// Maximum number of lanes to try in one search for a transfer that can start.
    private static let maxLooks = 16

    /// Starts slow transfers and ones on trial, one of each origin in turn: in their own slots
    /// only, or in all slots that they may use.
    mutating func takeOthers(
        _ limit: Int, on loop: Int, guaranteed: Bool, into batch: inout Batch, now: Double
    ) {
        guard classes?.isAnyWaiting == true else { return }
        var tried: Set<ObjectIdentifier> = []
        while tried.count < Self.maxLooks, batch.starts.count < limit,
            classes?.maySlowStart(on: loop, guaranteed: guaranteed) == true,
            let lane = classes?.nextSlow(on: loop, guaranteed: guaranteed, but: tried)
        {
            if !startNext(of: lane, .slow, guaranteed, on: loop, into: &batch, now: now) {
                tried.insert(ObjectIdentifier(lane))
            }
        }
        takeTrials(limit, on: loop, guaranteed: guaranteed, into: &batch, now: now)
    }

    /// Returns true if another transfer on trial may start on a loop: in the slots for these, or,
    /// while a single origin has transfers, in any, because no other origin needs slots.
    private func mayTrialStart(on loop: Int, guaranteed: Bool) -> Bool {
        guard let classes else { return false }
        if classes.trialRoom(on: loop, guaranteed: guaranteed) > 0 { return true }
        return !guaranteed && (classes.trials.anyWaiting.map(isAlone) ?? false)
    }

    private mutating func takeTrials(
        _ limit: Int, on loop: Int, guaranteed: Bool, into batch: inout Batch, now: Double
    ) {
        var looks = Self.maxLooks
        while looks > 0, batch.starts.count < limit,
            mayTrialStart(on: loop, guaranteed: guaranteed)
        {
            looks -= 1
            if let lane = classes?.trials.nextPromising() {
                guard !lane.lines.skipped.isEmpty, !lane.pace.isSlow else { continue }
                _ = startNext(of: lane, .trial, guaranteed, on: loop, into: &batch, now: now)
                continue
            }
            guard let lane = classes?.trials.next() else { break }
            guard !lane.lines.skipped.isEmpty, !lane.pace.isSlow else {
                lane.slow.isOnTrial = false
                continue
            }
            classes?.trials.waitAgain(lane)
            if startNext(of: lane, .trial, guaranteed, on: loop, into: &batch, now: now) {
                looks = Self.maxLooks
            }
        }
    }

    /// Starts a lane's next transfer of a class if its origin admits one; returns false if none
    /// started.
    private mutating func startNext(
        of lane: OriginState, _ slotClass: SlotClass, _ guaranteed: Bool, on loop: Int,
        into batch: inout Batch, now: Double
    ) -> Bool {
        let isSlow = slotClass == .slow
        let next = isSlow ? lane.firstSlow(guaranteed: guaranteed) : lane.lines.skipped.first
        guard let next else { return false }
        switch lane.admit(next.transfer.id, on: loop, now: now) {
        case .later(let time): review(lane, at: time, &batch.effects)
        case .full: break
        case .now:
            _ = isSlow ? lane.popFirstSlow(guaranteed: guaranteed) : lane.lines.skipped.popFirst()
            enter(slotClass, next, on: loop, now: now)
            start(next, on: loop, into: &batch, now: now)
            return true
        }
        return false
    }
}
