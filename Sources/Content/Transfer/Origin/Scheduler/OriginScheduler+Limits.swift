internal import Model

/// Limits: closes, ends or returns what exceeds them, and schedules the next review.
extension OriginScheduler.State {
    typealias Effects = OriginScheduler.Effects

    mutating func setLimits(
        _ limits: OriginAllowance, of name: String, until deadline: Double,
        _ effects: inout Effects, now: Double
    ) {
        let origin = origin(named: name, now: now)
        // A lower number than that of an expired quota comes from a restored database.
        if limits.number > 0, let known = origin.limits, known.current.number > limits.number,
            !known.isOver(now)
        {
            return
        }
        if limits.isUnlimited {
            origin.limits = nil
        } else if origin.limits == nil {
            origin.limits = TimedLimits(limits, deadline: deadline)
        } else {
            origin.limits?.renew(limits, deadline: deadline, now: now)
        }
        noteLimits(of: origin)
        origin.meter.set(limits.bytesPerSecond, now: now)
        // The limit of bytes per second may have changed or ended for paused transfers.
        for loop in 0..<loops where origin.slots.active[loop] > 0 {
            markUnsettled(origin, on: loop, &effects)
        }
        let ceiling = min(limits.connections ?? .max, slots.connections)
        origin.speed.setCeiling(ceiling, now: now)
        origin.layOut(connections: slots.connections)
        review(origin, &effects, now: now)
    }

    mutating func noteLimits(of origin: OriginState) {
        let isLimited = origin.limits != nil || origin.cooldown != nil
        guard isLimited != origin.isLimited else { return }
        origin.isLimited = isLimited
        if isLimited { limited.append(origin) } else { limited.removeAll { $0 === origin } }
    }

    /// Applies an origin's limits and schedules the next review.
    mutating func review(_ origin: OriginState, _ effects: inout Effects, now: Double) {
        let isInCooldown = waits(origin, &effects, now: now)
        guard let limits = origin.limits else {
            if !isInCooldown { markReady(origin, &effects, now: now) }
            return
        }
        origin.connections.removeClosed(now: now)
        let surplus = origin.slots.activeTotal > limits.maxActive(now)
        for loop in 0..<loops
        where !origin.connections.sockets.isEmpty || origin.slots.evictions[loop] > 0 || surplus {
            let isSurplus = surplus && origin.slots.active[loop] > 0
            if isSurplus || closingCount(origin, on: loop, now: now) > 0 {
                markUnsettled(origin, on: loop, &effects)
            }
        }
        if limits.allowsNothing(now) {
            giveBack(origin, &effects, now: now)
        } else if !origin.lines.skipped.isEmpty, !isInCooldown {
            if let next = origin.limits?.pacer?.nextSlot(now: now) {
                review(origin, at: next, &effects)
            } else {
                markReady(origin, &effects, now: now)
            }
            if let next = origin.connections.nextEnd(now: now) {
                review(origin, at: next, &effects)
            }
        }
        if let next = limits.nextEnd(now) { review(origin, at: next, &effects) }
    }

    /// Returns transfers that waited too long for a quota.
    private mutating func giveBack(_ origin: OriginState, _ effects: inout Effects, now: Double) {
        guard !origin.lines.isEmpty else { return }
        let returnAt = origin.limits?.returnAt ?? now + OriginState.returnSeconds
        guard now >= returnAt else {
            origin.limits?.returnAt = returnAt
            return review(origin, at: returnAt, &effects)
        }
        origin.limits?.returnAt = nil
        for waiting in origin.lines.remove({ _ in true }) {
            origin.lines.pending -= 1
            waitingCount -= 1
            if (waiting.route?.redirects ?? 0) > 0 {
                effects.refused.append(waiting.transfer)
            } else {
                effects.returned.append(waiting.transfer)
            }
        }
    }

    // MARK: Connections

    private func mayOpenNow(_ origin: OriginState, on loop: Int, now: Double) -> Bool {
        guard let limits = origin.limits else { return true }
        guard limits.maxActive(now) > 0 else { return false }
        guard let most = limits.current.connections, let here = origin.slots.connectionQuotas?[loop]
        else {
            return true
        }
        return origin.connections.count(now: now) < most
            && origin.connections.count(on: loop, now: now) < here
    }

    mutating func mayOpen(
        _ origin: OriginState, on loop: Int, _ effects: inout Effects, now: Double
    ) -> Bool {
        if mayOpenNow(origin, on: loop, now: now) { return true }
        if origin.connections.openCount(on: loop) > 0 {
            origin.slots.evictions[loop] += 1
            markUnsettled(origin, on: loop, &effects)
        }
        return false
    }

    mutating func closed(
        _ descriptor: Int32, _ origin: OriginState, counts: Bool, _ effects: inout Effects,
        now: Double
    ) {
        let stillCounts = counts && origin.limits != nil
        guard origin.connections.closed(descriptor, counts: stillCounts, now: now) else { return }
        if origin.isLimited { review(origin, &effects, now: now) }
    }

