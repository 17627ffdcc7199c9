/// The requests of a loop: those in flight, one per slot, and those that wait for a slot.
struct RequestSlots {
    /// Maximum number of concurrent requests.
    let capacity: Int
    private(set) var active: [LoadRequest] = []
    /// Ended requests, for reuse.
    private var idle: [LoadRequest] = []
    private var waiting = RequestQueue()

    init(capacity: Int) { self.capacity = capacity }

    var hasFree: Bool { active.count < capacity }
    var waitingCount: Int { waiting.count }

    /// Returns an ended request for reuse; nil if there is none.
    mutating func reuse() -> LoadRequest? { idle.popLast() }

    mutating func add(_ request: LoadRequest) {
        request.slot = active.count
        active.append(request)
    }

    /// Frees the slot of a request that ended.
    mutating func free(_ request: LoadRequest) {
        let last = active.removeLast()
        if last !== request {
            active[request.slot] = last
            last.slot = request.slot
        }
        request.owner = .arrival
        idle.append(request)
    }

    mutating func wait(_ entry: RequestQueue.Entry) { waiting.append(entry) }

    /// Removes and returns the next waiting request whose viewer, if any, still plays.
    mutating func popWaiting() -> RequestQueue.Entry? {
        while let entry = waiting.popFirst() {
            if entry.owner.isOver { continue }
            return entry
        }
        return nil
    }

    /// Drops waiting requests, and returns their number.
    mutating func dropWaiting() -> Int {
        defer { waiting.removeAll() }
        return waiting.count
    }

    mutating func removeActive() { active.removeAll() }

    mutating func removeIdle() { idle.removeAll() }
}
