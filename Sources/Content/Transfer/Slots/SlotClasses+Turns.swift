/// Divides the slow slots among origins: decides which origin starts the next transfer, and which
/// one's is stopped.
///
/// The origin with the fewest slow transfers starts the next one, and the one with the most has one
/// stopped. So each gets an equal part, as far as it can use it, and others use the rest. With more
/// origins than slots, the next is the one that had a slot for the shortest time. So a longer slice
/// costs a longer wait.
///
/// An origin that begins to wait starts at the present turn's slot time. It neither makes up for
/// the past nor gets ahead of all others.
extension SlotClasses {
    /// Slow slots of each origin, less those that are being stopped.
    private struct Shares {
        private var changes: [ObjectIdentifier: Int] = [:]

        func of(_ origin: OriginState) -> Int {
            origin.slow.count + changes[ObjectIdentifier(origin), default: 0]
        }

        func of(_ entry: Slow) -> Int { max(of(entry.origin), of(entry.home)) }

        mutating func add(_ count: Int, to origin: OriginState) {
            changes[ObjectIdentifier(origin), default: 0] += count
        }

        mutating func take(_ entry: Slow) {
            add(-1, to: entry.origin)
            if entry.home !== entry.origin { add(-1, to: entry.home) }
        }
    }

    // MARK: Starting

    /// Returns the origin with the fewest slow transfers that can start another on a loop. Among
    /// equals, it is the one that had a slot for the shortest time. Origins in `tried` are skipped.
    mutating func nextSlow(
        on loop: Int, guaranteed: Bool, but tried: Set<ObjectIdentifier>
    ) -> OriginState? {
        var best: (index: Int, share: Int, had: Double)?
        for (index, origin) in slowOrigins.enumerated() {
            let (share, had) = (origin.slow.count, origin.slow.seconds)
            guard (share, had) < (best?.share ?? .max, best?.had ?? .infinity),
                origin.slots.hasFree(on: loop),
                origin.firstSlow(guaranteed: guaranteed) != nil,
                !tried.contains(ObjectIdentifier(origin))
            else { continue }
            best = (index, share, had)
        }
        guard let best else { return nil }
        let origin = slowOrigins.remove(at: best.index)
        slowOrigins.append(origin)
        turnSeconds = max(turnSeconds, origin.slow.seconds)
        // Slot time that it could not use before is no longer due to it.
        origin.slow.seconds = max(origin.slow.seconds, turnSeconds - policy.sliceSeconds)
        return origin
    }

    /// Queues an origin for a slow slot.
    mutating func waitForSlow(_ origin: OriginState) {
        guard !origin.slow.isWaiting else { return }
        origin.slow.isWaiting = true
        origin.slow.seconds = max(origin.slow.seconds, turnSeconds)
        slowOrigins.append(origin)
    }

    /// Adds a transfer's slot time to its origins, up to eight slices ahead of others, because some
    /// of it may have been spare.
    func book(_ entry: Slow) {
        let most = turnSeconds + sliceSeconds(Self.maxDoublings)
        let origins = entry.home === entry.origin ? [entry.origin] : [entry.origin, entry.home]
        for origin in origins {
            origin.slow.seconds = min(origin.slow.seconds + entry.slowSeconds, most)
        }
    }

    /// Advances the clock of turns slowly by itself, so that an origin with more than its part does
    /// not wait forever behind newly waiting ones.
    mutating func advanceTurns(bySeconds seconds: Double) { turnSeconds += seconds / 16 }

    /// Moves an origin behind the others, because one of its transfers was just stopped.
    mutating func putLast(_ origin: OriginState) {
        guard origin.slow.isWaiting, let index = slowOrigins.firstIndex(where: { $0 === origin })
        else {
            return
        }
        slowOrigins.append(slowOrigins.remove(at: index))
    }

    /// Removes origins without transfers that wait for a slow slot.
    mutating func dropIdleOrigins() {
        slowOrigins.removeAll { origin in
            guard origin.slowWaitingCount == 0 else { return false }
            origin.slow.isWaiting = false
            return true
        }
    }

    // MARK: Stopping

