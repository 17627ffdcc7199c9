internal import Model

/// Limits: closes, ends or returns what exceeds them, and schedules the next review.
extension OriginScheduler.State {
    typealias Effects = OriginScheduler.Effects

    mutating func setLimits(
        _ limits: OriginAllowance, of origin: String, until deadline: Double,
        _ effects: inout Effects, now: Double
    ) {
        let lane = lane(origin, now: now)
        // A lower number than that of an expired quota comes from a restored database.
        if limits.number > 0, let known = lane.limits, known.current.number > limits.number,
            !known.isOver(now)
        {
            return
        }
        if limits.isUnlimited {
            lane.limits = nil
        } else if lane.limits == nil {
            lane.limits = LaneLimits(limits, deadline: deadline)
        } else {
            lane.limits?.renew(limits, deadline: deadline, now: now)
        }
        noteLimits(of: lane)
        lane.meter.set(limits.bytesPerSecond, now: now)
        // The limit of bytes per second may have changed or ended for paused transfers.
        for loop in 0..<loops where lane.slots.active[loop] > 0 {
            markUnsettled(lane, on: loop, &effects)
        }
        let ceiling = min(limits.connections ?? .max, slots.connections)
        lane.speed.setCeiling(ceiling, now: now)
        lane.layOut(connections: slots.connections)
        review(lane, &effects, now: now)
    }

    mutating func noteLimits(of lane: OriginState) {
        let isLimited = lane.limits != nil || lane.cooling != nil
        guard isLimited != lane.isLimited else { return }
        lane.isLimited = isLimited
        if isLimited { limited.append(lane) } else { limited.removeAll { $0 === lane } }
    }

    /// Applies a lane's limits and schedules the next review.
    mutating func review(_ lane: OriginState, _ effects: inout Effects, now: Double) {
        let isCooling = waits(lane, &effects, now: now)
        guard let limits = lane.limits else {
            if !isCooling { markReady(lane, &effects, now: now) }
            return
        }
        lane.connections.removeClosed(now: now)
        let surplus = lane.slots.activeTotal > limits.maxActive(now)
        for loop in 0..<loops
        where !lane.connections.sockets.isEmpty || lane.slots.evictions[loop] > 0 || surplus {
            let isSurplus = surplus && lane.slots.active[loop] > 0
            if isSurplus || closingCount(lane, on: loop, now: now) > 0 {
                markUnsettled(lane, on: loop, &effects)
            }
        }
        if limits.allowsNothing(now) {
            giveBack(lane, &effects, now: now)
        } else if !lane.lines.skipped.isEmpty, !isCooling {
            if let next = lane.limits?.pacer?.nextSlot(now: now) {
                review(lane, at: next, &effects)
            } else {
                markReady(lane, &effects, now: now)
            }
            if let next = lane.connections.nextEnd(now: now) {
                review(lane, at: next, &effects)
            }
        }
        if let next = limits.nextEnd(now) { review(lane, at: next, &effects) }
    }

    /// Returns transfers that waited too long for a quota.
    private mutating func giveBack(_ lane: OriginState, _ effects: inout Effects, now: Double) {
        guard !lane.lines.isEmpty else { return }
        let returnAt = lane.limits?.returnAt ?? now + OriginState.returnSeconds
        guard now >= returnAt else {
            lane.limits?.returnAt = returnAt
            return review(lane, at: returnAt, &effects)
        }
        lane.limits?.returnAt = nil
        for waiting in lane.lines.remove({ _ in true }) {
            lane.lines.pending -= 1
            waitingCount -= 1
            if (waiting.route?.redirects ?? 0) > 0 {
                effects.refused.append(waiting.transfer)
            } else {
                effects.returned.append(waiting.transfer)
            }
        }
    }

    // MARK: Connections

    private func mayOpenNow(_ lane: OriginState, on loop: Int, now: Double) -> Bool {
        guard let limits = lane.limits else { return true }
        guard limits.maxActive(now) > 0 else { return false }
        guard let most = limits.current.connections, let here = lane.slots.connectionQuotas?[loop]
        else {
            return true
        }
        return lane.connections.count(now: now) < most
            && lane.connections.count(on: loop, now: now) < here
    }

    mutating func mayOpen(
        _ lane: OriginState, on loop: Int, _ effects: inout Effects, now: Double
    ) -> Bool {
        if mayOpenNow(lane, on: loop, now: now) { return true }
        if lane.connections.openCount(on: loop) > 0 {
            lane.slots.evictions[loop] += 1
            markUnsettled(lane, on: loop, &effects)
        }
        return false
    }

    mutating func closed(
        _ descriptor: Int32, _ lane: OriginState, counts: Bool, _ effects: inout Effects,
        now: Double
    ) {
        let stillCounts = counts && lane.limits != nil
        guard lane.connections.closed(descriptor, counts: stillCounts, now: now) else { return }
        if lane.isLimited { review(lane, &effects, now: now) }
    }

    /// Returns how many idle connections of a loop must close.
    private func closingCount(_ lane: OriginState, on loop: Int, now: Double) -> Int {
        guard let limits = lane.limits else { return 0 }
        let open = lane.connections.openCount(on: loop)
        if limits.isOver(now) || !lane.hasWork { return open }
        let most = lane.slots.connectionQuotas?[loop] ?? .max
        return max(open - most, min(lane.slots.evictions[loop], open), 0)
    }

