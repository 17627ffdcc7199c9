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
            let origin = waiting.origin
            origin.lines.stopped.append(waiting)
            origin.lines.pending += 1
            state.waitingCount += 1
            state.classes?.putLast(origin)
            state.wait(origin, for: .slow, &effects, now: now)
            if origin.cooldown != nil { state.review(origin, &effects, now: now) }
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
        guard classes != nil, let origin = judgement.origins.first else { return }
        let id = judgement.transfer
        if case .slow = judgement.pace {
            var entry =
                classes?.slow[id]
                ?? SlotClasses.Slow(
                    origin: origin, home: judgement.origins.last ?? origin, loop: loop)
            entry.isJudged = true
            entry.bytesAtRisk = judgement.bytesAtRisk
            entry.mayStop = judgement.mayStop
            entry.losses = judgement.losses
            entry.slowSeconds = judgement.slowSeconds
            classes?.set(id, entry)
        } else {
            classes?.remove(id)
        }
        add(judgement.pace, of: judgement.origins, &effects, now: now)
    }

    /// Records a transfer's pace on the origins that it used.
    private mutating func add(
        _ pace: TransferPace, of origins: [OriginState], _ effects: inout Effects, now: Double
    ) {
        for origin in origins {
            let credit = Int(origin.pace.credit)
            let hasChanged = origin.pace.add(pace, now: now)
            if case .prompt = pace { classes?.trials.favour(origin) }
            if Int(origin.pace.credit) > credit { markReady(origin, &effects, now: now) }
            guard hasChanged else { continue }
            if origin.pace.isSlow {
                self.origins.noteSlow()
                if !origin.lines.skipped.isEmpty { wait(origin, for: .slow, &effects, now: now) }
            } else {
                review(origin, &effects, now: now)
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
        let origins = release.home.map { [release.origin, $0] } ?? [release.origin]
        add(release.pace, of: origins, &effects, now: now)
    }

    // MARK: Classes

    /// Returns the class of an origin's next transfer.
    func slotClass(of origin: OriginState) -> SlotClass {
        if classes == nil { return .prompt }
        if origin.pace.isSlow { return .slow }
        return origin.promptRoom > 0 ? .prompt : .trial
    }

    /// Returns the class in which an origin's next transfer may start now; nil if it cannot.
    func openClass(of origin: OriginState, on loop: Int) -> SlotClass? {
        guard let classes else { return .prompt }
        let slotClass = slotClass(of: origin)
        return switch slotClass {
        case .prompt: slotClass
        case .trial:
            classes.trialRoom(on: loop, guaranteed: false) > 0 || isAlone(origin) ? slotClass : nil
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
                ? waiting.origin : origin(ofURL: waiting.transfer.request.url, now: now)
            classes?.set(
                id,
                SlotClasses.Slow(
                    origin: waiting.origin, home: home, loop: loop,
                    mayStop: waiting.route?.mayStop ?? true, losses: waiting.route?.losses ?? 0))
        }
    }

    /// Queues an origin for a slot of a class.
    mutating func wait(
        _ origin: OriginState, for slotClass: SlotClass, on loop: Int? = nil,
        _ effects: inout Effects,
        now: Double
    ) {
        askForTick(at: now + ReviewSchedule.sampleSeconds, &effects)
        switch slotClass {
        case .prompt: return
        case .trial:
            guard !origin.slow.isOnTrial else { return }
            classes?.trials.wait(origin)
        case .slow:
            guard !origin.slow.isWaiting else { return }
            classes?.waitForSlow(origin)
        }
        effects.wake.formUnion((0..<loops).filter { $0 != loop })
    }

    // MARK: Starting

    /// Maximum number of origins to try in one search for a transfer that can start.
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
            let origin = classes?.nextSlow(on: loop, guaranteed: guaranteed, but: tried)
        {
            if !startNext(of: origin, .slow, guaranteed, on: loop, into: &batch, now: now) {
                tried.insert(ObjectIdentifier(origin))
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
            if let origin = classes?.trials.nextPromising() {
                guard !origin.lines.skipped.isEmpty, !origin.pace.isSlow else { continue }
                _ = startNext(of: origin, .trial, guaranteed, on: loop, into: &batch, now: now)
                continue
            }
            guard let origin = classes?.trials.next() else { break }
            guard !origin.lines.skipped.isEmpty, !origin.pace.isSlow else {
                origin.slow.isOnTrial = false
                continue
            }
            classes?.trials.waitAgain(origin)
            if startNext(of: origin, .trial, guaranteed, on: loop, into: &batch, now: now) {
                looks = Self.maxLooks
            }
        }
    }

    /// Starts an origin's next transfer of a class if the origin admits one; returns false if none
    /// started.
    private mutating func startNext(
        of origin: OriginState, _ slotClass: SlotClass, _ guaranteed: Bool, on loop: Int,
        into batch: inout Batch, now: Double
    ) -> Bool {
        let isSlow = slotClass == .slow
        let next = isSlow ? origin.firstSlow(guaranteed: guaranteed) : origin.lines.skipped.first
        guard let next else { return false }
        switch origin.admit(next.transfer.id, on: loop, now: now) {
        case .later(let time): review(origin, at: time, &batch.effects)
        case .full: break
        case .now:
            _ =
                isSlow
                ? origin.popFirstSlow(guaranteed: guaranteed) : origin.lines.skipped.popFirst()
            enter(slotClass, next, on: loop, now: now)
            start(next, on: loop, into: &batch, now: now)
            return true
        }
        return false
    }
}
