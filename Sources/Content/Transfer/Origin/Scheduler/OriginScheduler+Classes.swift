import Synchronization

/// Changes of the slow slots, and of the transfers that wait for them, as time passes.
extension OriginScheduler.State {
    /// Stops slow transfers whose slots others wait for, returns excess waiting transfers, and
    /// wakes loops that may have slots.
    mutating func reviewClasses(_ effects: inout Effects, now: Double) {
        guard classes != nil else { return }
        classes?.rotatePeaks(now: now)
        if lanes.hasSlow {
            expireSlowness(&effects, now: now)
            sortQueue(&effects, now: now)
        }
        classes?.dropIdleLanes()
        // Not in a copy: `meetDemand` changes it.
        let isShort = classes.map { $0.slow.count > $0.quota || $0.isAnyWaiting } ?? false
        if isShort { meetDemand(&effects, now: now) }
        effects.settle.formUnion(classes?.takeTurns(now: now) ?? [])
        guard classes?.isAnyWaiting == true else { return }
        returnExcess(&effects)
        effects.wake.formUnion(0..<loops)
        askForTick(at: now + ReviewSchedule.sampleSeconds, &effects)
    }

    /// Resets slow origins that were last seen too long ago.
    private mutating func expireSlowness(_ effects: inout Effects, now: Double) {
        guard let policy = classes?.policy else { return }
        for lane in lanes.expireSlowness(policy, now: now) {
            review(lane, &effects, now: now)
        }
    }

    /// Moves waiting transfers of slow origins from the common queue into their lanes, so that they
    /// can be counted.
    private mutating func sortQueue(_ effects: inout Effects, now: Double) {
        guard !queue.isEmpty else { return }
        for waiting in queue.remove(where: { $0.lane.pace.isSlow }) {
            waiting.lane.lines.skipped.append(waiting)
            wait(waiting.lane, for: .slow, &effects, now: now)
            if waiting.lane.cooling != nil { review(waiting.lane, &effects, now: now) }
        }
    }

    /// Computes how many slots each loop lacks for transfers that are not slow, and stops slow ones
    /// for them.
    private mutating func meetDemand(_ effects: inout Effects, now: Double) {
        guard var free = classes?.freeSlots(slots.byLoop), var trialRoom = classes?.trialRooms()
        else { return }
        var wanted = Array(repeating: 0, count: loops)
        var promptWanted = wanted
        for lane in lanes.values where isWanting(lane, now: now) {
            var left = lane.lines.pending - lane.lines.stopped.count
            var promptLeft = lane.promptRoom
            var room = (0..<loops).map { lane.slots.freeCount(on: $0) }
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
            classes?.note(
                slots.byLoop[loop], on: loop, wanted: wanted[loop],
                promptWanted: promptWanted[loop])
            if free[loop] < 0, classes?.stop(-free[loop], on: loop) == true {
                effects.settle.insert(loop)
            }
        }
    }

    /// Returns true if transfers of a lane that are not slow wait for nothing but a slot.
    private func isWanting(_ lane: OriginState, now: Double) -> Bool {
        lane.lines.pending > lane.lines.stopped.count && !lane.pace.isSlow && !lane.isHeldBack(now)
    }

    /// Returns transfers beyond the maximum for slow slots: the last ones of the origins with the
    /// most.
    private mutating func returnExcess(_ effects: inout Effects) {
        guard let classes, classes.policy.maxWaiting < .max else { return }
        let lanes = classes.slowLanes.reversed()
        var excess = lanes.reduce(-classes.policy.maxWaiting) { $0 + $1.slowWaitingCount }
        while excess > 0,
            let lane = lanes.max(by: { $0.slowWaitingCount < $1.slowWaitingCount }),
            let waiting = lane.popLastSlow()
        {
            excess -= 1
            lane.lines.pending -= 1
            waitingCount -= 1
            effects.returned.append(waiting.transfer)
        }
    }

    // MARK: Slow work

    func slowWork(most: Int, now: Double) -> SlowWork {
        var work = SlowWork()
        guard let classes, lanes.hasSlow || classes.isContended || classes.isAnyWaiting else {
            return work
        }
        var counts: [ObjectIdentifier: Int] = [:]
        var found: [OriginState] = []
        let isContended = classes.isContended
        for lane in lanes.values {
            let isUnknown = isContended && lane.slow.isOnTrial && lane.pace.credit < 1
            let isSlow = lane.pace.isSlow && !lane.pace.hasExpired(classes.policy, now: now)
            let count =
                lane.slow.active + lane.slowWaitingCount
                + (isUnknown && !lane.pace.isSlow ? lane.lines.skipped.count : 0)
            guard count > 0 || isSlow else { continue }
            work.count += count
            // An origin that is prompt but for a few transfers can take more.
            guard isSlow || isUnknown else { continue }
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
        // Even with more origins than may wait, an origin without work can take some.
        let part = max(classes.policy.maxWaiting / max(counts.values.count { $0 > 0 }, 1), 1)
        for lane in found
        where lane.pace.isSlow && 2 * counts[ObjectIdentifier(lane), default: 0] < part {
            work.underserved.insert(lane.origin)
        }
        return work
    }
}
