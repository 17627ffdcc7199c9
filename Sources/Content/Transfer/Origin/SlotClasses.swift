/// Who has the slots of an engine: prompt transfers, those on trial because too little is known of their origins,
/// and slow ones.
///
/// Slow ones always have a quarter of the slots, those on trial an eighth. Beyond that they have what the others
/// have not used within the last second or two. A value, which its scheduler's lock protects with all else.
struct SlotClasses {
    /// A slow transfer under way.
    struct Slow {
        /// The origin that it is at.
        var lane: OriginLane
        /// That of its own URL, where redirects have led it elsewhere.
        var home: OriginLane
        var loop: Int
        var bytesAtRisk: Int64 = 0
        /// Transfers that are not slow may have it stopped.
        var mayStop = true
        /// How often in a row it was stopped and lost what it had received; nil while it cannot be stopped.
        var losses: Int? = 0
        /// For how long it was below the floor since it has its slot.
        var slowSeconds = 0.0
        var isStopping = false
        /// It was seen to be slow, and not only its origin.
        var isJudged = false
    }

    /// The most that was used within the last second or two.
    struct RecentPeak {
        private var current = 0
        private var last = 0

        var value: Int { max(current, last) }

        mutating func note(_ count: Int) { current = max(current, count) }
        mutating func rotate() { (last, current) = (current, 0) }
    }

    let policy: SlowPolicy
    /// By loop: its slots.
    let capacities: [Int]
    /// Slots that slow transfers have in any case, of all loops and of one.
    let quota: Int
    let loopQuota: Int
    /// The same of those on trial.
    private let trialQuota: Int
    private let loopTrialQuota: Int

    var slow: [UInt64: Slow] = [:]
    /// By loop.
    private(set) var slowCounts: [Int]
    /// Transfers on trial, with their loops, and how many these are by loop.
    private var trials: [UInt64: Int] = [:]
    private(set) var trialCounts: [Int]
    /// By loop: transfers that are not slow; and those of them that are not on trial.
    private(set) var peaks: [RecentPeak]
    private var promptPeaks: [RecentPeak]
    private var rotatedAt = 0.0
    /// By loop: transfers to be stopped.
    var stops: [[UInt64]]

    /// For how long the origin that was last given a slow slot had had one: on that clock they have their turns.
    var turnSeconds = 0.0
    /// Lanes in which something waits for a slow slot, in turn.
    var slowLanes: [OriginLane] = []
    /// The same for a slot of those on trial: lanes that have had no turn in this round, and those that have.
    var trialLanes: [OriginLane] = []
    var triedLanes: [OriginLane] = []
    /// Some of these whose last transfer was prompt: the next one follows at once.
    private var promisingLanes: [OriginLane] = []
    private var isNewestNext = true

    init(policy: SlowPolicy, capacities: [Int]) {
        self.policy = policy
        self.capacities = capacities
        quota = max(capacities.reduce(0, +) / 4, 1)
        loopQuota = (quota + capacities.count - 1) / capacities.count
        trialQuota = max(capacities.reduce(0, +) / 8, 1)
        loopTrialQuota = (trialQuota + capacities.count - 1) / capacities.count
        slowCounts = capacities.map { _ in 0 }
        trialCounts = slowCounts
        peaks = capacities.map { _ in RecentPeak() }
        promptPeaks = peaks
        stops = capacities.map { _ in [] }
    }

    // MARK: Room

    /// Whether another slow transfer may start on a loop: in the slots that are theirs, or in any that others
    /// have not used of late.
    func maySlowStart(on loop: Int, guaranteed: Bool) -> Bool {
        if slow.count < quota, slowCounts[loop] < loopQuota { return true }
        return !guaranteed && slowCounts[loop] < capacities[loop] - peaks[loop].value
    }