    /// Returns how many idle connections of a loop must close.
    private func closingCount(_ origin: OriginState, on loop: Int, now: Double) -> Int {
        guard let limits = origin.limits else { return 0 }
        let open = origin.connections.openCount(on: loop)
        if limits.isOver(now) || !origin.hasWork { return open }
        let most = origin.slots.connectionQuotas?[loop] ?? .max
        return max(open - most, min(origin.slots.evictions[loop], open), 0)
    }

    mutating func markUnsettled(
        _ origin: OriginState, on loop: Int, _ effects: inout Effects
    ) {
        effects.settle.insert(loop)
        if !unsettled[loop].contains(where: { $0 === origin }) { unsettled[loop].append(origin) }
    }

    mutating func takeUnsettled(on loop: Int) -> [OriginState] {
        defer { unsettled[loop] = [] }
        return unsettled[loop]
    }

    mutating func settle(
        _ origin: OriginState, on loop: Int, busy: Set<Int32>, transfers: Set<UInt64>, now: Double
    ) -> OriginScheduler.Settlement {
        var settlement = OriginScheduler.Settlement()
        guard let limits = origin.limits else { return settlement }
        settlement.ending = endingCount(origin, limits, on: loop, now: now)
        let closing = closingCount(origin, on: loop, now: now)
        origin.slots.evictions[loop] = 0
        settlement.closing = origin.connections.closeIdle(
            closing, on: loop, busy: busy, transfers: transfers, now: now)
        return settlement
    }

    /// Returns a loop's part of the surplus transfers, independent of the order in which loops
    /// call.
    private func endingCount(
        _ origin: OriginState, _ limits: TimedLimits, on loop: Int, now: Double
    ) -> Int {
        var surplus = origin.slots.activeTotal - limits.maxActive(now)
        // Loops with the lowest quotas end theirs first.
        for other in (0..<loops).sorted(by: { origin.slots.quotas[$0] < origin.slots.quotas[$1] }) {
            guard surplus > 0 else { return 0 }
            let part = min(surplus, origin.slots.active[other])
            if other == loop { return part }
            surplus -= part
        }
        return 0
    }

    // MARK: Time

    mutating func review(_ origin: OriginState, at time: Double, _ effects: inout Effects) {
        schedule.add(origin, at: time)
        askForTick(at: time, &effects)
    }

    mutating func askForTick(at time: Double, _ effects: inout Effects) {
        if schedule.advanceTick(to: time) { effects.tickAt = time }
    }

    mutating func tick(_ effects: inout Effects, now: Double) {
        for origin in schedule.beginTick(now: now) { review(origin, &effects, now: now) }
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
        for origin in origins.values where origin.slots.activeTotal > 0 || now - origin.usedAt < 2 {
            let isFull = origin.slots.isFull(with: origin.slots.activeTotal) && isWaiting(origin)
            let decision = origin.speed.sample(
                receivedBytes: origin.receivedBytes, seconds: seconds, isFull: isFull, now: now)
            guard decision != nil else { continue }
            origin.layOut(connections: slots.connections)
            review(origin, &effects, now: now)
        }
    }

    /// Returns true if an origin has more to start. While slow transfers hold its slots, its transfers
    /// may still wait in the common queue.
    private func isWaiting(_ origin: OriginState) -> Bool {
        classes == nil
            ? !origin.lines.skipped.isEmpty : origin.lines.pending > origin.lines.stopped.count
    }

    func statuses(now: Double) -> [OriginActivity] {
        let origins = origins.values.filter { origin in
            !origin.name.isEmpty && (origin.hasWork || now - origin.usedAt < 10)
        }
        return origins.map { origin in
            OriginActivity(
                origin: origin.name, active: origin.slots.activeTotal,
                waiting: origin.lines.pending,
                bytesPerSecond: origin.speed.concurrency.bytesPerSecond,
                decision: origin.speed.concurrency.last,
                isLimited: origin.limits != nil)
        }
    }

    mutating func uses(now: Double) -> [OriginUse] {
        limited.compactMap { origin in
            guard let share = origin.limits?.current, share.number > 0 else { return nil }
            let connections = max(origin.connections.count(now: now), origin.slots.activeTotal)
            let requests = origin.limits?.pacer?.inWindow(now: now) ?? 0
            return OriginUse(
                origin: origin.name, number: share.number, connections: connections,
                requests: requests, active: origin.slots.activeTotal, isIdle: !origin.hasWork,
                isAbove: connections > share.connections ?? .max
                    || Double(requests) > share.requestsPerSecond.map { max($0, 1) } ?? .infinity)
        }
    }

    mutating func giveUp(_ name: String, number: Int64) -> Bool {
        guard let origin = limited.first(where: { $0.name == name }), !origin.hasWork,
            origin.limits?.current.number == number
        else { return false }
        origin.limits?.giveUp()
        return true
    }

    /// Returns the number of transfers that wait for limits. Those that wait for their origin's first
    /// quota do not count: it comes within half a second, and more of them would idle other workers.
    func heldBackCount(now: Double) -> Int {
        limited.reduce(0) { count, origin in
            // The others count as slow work.
            origin.slow.isOnTrial || origin.pace.isSlow || origin.limits?.isExpected(now) == true
                ? count : count + origin.lines.skipped.count
        }
    }
}
