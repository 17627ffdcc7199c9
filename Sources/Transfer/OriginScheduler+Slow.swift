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
        state.withLock { state in
            state.classes?.update(transfer) { ($0.isStopping, $0.mayStop) = (false, false) }
        }
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
            state.wait(lane, for: .slow, &effects, now: now)
            if lane.cooling != nil { state.review(lane, &effects, now: now) }
            return (true, effects)
        }
    }

    /// What is in hand beside prompt work, with at most `most` origins.
    func slowWork(most: Int) -> SlowWork { state.withLock { $0.slowWork(most: most) } }
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
        guard let classes, let lane = judgement.lanes.first else { return }
        let id = judgement.transfer
        if case .slow = judgement.pace {
            var entry = classes.slow[id] ?? SlotClasses.Slow(lane: lane, loop: loop)
            entry.isJudged = true
            entry.bytesAtRisk = judgement.bytesAtRisk
            entry.mayStop = judgement.mayStop
            if classes.slow[id] == nil { classes.addSlow(id, entry) }
            classes.update(id) { $0 = entry }
        } else {
            classes.remove(id)
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
        guard let classes else { return }
        // Of one that was slow to its end, all is booked.
        guard classes.remove(release.transfer)?.isJudged != true, release.pace != .unknown else {
            return
        }
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
    func enter(_ slotClass: SlotClass, _ waiting: Waiting, on loop: Int) {
        let id = waiting.transfer.id
        switch slotClass {
        case .prompt: break
        case .trial: classes?.addTrial(id, on: loop)
        case .slow:
            classes?.addSlow(
                id,
                SlotClasses.Slow(
                    lane: waiting.lane, loop: loop, mayStop: waiting.hop?.mayStop ?? true))
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
            lane.isInSlowLanes = true
            classes?.slowLanes.append(lane)
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
        guard let classes, classes.isAnyWaiting else { return }
        var looks = Self.mostLooks
        while looks > 0, batch.starts.count < limit, !classes.slowLanes.isEmpty,
            classes.maySlowStart(on: loop, guaranteed: guaranteed)
        {
            looks -= 1
            let lane = classes.slowLanes.removeFirst()
            guard lane.slowWaitingCount > 0 else {
                lane.isInSlowLanes = false
                continue
            }
            classes.slowLanes.append(lane)
            if startNext(of: lane, .slow, guaranteed, on: loop, into: &batch, now: now) {
                looks = Self.mostLooks
            }
        }
        looks = Self.mostLooks
        while looks > 0, batch.starts.count < limit,
            classes.trialRoom(on: loop, guaranteed: guaranteed) > 0
        {
            looks -= 1
            if let lane = classes.nextPromising() {
                guard !lane.line.isEmpty, !lane.pace.isSlow else { continue }
                _ = startNext(of: lane, .trial, guaranteed, on: loop, into: &batch, now: now)
                continue
            }
            guard let lane = classes.nextTrial() else { break }
            guard !lane.line.isEmpty, !lane.pace.isSlow else {
                lane.isInTrialLanes = false
                continue
            }
            classes.triedLanes.append(lane)
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
            enter(slotClass, next, on: loop)
            start(next, on: loop, into: &batch, now: now)
            return true
        }
        return false
    }

    // MARK: Time

    /// Stops slow transfers whose slots others wait for, returns what is too much to wait here, and wakes loops
    /// that may have slots for what waits.
    mutating func reviewClasses(_ effects: inout Effects, now: Double) {
        guard let classes else { return }
        classes.rotatePeaks(now: now)
        if hasSlowLanes { sortQueue(&effects, now: now) }
        if classes.slow.count > classes.quota || classes.isAnyWaiting {
            meetDemand(classes, &effects, now: now)
        }
        guard classes.isAnyWaiting else { return }
        returnExcess(classes, &effects)
        effects.wake.formUnion(0..<loops)
        askForTick(at: now + Self.sampleSeconds, &effects)
    }

    /// Takes out of the common queue what waits for more than its turn, so that it is known how much that is.
    private mutating func sortQueue(_ effects: inout Effects, now: Double) {
        guard !queue.isEmpty else { return }
        for waiting in queue.remove(where: { $0.lane.pace.isSlow }) {
            waiting.lane.line.append(waiting)
            wait(waiting.lane, for: .slow, &effects, now: now)
            if waiting.lane.cooling != nil { review(waiting.lane, &effects, now: now) }
        }
    }

    /// Finds out how many slots each loop lacks for transfers that are not slow, and has slow ones stopped.
    private mutating func meetDemand(
        _ classes: SlotClasses, _ effects: inout Effects, now: Double
    ) {
        var free = (0..<loops).map { loop in
            classes.capacities[loop] - activeCounts[loop] + classes.stoppingCount(on: loop)
        }
        var trialRoom = (0..<loops).map { classes.trialRoom(on: $0, guaranteed: false) }
        var wanted = Array(repeating: 0, count: loops)
        var promptWanted = wanted
        for lane in lanes.values where isWanting(lane, now: now) {
            var left = lane.pending - lane.slowLine.count
            var promptLeft = lane.promptRoom
            var room = (0..<loops).map { max(lane.quotas[$0] - lane.active[$0], 0) }
            for takesSlots in [false, true] {
                for loop in 0..<loops where left > 0 {
                    let most = min(left, room[loop], takesSlots ? .max : max(free[loop], 0))
                    let prompt = min(most, promptLeft)
                    let trial = min(most - prompt, max(trialRoom[loop], 0))
                    left -= prompt + trial
                    promptLeft -= prompt
                    room[loop] -= prompt + trial
                    trialRoom[loop] -= trial
                    free[loop] -= prompt + trial
                    wanted[loop] += prompt + trial
                    promptWanted[loop] += prompt
                }
            }
        }
        for loop in 0..<loops {
            classes.note(
                activeCounts[loop], on: loop, wanted: wanted[loop],
                promptWanted: promptWanted[loop])
            if free[loop] < 0, classes.stop(-free[loop], on: loop) { effects.settle.insert(loop) }
        }
    }

    /// Whether transfers of a lane that are not slow wait for nothing but a slot.
    private func isWanting(_ lane: OriginLane, now: Double) -> Bool {
        lane.pending > lane.slowLine.count && !lane.pace.isSlow && lane.cooling == nil
            && lane.limits?.allowsNothing(now) != true
            && lane.limits?.pacer?.nextPlace(now: now) == nil
    }

    /// Gives back what is more than may wait for slow slots, the last first.
    private mutating func returnExcess(_ classes: SlotClasses, _ effects: inout Effects) {
        guard classes.policy.maxWaiting < .max else { return }
        var excess = classes.slowLanes.reduce(-classes.policy.maxWaiting) {
            $0 + $1.slowWaitingCount
        }
        for lane in classes.slowLanes.reversed() {
            while excess > 0, let waiting = lane.popLastSlow() {
                excess -= 1
                lane.pending -= 1
                waitingCount -= 1
                effects.returned.append(waiting.transfer)
            }
        }
    }

    func slowWork(most: Int) -> SlowWork {
        var work = SlowWork()
        guard let classes, hasSlowLanes || classes.isContended || classes.isAnyWaiting else {
            return work
        }
        var counts: [ObjectIdentifier: Int] = [:]
        var found: [OriginLane] = []
        let isContended = classes.isContended
        for lane in lanes.values {
            let isUnknown = isContended && lane.isInTrialLanes && lane.pace.credit < 1
            let count =
                lane.slowActive + lane.slowWaitingCount
                + (isUnknown && !lane.pace.isSlow ? lane.line.count : 0)
            guard count > 0 || lane.pace.isSlow else { continue }
            work.count += count
            // Of an origin that is prompt but for a few transfers, more is welcome.
            guard lane.pace.isSlow || isUnknown else { continue }
            counts[ObjectIdentifier(lane)] = count
            found.append(lane)
        }
        found.sort {
            let (one, other) = (
                counts[ObjectIdentifier($0)] ?? 0, counts[ObjectIdentifier($1)] ?? 0
            )
            return (one, $1.origin) > (other, $0.origin)
        }
        work.origins = found.prefix(most).map(\.origin)
        return work
    }
}
