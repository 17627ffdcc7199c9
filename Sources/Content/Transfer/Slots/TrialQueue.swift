/// Transfers on trial, and the origins that wait for a trial slot, in turn. A value, as `SlotClasses`.
struct TrialQueue {
    /// Slots guaranteed to transfers on trial, of all loops and of one.
    private let quota: Int
    private let loopQuota: Int
    /// Running transfers with their loops, and their number by loop.
    private var running: [UInt64: Int] = [:]
    private(set) var counts: [Int]
    /// Waiting origins without a turn in this round, and those that had one.
    private var untried: [OriginState] = []
    private var tried: [OriginState] = []
    /// Origins whose last transfer was prompt; their next one starts at once.
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

    // MARK: Waiting origins

    var isAnyWaiting: Bool { anyWaiting != nil }
    var anyWaiting: OriginState? { untried.first ?? tried.first }

    mutating func wait(_ origin: OriginState) {
        origin.slow.isOnTrial = true
        untried.append(origin)
    }

    /// Removes and returns the origin whose turn it is: alternately the newest untried one and the
    /// oldest.
    mutating func next() -> OriginState? {
        if untried.isEmpty { swap(&untried, &tried) }
        guard !untried.isEmpty else { return nil }
        defer { isNewestNext.toggle() }
        return isNewestNext ? untried.removeLast() : untried.removeFirst()
    }

    /// Queues an origin again after its turn.
    mutating func waitAgain(_ origin: OriginState) { tried.append(origin) }

    /// Gives an origin on trial the next turn as well.
    mutating func favour(_ origin: OriginState) {
        guard origin.slow.isOnTrial, !origin.slow.isPromising else { return }
        origin.slow.isPromising = true
        promising.append(origin)
    }

    mutating func nextPromising() -> OriginState? {
        let origin = promising.popLast()
        origin?.slow.isPromising = false
        return origin
    }
}
