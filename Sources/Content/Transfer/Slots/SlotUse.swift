/// The slots of an engine that running transfers use. A value, which its scheduler's lock protects.
struct SlotUse {
    /// Slots of all loops together.
    let connections: Int
    private(set) var total = 0
    private(set) var byLoop: [Int]

    init(loops: Int, connections: Int) {
        self.connections = connections
        byLoop = Array(repeating: 0, count: loops)
    }

    var loops: Int { byLoop.count }
    /// Number of slots without a transfer.
    var free: Int { max(connections - total, 0) }

    mutating func occupy(on loop: Int) {
        total += 1
        byLoop[loop] += 1
    }

    mutating func release(on loop: Int) {
        total -= 1
        byLoop[loop] -= 1
    }
}
