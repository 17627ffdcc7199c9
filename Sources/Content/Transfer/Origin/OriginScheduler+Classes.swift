import Synchronization

/// What becomes of the slow slots as time passes, and of what waits for them.
extension OriginScheduler.State {
    /// Stops slow transfers whose slots others wait for, returns what is too much to wait here, and wakes loops
    /// that may have slots for what waits.
    mutating func reviewClasses(_ effects: inout Effects, now: Double) {
        guard classes != nil else { return }
        classes?.rotatePeaks(now: now)
        if hasSlowLanes {
            expireSlowness(&effects, now: now)
            sortQueue(&effects, now: now)
        }
        classes?.dropIdleLanes()
        // Not in a copy: what follows changes it.
        let isShort = classes.map { $0.slow.count > $0.quota || $0.isAnyWaiting } ?? false
        if isShort { meetDemand(&effects, now: now) }
        effects.settle.formUnion(classes?.takeTurns(now: now) ?? [])
        guard classes?.isAnyWaiting == true else { return }
        returnExcess(&effects)
        effects.wake.formUnion(0..<loops)
        askForTick(at: now + Self.sampleSeconds, &effects)
    }

    private static let expirySampleSeconds = 1.0

    /// Has origins be unknown again that were slow when they were last seen, too long ago.
    private mutating func expireSlowness(_ effects: inout Effects, now: Double) {
        guard let policy = classes?.policy, now - expiredAt >= Self.expirySampleSeconds
        else { return }
        expiredAt = now
        for lane in lanes.values where lane.pace.expire(policy, now: now) {
            review(lane, &effects, now: now)
        }
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
    private mutating func meetDemand(_ effects: inout Effects, now: Double) {
        guard var free = classes?.freeSlots(activeCounts), var trialRoom = classes?.trialRooms()
        else { return }
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
            classes?.note(
                activeCounts[loop], on: loop, wanted: wanted[loop],
                promptWanted: promptWanted[loop])
            if free[loop] < 0, classes?.stop(-free[loop], on: loop) == true {
                effects.settle.insert(loop)
            }
        }
    }

    /// Whether transfers of a lane that are not slow wait for nothing but a slot.
    private func isWanting(_ lane: OriginLane, now: Double) -> Bool {
        lane.pending > lane.slowLine.count && !lane.pace.isSlow && !lane.isHeldBack(now)
    }

    /// Gives back what is more than may wait for slow slots: of the origins with the most, the last first.
    private mutating func returnExcess(_ effects: inout Effects) {
        guard let classes, classes.policy.maxWaiting < .max else { return }
        let lanes = classes.slowLanes.reversed()
        var excess = lanes.reduce(-classes.policy.maxWaiting) { $0 + $1.slowWaitingCount }
        while excess > 0,
            let lane = lanes.max(by: { $0.slowWaitingCount < $1.slowWaitingCount }),
            let waiting = lane.popLastSlow()
        {
            excess -= 1
            lane.pending -= 1
            waitingCount -= 1
            effects.returned.append(waiting.transfer)
        }
    }

    // MARK: What is in hand

    func slowWork(most: Int, now: Double) -> SlowWork {
        var work = SlowWork()
        guard let classes, hasSlowLanes || classes.isContended || classes.isAnyWaiting else {
            return work
        }
        var counts: [ObjectIdentifier: Int] = [:]
        var found: [OriginLane] = []
        let isContended = classes.isContended
        for lane in lanes.values {
            let isUnknown = isContended && lane.isInTrialLanes && lane.pace.credit < 1
            let isSlow = lane.pace.isSlow && !lane.pace.hasExpired(classes.policy, now: now)
            let count =
                lane.slowActive + lane.slowWaitingCount
                + (isUnknown && !lane.pace.isSlow ? lane.line.count : 0)
            guard count > 0 || isSlow else { continue }
            work.count += count
            // Of an origin that is prompt but for a few transfers, more is welcome.
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
        // Also of more origins than may wait, one without work is welcome.
        let part = max(classes.policy.maxWaiting / max(counts.values.count { $0 > 0 }, 1), 1)
        for lane in found
        where lane.pace.isSlow && 2 * counts[ObjectIdentifier(lane), default: 0] < part {
            work.underserved.insert(lane.origin)
        }
        return work
    }
}
