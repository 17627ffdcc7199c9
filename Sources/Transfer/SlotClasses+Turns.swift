/// How origins divide the slow slots among themselves: which starts the next transfer, and whose is stopped.
///
/// The origin with the fewest slow transfers starts the next one, and the one with the most has one stopped. So
/// each has an equal part, as far as it can use it, and what is left over is used by others. Where there are more
/// origins than slots, they have them in turn.
extension SlotClasses {
    /// How many slow slots origins have, less those that are being stopped.
    private struct Shares {
        private var changes: [ObjectIdentifier: Int] = [:]

        func of(_ lane: OriginLane) -> Int {
            lane.slowShare + changes[ObjectIdentifier(lane), default: 0]
        }

        func of(_ entry: Slow) -> Int { max(of(entry.lane), of(entry.home)) }

        mutating func add(_ count: Int, to lane: OriginLane) {
            changes[ObjectIdentifier(lane), default: 0] += count
        }

        mutating func take(_ entry: Slow) {
            add(-1, to: entry.lane)
            if entry.home !== entry.lane { add(-1, to: entry.home) }
        }
    }

    // MARK: Starting

    /// Gives a turn to the origin with the fewest slow transfers that can have another on a loop, the first in turn
    /// among several; those that were `tried` are skipped.
    mutating func nextSlow(
        on loop: Int, guaranteed: Bool, but tried: Set<ObjectIdentifier>
    ) -> OriginLane? {
        var best: (index: Int, share: Int)?
        for (index, lane) in slowLanes.enumerated() {
            let share = lane.slowShare
            guard share < best?.share ?? .max, lane.active[loop] < lane.quotas[loop],
                lane.firstSlow(guaranteed: guaranteed) != nil,
                !tried.contains(ObjectIdentifier(lane))
            else { continue }
            best = (index, share)
            if share == 0 { break }
        }
        guard let best else { return nil }
        let lane = slowLanes.remove(at: best.index)
        slowLanes.append(lane)
        return lane
    }

    /// Has a lane wait behind the others: one of its transfers has just been stopped.
    mutating func putLast(_ lane: OriginLane) {
        guard lane.isInSlowLanes, let index = slowLanes.firstIndex(where: { $0 === lane }) else {
            return
        }
        slowLanes.append(slowLanes.remove(at: index))
    }

    /// Takes out lanes that have nothing that waits for a slow slot.
    mutating func dropIdleLanes() {
        slowLanes.removeAll { lane in
            guard lane.slowWaitingCount == 0 else { return false }
            lane.isInSlowLanes = false
            return true
        }
    }

    // MARK: Stopping

    /// Chooses up to `count` slow transfers of a loop to be stopped: those of the origins with the most, of these
    /// the ones with the least to lose, the newest first. False for none.
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
            // The last of those with the most.
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

    /// Stops transfers whose slice is over, for origins that wait with fewer slow slots. Returns their loops.
    ///
    /// An origin without a slot gets one from any other; else the difference has to be two, or the slot would be
    /// handed to and fro. One slot for each origin at a time.
    mutating func takeTurns(now: Double) -> Set<Int> {
        // First those that were stopped before have to be gone.
        guard !slowLanes.isEmpty, !slow.values.contains(where: \.isStopping) else { return [] }
        var over = slow.filter { isSliceOver($0.value) && room(besides: $0.value) != nil }
        var shares = Shares()
        var touched: Set<Int> = []
        for lane in slowLanes where !over.isEmpty && !lane.isHeldBack(now) {
            let share = shares.of(lane)
            let victim = over.filter { _, entry in
                let other = shares.of(entry)
                guard other >= share + 2 || share == 0 && other == 1, entry.home !== lane,
                    lane.active[entry.loop] < lane.quotas[entry.loop],
                    let isGuaranteed = room(besides: entry)
                else { return false }
                return lane.firstSlow(guaranteed: isGuaranteed) != nil
            }.max {
                (shares.of($0.value), $0.value.slowSeconds, $1.key)
                    < (shares.of($1.value), $1.value.slowSeconds, $0.key)
            }
            guard let (transfer, entry) = victim else { continue }
            over[transfer] = nil
            shares.take(entry)
            shares.add(1, to: lane)
            stop(transfer)
            touched.insert(entry.loop)
        }
        return touched
    }

    /// A transfer has had its slot for as long as is its due, if others wait.
    private func isSliceOver(_ entry: Slow) -> Bool {
        guard let losses = entry.losses, !entry.isStopping else { return false }
        return entry.slowSeconds >= policy.sliceSeconds * Double(1 << min(losses, 20))
    }

    /// Whether a slow transfer might start in the place of another: nil for no, true in one of the slots that are
    /// theirs in any case.
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

    /// A transfer cannot be stopped after all, until it is judged anew.
    mutating func keep(_ transfer: UInt64) {
        slow[transfer]?.isStopping = false
        slow[transfer]?.mayStop = false
        slow[transfer]?.losses = nil
    }

    mutating func takeStops(on loop: Int) -> [UInt64] {
        guard !stops[loop].isEmpty else { return [] }
        defer { stops[loop] = [] }
        return stops[loop]
    }
}
