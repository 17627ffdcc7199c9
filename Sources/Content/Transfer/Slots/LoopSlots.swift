/// The transfer slots of one origin, by loop.
struct LoopSlots {
    /// Running transfers, and their maximum.
    var active: [Int]
    private(set) var quotas: [Int]
    /// Maximum of open connections; nil for no limit.
    private(set) var connectionQuotas: [Int]?
    /// True if the origin is in the loop's list of origins that can start a transfer.
    var isReady: [Bool]
    /// Idle connections to close in favor of another.
    var evictions: [Int]
    /// The first loop that has the origin's connections while these are limited.
    let firstLoop: Int

    init(loops: Int, firstLoop: Int) {
        active = Array(repeating: 0, count: loops)
        quotas = active
        evictions = active
        isReady = Array(repeating: false, count: loops)
        self.firstLoop = firstLoop
    }

    var activeTotal: Int { active.reduce(0, +) }
    /// True if as many transfers run as all quotas allow.
    func isFull(with total: Int) -> Bool { total >= quotas.reduce(0, +) }
    func hasFree(on loop: Int) -> Bool { active[loop] < quotas[loop] }
    func freeCount(on loop: Int) -> Int { max(quotas[loop] - active[loop], 0) }

    /// Distributes `concurrency` slots among the loops; `connections` is the engine's total.
    ///
    /// Without a limit, the slots follow the engine's own connections. A limited origin uses as few
    /// loops as its connections need, because a loop cannot use another's connections. An origin
    /// with a low limit of bytes per second uses one loop, whose transfers share it evenly.
    mutating func layOut(concurrency: Int, connections: Int, _ limits: OriginAllowance?) {
        let loops = active.count
        let capacity = max(connections / loops, 1)
        // One loop's connections might not carry a higher limit.
        let isSlow = limits?.bytesPerSecond.map { $0 <= Self.slowBytesPerSecond * Int64(capacity) }
        guard let limits, limits.connections != nil || isSlow == true else {
            connectionQuotas = nil
            quotas = Self.spread(concurrency, over: loops, of: loops, from: 0)
            return
        }
        let most = limits.connections ?? connections
        let needed = min(loops, max(1, most / 4, (most + capacity - 1) / capacity))
        let used = isSlow == true ? 1 : needed
        connectionQuotas = Self.spread(most, over: used, of: loops, from: firstLoop)
        quotas = Self.spread(min(concurrency, most), over: used, of: loops, from: firstLoop)
    }

    /// Bytes per second that any connection is expected to carry.
    private static let slowBytesPerSecond: Int64 = 1_000_000

    private static func spread(
        _ total: Int, over used: Int, of loops: Int, from first: Int
    ) -> [Int] {
        var parts = Array(repeating: 0, count: loops)
        for index in 0..<used {
            parts[(first + index) % loops] = (total + used - 1 - index) / used
        }
        return parts
    }
}
