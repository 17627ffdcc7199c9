import Synchronization

/// Transfers that others could begin sooner, and slots that could take some of others.
extension OriginScheduler {
    /// Returns the number of further transfers that could start now at the origins in use; without
    /// any, of a first origin.
    func spareCount(now: Double) -> Int { state.withLock { $0.spareCount(now: now) } }

    /// Number of slots without a transfer.
    var freeSlotCount: Int { state.withLock(\.slots.free) }

    /// Returns the transfers that never started and wait for nothing but a slot. Those that wait
    /// for limits or a cooldown of their origin may not start sooner elsewhere.
    func unbegun(now: Double) -> [Transfer] { state.withLock { $0.unbegun(now: now) } }
}

extension OriginScheduler.State {
    func spareCount(now: Double) -> Int {
        let free = slots.free
        let used = origins.values.filter(\.hasWork)
        guard !used.isEmpty else { return min(free, AdaptiveConcurrency.firstConcurrency) }
        return used.reduce(0) { spare, origin in
            guard !origin.isHeldBack(now) else { return spare }
            let most = origin.speed.concurrency.concurrency
            return min(spare + max(most - origin.slots.activeTotal - origin.lines.pending, 0), free)
        }
    }

    func unbegun(now: Double) -> [Transfer] {
        let limited = Set(origins.values.filter { $0.isLimited(now) }.map { ObjectIdentifier($0) })
        let skipped = origins.values.filter { !$0.lines.isEmpty }.flatMap(\.lines.skipped.waiting)
        return (queue.waiting + skipped).lazy.filter { waiting in
            waiting.route == nil && !limited.contains(ObjectIdentifier(waiting.origin))
        }.map(\.transfer)
    }

    /// Returns true if no other origin has a transfer, running or waiting.
    func isAlone(_ origin: OriginState) -> Bool {
        slots.total == origin.slots.activeTotal && waitingCount == origin.lines.pending
    }

    /// Returns true for an origin that is slow or little known, and alone. Slots that it used lately are
    /// not kept from its own next transfers.
    func isAloneUnproven(_ origin: OriginState) -> Bool {
        isAlone(origin) && slotClass(of: origin) != .prompt
    }
}
