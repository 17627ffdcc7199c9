import Synchronization

/// Changes of the slow slots, and of the transfers that wait for them, as time passes.
extension OriginScheduler.State {
    /// Stops slow transfers whose slots others wait for, returns excess waiting transfers, and
    /// wakes loops that may have slots.
    mutating func reviewClasses(_ effects: inout Effects, now: Double) {
        guard classes != nil else { return }
        classes?.rotatePeaks(now: now)
        if origins.hasSlow {
            expireSlowness(&effects, now: now)
            sortQueue(&effects, now: now)
        }
        classes?.dropIdleOrigins()
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
        for origin in origins.expireSlowness(policy, now: now) {
            review(origin, &effects, now: now)
        }
    }

    /// Moves waiting transfers of slow origins from the common queue into the origins' own lines, so that they
    /// can be counted.
    private mutating func sortQueue(_ effects: inout Effects, now: Double) {
        guard !queue.isEmpty else { return }
        for waiting in queue.remove(where: { $0.origin.pace.isSlow }) {
            waiting.origin.lines.skipped.append(waiting)
            wait(waiting.origin, for: .slow, &effects, now: now)
            if waiting.origin.cooldown != nil { review(waiting.origin, &effects, now: now) }
        }
    }

    /// Computes how many slots each loop lacks for transfers that are not slow, and stops slow ones
    /// for them.
    private mutating func meetDemand(_ effects: inout Effects, now: Double) {
        guard var free = classes?.freeSlots(slots.byLoop), var trialRoom = classes?.trialRooms()
        else { return }
        var wanted = Array(repeating: 0, count: loops)
        var promptWanted = wanted
        for origin in origins.values where isWanting(origin, now: now) {
            var left = origin.lines.pending - origin.lines.stopped.count
            var promptLeft = origin.promptRoom
            var room = (0..<loops).map { origin.slots.freeCount(on: $0) }
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
        let isNoted = !origins.values.contains { $0.hasWork && isAloneUnproven($0) }
        for loop in 0..<loops {
            if isNoted {
                classes?.note(
                    slots.byLoop[loop], on: loop, wanted: wanted[loop],
                    promptWanted: promptWanted[loop])
            }
            if free[loop] < 0, classes?.stop(-free[loop], on: loop) == true {
                effects.settle.insert(loop)
            }
        }
    }

    /// Returns true if transfers of an origin that are not slow wait for nothing but a slot.
    private func isWanting(_ origin: OriginState, now: Double) -> Bool {
        origin.lines.pending > origin.lines.stopped.count && !origin.pace.isSlow
            && !origin.isHeldBack(now)
    }

    /// Returns transfers beyond the maximum for slow slots: the last ones of the origins with the
    /// most.
    private mutating func returnExcess(_ effects: inout Effects) {
        guard let classes, classes.policy.maxWaiting < .max else { return }
        let origins = classes.slowOrigins.reversed()
        var excess = origins.reduce(-classes.policy.maxWaiting) { $0 + $1.slowWaitingCount }
        while excess > 0,
            let origin = origins.max(by: { $0.slowWaitingCount < $1.slowWaitingCount }),
            let waiting = origin.popLastSlow()
        {
            excess -= 1
            origin.lines.pending -= 1
            waitingCount -= 1
            effects.returned.append(waiting.transfer)
        }
    }

    // MARK: Slow work

    func slowWork(most: Int, now: Double) -> SlowWork {
        var work = SlowWork()
        guard let classes, origins.hasSlow || classes.isContended || classes.isAnyWaiting else {
            return work
        }
        var counts: [ObjectIdentifier: Int] = [:]
        var found: [OriginState] = []
        let isContended = classes.isContended
        for origin in origins.values {
            let isUnknown = isContended && origin.slow.isOnTrial && origin.pace.credit < 1
            let isSlow = origin.pace.isSlow && !origin.pace.hasExpired(classes.policy, now: now)
            // Those of a slow origin may still be in the common queue, and count before a loop looks at them.
            let waiting = origin.pace.isSlow ? origin.lines.pending : origin.slowWaitingCount
            let count =
                origin.slow.active + waiting
                + (isUnknown && !origin.pace.isSlow ? origin.lines.skipped.count : 0)
            guard count > 0 || isSlow else { continue }
            work.count += count
            // An origin that is prompt but for a few transfers can take more.
            guard isSlow || isUnknown else { continue }
            counts[ObjectIdentifier(origin)] = count
            found.append(origin)
        }
        found.sort {
            let (one, other) = (
                counts[ObjectIdentifier($0)] ?? 0, counts[ObjectIdentifier($1)] ?? 0
            )
            return (one, $1.name) > (other, $0.name)
        }
        work.origins = found.prefix(most).map(\.name)
        // Even with more origins than may wait, an origin without work can take some.
        let part = max(classes.policy.maxWaiting / max(counts.values.count { $0 > 0 }, 1), 1)
        for origin in found
        where origin.pace.isSlow && 2 * counts[ObjectIdentifier(origin), default: 0] < part {
            work.underserved.insert(origin.name)
        }
        return work
    }
}
