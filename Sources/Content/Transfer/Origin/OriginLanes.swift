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

    /// Removes the other lanes.
    mutating func keep(where isUsed: (OriginState) -> Bool) {
        byOrigin = byOrigin.filter { isUsed($0.value) }
        lastLane = nil
    }
}
