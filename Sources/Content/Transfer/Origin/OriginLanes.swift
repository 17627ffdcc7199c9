internal import Model

/// The lanes of an engine by origin.
struct OriginLanes {
    private let loops: Int
    private let connections: Int
    private var byOrigin: [String: OriginState] = [:]
    /// URL prefix of the last look-up, common to most URLs of a batch.
    private var lastPrefix: String.UTF8View = "".utf8
    private var lastLane: OriginState?
    private var madeCount = 0
    /// True if some origin is slow, or was recently.
    private(set) var hasSlow = false
    private var expiredAt = 0.0
    private var prunedAt = 0.0

    private static let expirySampleSeconds = 1.0
    private static let pruneSeconds = 10.0

    init(loops: Int, connections: Int) {
        self.loops = loops
        self.connections = connections
    }

    var values: some Collection<OriginState> { byOrigin.values }

    subscript(origin: String) -> OriginState? { byOrigin[origin] }

    /// Returns the lane of a URL's origin; all invalid URLs use one lane.
    mutating func lane(ofURL url: String, now: Double) -> OriginState {
        if let lastLane, Self.isIn(url, lastPrefix) { return lastLane }
        let origin = originName(of: url) ?? ""
        let lane = lane(origin, now: now)
        if !origin.isEmpty, url.utf8.starts(with: origin.utf8) {
            (lastLane, lastPrefix) = (lane, origin.utf8)
        }
        return lane
    }

    private static func isIn(_ url: String, _ origin: String.UTF8View) -> Bool {
        var rest = url.utf8.makeIterator()
        for byte in origin where rest.next() != byte { return false }
        // Any other byte could continue with a port, or turn the apparent host into userinfo.
        return rest.next() == UInt8(ascii: "/")
    }

    mutating func lane(_ origin: String, now: Double) -> OriginState {
        if let lane = byOrigin[origin] { return lane }
        let lane = OriginState(
            origin: origin, firstLoop: madeCount % loops, loops: loops, ceiling: connections,
            now: now)
        madeCount += 1
        byOrigin[origin] = lane
        return lane
    }

    // MARK: Slow origins

    /// Records that an origin has become slow.
    mutating func noteSlow() { hasSlow = true }

    /// Resets slow origins that were last seen too long ago, and returns them. Looks for them once a second.
    mutating func expireSlowness(_ policy: SlowPolicy, now: Double) -> [OriginState] {
        guard now - expiredAt >= Self.expirySampleSeconds else { return [] }
        expiredAt = now
        var expired: [OriginState] = []
        for lane in byOrigin.values where lane.pace.expire(policy, now: now) {
            expired.append(lane)
        }
        return expired
    }

    // MARK: Unused lanes

    /// Removes unused lanes: after a minute without limits, ten minutes if slow, and an hour after their limits
    /// expired. Looks for them every ten seconds; returns false in between.
    mutating func prune(now: Double) -> Bool {
        guard now - prunedAt >= Self.pruneSeconds else { return false }
        prunedAt = now
        byOrigin = byOrigin.filter { Self.isUsed($0.value, now: now) }
        lastLane = nil
        hasSlow = byOrigin.values.contains(where: \.pace.isSlow)
        return true
    }

    private static func isUsed(_ lane: OriginState, now: Double) -> Bool {
        if lane.hasWork || !lane.connections.sockets.isEmpty || lane.reviewAt != nil {
            return true
        }
        let seconds = lane.limits == nil ? lane.pace.isSlow ? 600.0 : 60 : 3_600
        return now - max(lane.usedAt, lane.limits?.deadline ?? 0) < seconds
    }
}
