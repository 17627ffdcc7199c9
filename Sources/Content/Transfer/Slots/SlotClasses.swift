/// Divides an engine's slots among prompt transfers, slow ones, and ones on trial because too
/// little is known of their origins.
///
/// Slow ones always have a quarter of the slots, those on trial an eighth. Beyond that they use
/// slots that the others have not used within the last second or two. A value, which its
/// scheduler's lock protects.
struct SlotClasses {
    /// A running slow transfer.
    struct Slow {
        /// The origin that it uses now.
        var origin: OriginState
        /// The origin of its own URL; it differs after a redirect to another origin.
        var home: OriginState
        var loop: Int
        var bytesAtRisk: Int64 = 0
        /// True if transfers that are not slow may have it stopped.
        var mayStop = true
        /// Number of consecutive stops that lost all received bytes; nil while it cannot be
        /// stopped.
        var losses: Int? = 0
        /// Seconds below the floor since it got its slot.
        var slowSeconds = 0.0
        var isStopping = false
        /// True if the transfer itself was slow, not only its origin.
        var isJudged = false
    }

    /// The maximum used within the last second or two.
    struct RecentPeak {
        private var current = 0
        private var last = 0

        var value: Int { max(current, last) }

        mutating func note(_ count: Int) { current = max(current, count) }
        mutating func rotate() { (last, current) = (current, 0) }
    }

    let policy: SlowPolicy
    /// Slots by loop.
    let capacities: [Int]
    /// Slots guaranteed to slow transfers, of all loops and of one.
    let quota: Int
    let loopQuota: Int

    var slow: [UInt64: Slow] = [:]
    /// Slow transfers by loop.
    private(set) var slowCounts: [Int]
    var trials: TrialQueue
    /// By loop: recent peak of transfers that are not slow, and of those that are not on trial
    /// either.
    private(set) var peaks: [RecentPeak]
    private var promptPeaks: [RecentPeak]
    private var rotatedAt = 0.0
    /// By loop: transfers to stop.
    var stops: [[UInt64]]

    /// The clock of turns: slot time of the origin that last got a slow slot.
    var turnSeconds = 0.0
    /// Origins with transfers that wait for a slow slot, in turn.
    var slowOrigins: [OriginState] = []

    init(policy: SlowPolicy, capacities: [Int]) {
        self.policy = policy
        self.capacities = capacities
        quota = max(capacities.reduce(0, +) / 4, 1)
        loopQuota = (quota + capacities.count - 1) / capacities.count
        slowCounts = capacities.map { _ in 0 }
        trials = TrialQueue(capacities: capacities)
        peaks = capacities.map { _ in RecentPeak() }
        promptPeaks = peaks
        stops = capacities.map { _ in [] }
    }

    // MARK: Free slots

    /// Returns true if another slow transfer may start on a loop: in the guaranteed slots, or in
    /// any that others have not used recently.
    func maySlowStart(on loop: Int, guaranteed: Bool) -> Bool {
        if slow.count < quota, slowCounts[loop] < loopQuota { return true }
        return !guaranteed && slowCounts[loop] < capacities[loop] - peaks[loop].value
    }

    /// Returns how many more trial transfers may start on a loop. Slow ones beyond their quota do
    /// not count, because they are stopped.
    func trialRoom(on loop: Int, guaranteed: Bool) -> Int {
        let own = trials.ownRoom(on: loop)
        guard !guaranteed else { return own }
        let slow = min(slowCounts[loop], loopQuota)
        return max(own, capacities[loop] - promptPeaks[loop].value - trials.counts[loop] - slow)
    }

    /// Returns, by loop, the slots that are free now or will be once the transfers that must stop
    /// have left them.
    func freeSlots(_ active: [Int]) -> [Int] {
        var free = capacities.indices.map { capacities[$0] - active[$0] }
        for entry in slow.values where entry.isStopping { free[entry.loop] += 1 }
        return free
    }

    func trialRooms() -> [Int] {
        capacities.indices.map { trialRoom(on: $0, guaranteed: false) }
    }

    var isAnyWaiting: Bool { !slowOrigins.isEmpty || trials.isAnyWaiting }

    /// True if transfers are slow, or if prompt ones leave others less than all slots.
    var isContended: Bool { !slow.isEmpty || promptPeaks.contains { $0.value > 0 } }

    // MARK: Running transfers

    /// Adds a slow transfer, or updates it.
    mutating func set(_ transfer: UInt64, _ entry: Slow) {
        guard slow.updateValue(entry, forKey: transfer) == nil else { return }
        trials.remove(transfer)
        slowCounts[entry.loop] += 1
        entry.origin.slow.active += 1
        entry.home.slow.held += 1
        for origin in [entry.origin, entry.home] {
            origin.slow.seconds = max(origin.slow.seconds, turnSeconds - policy.sliceSeconds)
        }
    }

    /// Removes a transfer that has ended or is prompt from its class.
    @discardableResult
    mutating func remove(_ transfer: UInt64) -> Slow? {
        trials.remove(transfer)
        guard !slow.isEmpty, let entry = slow.removeValue(forKey: transfer) else { return nil }
        slowCounts[entry.loop] -= 1
        entry.origin.slow.active -= 1
        entry.home.slow.held -= 1
        if entry.isStopping { stops[entry.loop].removeAll { $0 == transfer } }
        return entry
    }

    /// Records that `active` transfers run on a loop. `wanted` others would run if there were slots
    /// for them, of which `promptWanted` would not be on trial.
    mutating func note(_ active: Int, on loop: Int, wanted: Int = 0, promptWanted: Int = 0) {
        let others = active - slowCounts[loop]
        peaks[loop].note(others + wanted)
        promptPeaks[loop].note(others - trials.counts[loop] + promptWanted)
    }

    mutating func rotatePeaks(now: Double) {
        guard now - rotatedAt >= 1 else { return }
        // Not from the clock's own start.
        if rotatedAt > 0 { advanceTurns(bySeconds: now - rotatedAt) }
        rotatedAt = now
        for loop in capacities.indices {
            peaks[loop].rotate()
            promptPeaks[loop].rotate()
        }
    }
}