    /// Chooses up to `count` slow transfers of a loop to stop: from the origins with the most,
    /// those with the fewest bytes at risk, the newest first. Returns false for none.
    mutating func stop(_ count: Int, on loop: Int) -> Bool {
        let stopping = slow.values.count { $0.isStopping }
        let most = min(count, slow.count - stopping - quota)
        guard most > 0 else { return false }
        var shares = Shares()
        for entry in slow.values where entry.isStopping { shares.take(entry) }
        var candidates = slow.filter { _, entry in
            entry.loop == loop && entry.mayStop && !entry.isStopping
        }.sorted { ($0.value.bytesAtRisk, $1.key) > ($1.value.bytesAtRisk, $0.key) }
        var left = most
        while left > 0, !candidates.isEmpty {
            // The last one of the origin with the most.
            let largest = candidates.map { shares.of($0.value) }.max()
            guard let index = candidates.lastIndex(where: { shares.of($0.value) == largest })
            else { break }
            let (transfer, entry) = candidates.remove(at: index)
            shares.take(entry)
            stop(transfer)
            left -= 1
        }
        return left < most
    }

    /// Stops transfers whose slice is over, for waiting origins with fewer slow slots. Returns
    /// their loops.
    ///
    /// An origin without a slot takes one from any other that had one for longer. Otherwise the
    /// difference must be at least two, so that the slot does not move to and fro. Each origin gets
    /// one slot at a time.
    mutating func takeTurns(now: Double) -> Set<Int> {
        // Transfers that were stopped before must leave their slots first.
        guard !slowOrigins.isEmpty, !slow.values.contains(where: \.isStopping) else { return [] }
        var over = slow.filter { isSliceOver($0.value) && room(besides: $0.value) != nil }
        guard !over.isEmpty else { return [] }
        var shares = Shares()
        var touched: Set<Int> = []
        let waiting = slowOrigins.sorted { $0.slow.seconds < $1.slow.seconds }
        for origin in waiting where !over.isEmpty && !origin.isHeldBack(now) {
            let share = shares.of(origin)
            let victim = over.filter { _, entry in
                let other = shares.of(entry)
                let isFirst = origin.slow.seconds <= secondsHad(entry)
                guard other >= share + 2 || share == 0 && other == 1 && isFirst,
                    entry.home !== origin, origin.slots.hasFree(on: entry.loop),
                    let isGuaranteed = room(besides: entry)
                else { return false }
                return origin.firstSlow(guaranteed: isGuaranteed) != nil
            }.max {
                (shares.of($0.value), secondsHad($0.value), $1.key)
                    < (shares.of($1.value), secondsHad($1.value), $0.key)
            }
            guard let (transfer, entry) = victim else { continue }
            over[transfer] = nil
            shares.take(entry)
            shares.add(1, to: origin)
            stop(transfer)
            touched.insert(entry.loop)
        }
        return touched
    }

    /// Returns true if a transfer has used its slot for its full slice.
    private func isSliceOver(_ entry: Slow) -> Bool {
        guard let losses = entry.losses, !entry.isStopping else { return false }
        return entry.slowSeconds >= sliceSeconds(losses)
    }

    /// Maximum number of times a slice doubles; without it, others could wait for hours.
    private static let maxDoublings = 3

    private func sliceSeconds(_ losses: Int) -> Double {
        policy.sliceSeconds * Double(1 << min(losses, Self.maxDoublings))
    }

    /// Returns the slot time of a transfer's origin at the moment of a stop.
    private func secondsHad(_ entry: Slow) -> Double {
        max(entry.origin.slow.seconds, entry.home.slow.seconds) + entry.slowSeconds
    }

    /// Returns whether a slow transfer could start in the slot of another: nil for no, true in a
    /// slot guaranteed to slow transfers.
    private func room(besides entry: Slow) -> Bool? {
        let others = slowCounts[entry.loop] - 1
        if slow.count - 1 < quota, others < loopQuota { return true }
        return others < capacities[entry.loop] - peaks[entry.loop].value ? false : nil
    }

    private mutating func stop(_ transfer: UInt64) {
        guard let loop = slow[transfer]?.loop else { return }
        slow[transfer]?.isStopping = true
        stops[loop].append(transfer)
    }

    /// Records that a transfer cannot be stopped until its next judgement.
    mutating func keep(_ transfer: UInt64) {
        slow[transfer]?.isStopping = false
        slow[transfer]?.mayStop = false
        slow[transfer]?.losses = nil
    }

    /// Removes and returns the transfers of a loop that must stop. A transfer that has left its
    /// slot meanwhile is omitted: it is prompt now or has another slot.
    mutating func takeStops(on loop: Int) -> [UInt64] {
        guard !stops[loop].isEmpty else { return [] }
        defer { stops[loop] = [] }
        return stops[loop].filter { slow[$0]?.isStopping == true }
    }
}