    /// How many transfers may still start on trial on a loop. Slow ones beyond their quota do not count: they are
    /// stopped.
    func trialRoom(on loop: Int, guaranteed: Bool) -> Int {
        let own = min(trialQuota - trials.count, loopTrialQuota - trialCounts[loop])
        guard !guaranteed else { return own }
        let slow = min(slowCounts[loop], loopQuota)
        return max(own, capacities[loop] - promptPeaks[loop].value - trialCounts[loop] - slow)
    }

    /// By loop: slots that are free, or will be as soon as transfers that are being stopped have left them.
    func freeSlots(_ active: [Int]) -> [Int] {
        var free = capacities.indices.map { capacities[$0] - active[$0] }
        for entry in slow.values where entry.isStopping { free[entry.loop] += 1 }
        return free
    }

    func trialRooms() -> [Int] {
        capacities.indices.map { trialRoom(on: $0, guaranteed: false) }
    }

    var isAnyTrialWaiting: Bool { !trialLanes.isEmpty || !triedLanes.isEmpty }
    var isAnyWaiting: Bool { !slowLanes.isEmpty || isAnyTrialWaiting }

    /// Transfers are slow, or prompt ones leave others less than all slots.
    var isContended: Bool { !slow.isEmpty || promptPeaks.contains { $0.value > 0 } }

    /// Gives a lane on trial the next turn as well.
    mutating func favour(_ lane: OriginLane) {
        guard lane.isInTrialLanes, !lane.isPromising else { return }
        lane.isPromising = true
        promisingLanes.append(lane)
    }

    mutating func nextPromising() -> OriginLane? {
        let lane = promisingLanes.popLast()
        lane?.isPromising = false
        return lane
    }

    /// Takes out the lane whose turn it is: the newest that has not been tried, or the oldest.
    mutating func nextTrial() -> OriginLane? {
        if trialLanes.isEmpty { swap(&trialLanes, &triedLanes) }
        guard !trialLanes.isEmpty else { return nil }
        defer { isNewestNext.toggle() }
        return isNewestNext ? trialLanes.removeLast() : trialLanes.removeFirst()
    }

    // MARK: What is under way

    mutating func addTrial(_ transfer: UInt64, on loop: Int) {
        trials[transfer] = loop
        trialCounts[loop] += 1
    }

    /// Adds a slow transfer, or replaces what is known of it.
    mutating func set(_ transfer: UInt64, _ entry: Slow) {
        guard slow.updateValue(entry, forKey: transfer) == nil else { return }
        removeTrial(transfer)
        slowCounts[entry.loop] += 1
        entry.lane.slowActive += 1
        entry.home.slowHeld += 1
        for lane in [entry.lane, entry.home] {
            lane.slowSeconds = max(lane.slowSeconds, turnSeconds - policy.sliceSeconds)
        }
    }

    /// Takes a transfer out of its class: it has ended, or is prompt.
    @discardableResult
    mutating func remove(_ transfer: UInt64) -> Slow? {
        removeTrial(transfer)
        guard !slow.isEmpty, let entry = slow.removeValue(forKey: transfer) else { return nil }
        slowCounts[entry.loop] -= 1
        entry.lane.slowActive -= 1
        entry.home.slowHeld -= 1
        if entry.isStopping { stops[entry.loop].removeAll { $0 == transfer } }
        return entry
    }

    private mutating func removeTrial(_ transfer: UInt64) {
        guard !trials.isEmpty, let loop = trials.removeValue(forKey: transfer) else { return }
        trialCounts[loop] -= 1
    }

    /// Takes notice that `active` transfers are under way on a loop and `wanted` others would be if there were
    /// slots for them, of which `promptWanted` would not be on trial.
    mutating func note(_ active: Int, on loop: Int, wanted: Int = 0, promptWanted: Int = 0) {
        let others = active - slowCounts[loop]
        peaks[loop].note(others + wanted)
        promptPeaks[loop].note(others - trialCounts[loop] + promptWanted)
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
