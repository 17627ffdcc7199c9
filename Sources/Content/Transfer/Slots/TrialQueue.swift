/// Transfers on trial, and the lanes that wait for a trial slot, in turn. A value, as `SlotClasses`.
struct TrialQueue {
    /// Slots guaranteed to transfers on trial, of all loops and of one.
    private let quota: Int
    private let loopQuota: Int
    /// Running transfers with their loops, and their number by loop.
    private var running: [UInt64: Int] = [:]
    private(set) var counts: [Int]
    /// Waiting lanes without a turn in this round, and those that had one.
    private var untried: [OriginState] = []
    private var tried: [OriginState] = []
    /// Lanes whose last transfer was prompt; their next one starts at once.
    private var promising: [OriginState] = []
    private var isNewestNext = true

    init(capacities: [Int]) {
        quota = max(capacities.reduce(0, +) / 8, 1)
        loopQuota = (quota + capacities.count - 1) / capacities.count
        counts = capacities.map { _ in 0 }
    }

    // MARK: Running transfers

    /// Returns how many more transfers may start in the guaranteed slots of a loop.
    func ownRoom(on loop: Int) -> Int { min(quota - running.count, loopQuota - counts[loop]) }

    mutating func add(_ transfer: UInt64, on loop: Int) {
        running[transfer] = loop
        counts[loop] += 1
    }

    mutating func remove(_ transfer: UInt64) {
        guard !running.isEmpty, let loop = running.removeValue(forKey: transfer) else { return }
        counts[loop] -= 1
    }

    // MARK: Waiting lanes

    var isAnyWaiting: Bool { anyWaiting != nil }
    var anyWaiting: OriginState? { untried.first ?? tried.first }

    mutating func wait(_ lane: OriginState) {
        lane.slow.isOnTrial = true
        untried.append(lane)
    }

    /// Removes and returns the lane whose turn it is: alternately the newest untried one and the
    /// oldest.
    mutating func next() -> OriginState? {
        if untried.isEmpty { swap(&untried, &tried) }
        guard !untried.isEmpty else { return nil }
        defer { isNewestNext.toggle() }
        return isNewestNext ? untried.removeLast() : untried.removeFirst()
    }

    /// Queues a lane again after its turn.
    mutating func waitAgain(_ lane: OriginState) { tried.append(lane) }

    /// Gives a lane on trial the next turn as well.
    mutating func favour(_ lane: OriginState) {
        guard lane.slow.isOnTrial, !lane.slow.isPromising else { return }
        lane.slow.isPromising = true
        promising.append(lane)
    }

    mutating func nextPromising() -> OriginState? {
        let lane = promising.popLast()
        lane?.slow.isPromising = false
        return lane
    }
}
