internal import Model

/// The origins of an engine by name.
struct OriginTable {
    private let loops: Int
    private let connections: Int
    private var byName: [String: OriginState] = [:]
    /// URL prefix of the last look-up, common to most URLs of a batch.
    private var lastPrefix: String.UTF8View = "".utf8
    private var lastOrigin: OriginState?
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

    var values: some Collection<OriginState> { byName.values }

    subscript(name: String) -> OriginState? { byName[name] }

    /// Returns a URL's origin; all invalid URLs have one.
    mutating func origin(ofURL url: String, now: Double) -> OriginState {
        if let lastOrigin, Self.isIn(url, lastPrefix) { return lastOrigin }
        let name = originName(of: url) ?? ""
        let origin = origin(named: name, now: now)
        if !name.isEmpty, url.utf8.starts(with: name.utf8) {
            (lastOrigin, lastPrefix) = (origin, name.utf8)
        }
        return origin
    }

    private static func isIn(_ url: String, _ prefix: String.UTF8View) -> Bool {
        var rest = url.utf8.makeIterator()
        for byte in prefix where rest.next() != byte { return false }
        // Any other byte could continue with a port, or turn the apparent host into userinfo.
        return rest.next() == UInt8(ascii: "/")
    }

    mutating func origin(named name: String, now: Double) -> OriginState {
        if let origin = byName[name] { return origin }
        let origin = OriginState(
            name: name, firstLoop: madeCount % loops, loops: loops, ceiling: connections,
            now: now)
        madeCount += 1
        byName[name] = origin
        return origin
    }

    // MARK: Slow origins

    /// Records that an origin has become slow.
    mutating func noteSlow() { hasSlow = true }

    /// Resets slow origins that were last seen too long ago, and returns them. Looks for them once a second.
    mutating func expireSlowness(_ policy: SlowPolicy, now: Double) -> [OriginState] {
        guard now - expiredAt >= Self.expirySampleSeconds else { return [] }
        expiredAt = now
        var expired: [OriginState] = []
        for origin in byName.values where origin.pace.expire(policy, now: now) {
            expired.append(origin)
        }
        return expired
    }

    // MARK: Unused origins

    /// Removes unused origins: after a minute without limits, ten minutes if slow, and an hour after their limits
    /// expired. Looks for them every ten seconds; returns false in between.
    mutating func prune(now: Double) -> Bool {
        guard now - prunedAt >= Self.pruneSeconds else { return false }
        prunedAt = now
        byName = byName.filter { Self.isUsed($0.value, now: now) }
        lastOrigin = nil
        hasSlow = byName.values.contains(where: \.pace.isSlow)
        return true
    }

    private static func isUsed(_ origin: OriginState, now: Double) -> Bool {
        if origin.hasWork || !origin.connections.sockets.isEmpty || origin.reviewAt != nil {
            return true
        }
        let seconds = origin.limits == nil ? origin.pace.isSlow ? 600.0 : 60 : 3_600
        return now - max(origin.usedAt, origin.limits?.deadline ?? 0) < seconds
    }
}