    mutating func markUnsettled(
        _ lane: OriginState, on loop: Int, _ effects: inout Effects
    ) {
        effects.settle.insert(loop)
        if !unsettled[loop].contains(where: { $0 === lane }) { unsettled[loop].append(lane) }
    }

    mutating func takeUnsettled(on loop: Int) -> [OriginState] {
        defer { unsettled[loop] = [] }
        return unsettled[loop]
    }

    mutating func settle(
        _ lane: OriginState, on loop: Int, busy: Set<Int32>, transfers: Set<UInt64>, now: Double
    ) -> OriginScheduler.Settlement {
        var settlement = OriginScheduler.Settlement()
        guard let limits = lane.limits else { return settlement }
        settlement.ending = endingCount(lane, limits, on: loop, now: now)
        let closing = closingCount(lane, on: loop, now: now)
        lane.slots.evictions[loop] = 0
        settlement.closing = lane.connections.closeIdle(
            closing, on: loop, busy: busy, transfers: transfers, now: now)
        return settlement
    }

    /// Returns a loop's part of the surplus transfers, independent of the order in which loops
    /// call.
    private func endingCount(
        _ lane: OriginState, _ limits: LaneLimits, on loop: Int, now: Double
    ) -> Int {
        var surplus = lane.slots.activeTotal - limits.maxActive(now)
        // Loops with the lowest quotas end theirs first.
        for other in (0..<loops).sorted(by: { lane.slots.quotas[$0] < lane.slots.quotas[$1] }) {
            guard surplus > 0 else { return 0 }
            let part = min(surplus, lane.slots.active[other])
            if other == loop { return part }
            surplus -= part
        }
        return 0
    }

    // MARK: Time

    mutating func review(_ lane: OriginState, at time: Double, _ effects: inout Effects) {
        schedule.add(lane, at: time)
        askForTick(at: time, &effects)
    }

    mutating func askForTick(at time: Double, _ effects: inout Effects) {
        if schedule.advanceTick(to: time) { effects.tickAt = time }
    }

    mutating func tick(_ effects: inout Effects, now: Double) {
        for lane in schedule.beginTick(now: now) { review(lane, &effects, now: now) }
        if slots.total > 0 {
            if let seconds = schedule.takeSample(now: now) {
                sample(ofSeconds: seconds, &effects, now: now)
            }
            askForTick(at: schedule.nextSampleAt, &effects)
        }
        reviewClasses(&effects, now: now)
        if let next = schedule.nextReviewAt { askForTick(at: next, &effects) }
        prune(now: now)
    }

    private mutating func sample(
        ofSeconds seconds: Double, _ effects: inout Effects, now: Double
    ) {
        for lane in lanes.values where lane.slots.activeTotal > 0 || now - lane.usedAt < 2 {
            let isFull = lane.slots.isFull(with: lane.slots.activeTotal) && isWaiting(lane)
            let decision = lane.speed.sample(
                receivedBytes: lane.receivedBytes, seconds: seconds, isFull: isFull, now: now)
            guard decision != nil else { continue }
            lane.layOut(connections: slots.connections)
            review(lane, &effects, now: now)
        }
    }

    /// Returns true if a lane has more to start. While slow transfers hold its slots, its transfers
    /// may still wait in the common queue.
    private func isWaiting(_ lane: OriginState) -> Bool {
        classes == nil ? !lane.lines.skipped.isEmpty : lane.lines.pending > lane.lines.stopped.count
    }

    func statuses(now: Double) -> [OriginActivity] {
        let lanes = lanes.values.filter { lane in
            !lane.origin.isEmpty && (lane.hasWork || now - lane.usedAt < 10)
        }
        return lanes.map { lane in
            OriginActivity(
                origin: lane.origin, active: lane.slots.activeTotal, waiting: lane.lines.pending,
                bytesPerSecond: lane.speed.concurrency.bytesPerSecond,
                decision: lane.speed.concurrency.last,
                isLimited: lane.limits != nil)
        }
    }

    mutating func uses(now: Double) -> [OriginUse] {
        limited.compactMap { lane in
            guard let share = lane.limits?.current, share.number > 0 else { return nil }
            let connections = max(lane.connections.count(now: now), lane.slots.activeTotal)
            let requests = lane.limits?.pacer?.inWindow(now: now) ?? 0
            return OriginUse(
                origin: lane.origin, number: share.number, connections: connections,
                requests: requests, active: lane.slots.activeTotal, isIdle: !lane.hasWork,
                isAbove: connections > share.connections ?? .max
                    || Double(requests) > share.requestsPerSecond.map { max($0, 1) } ?? .infinity)
        }
    }

    mutating func giveUp(_ origin: String, number: Int64) -> Bool {
        guard let lane = limited.first(where: { $0.origin == origin }), !lane.hasWork,
            lane.limits?.current.number == number
        else { return false }
        lane.limits?.giveUp()
        return true
    }

    /// Returns the number of transfers that wait for limits. Those that wait for their origin's first
    /// quota do not count: it comes within half a second, and more of them would idle other workers.
    func heldBackCount(now: Double) -> Int {
        limited.reduce(0) { count, lane in
            // The others count as slow work.
            lane.slow.isOnTrial || lane.pace.isSlow || lane.limits?.isExpected(now) == true
                ? count : count + lane.lines.skipped.count
        }
    }
}
