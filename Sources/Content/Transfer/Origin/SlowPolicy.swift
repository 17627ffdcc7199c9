/// Rules that keep slow transfers from taking the connections of all others.
package struct SlowPolicy: Sendable, Hashable {
    /// Rate in bytes per second below which a transfer is slow.
    package var floorBytesPerSecond = 16_384.0
    /// Observation time before each judgement, in seconds.
    package var judgingSeconds = 1.5
    /// Seconds below the floor after which a transfer yields its slot to an origin with fewer. The
    /// time doubles with each stop that lost the received bytes, up to eight times.
    package var sliceSeconds = 30.0
    /// Seconds without observations after which an origin is no longer slow. The time doubles each
    /// time that the origin is slow again, up to sixteen times.
    package var expirySeconds = 60.0
    /// Maximum of waiting slow transfers in the engine; those beyond it end with
    /// `worker.cancelled`.
    package var maxWaiting = Int.max

    package init() {}
}

/// Jobs in an engine that are slow, or whose origin is unknown.
package struct SlowWork: Sendable {
    /// Slow transfers, running and waiting, and those that wait because their origin is unknown.
    package var count = 0
    /// Their origins, and other slow ones; those with the most transfers first.
    package var origins: [String] = []
    /// Those of them with less than half of an equal part of the slow transfers that may wait.
    package var underserved: Set<String> = []

    package init() {}
}

/// A transfer's observed pace: seconds above the floor, or below it.
enum TransferPace: Sendable, Equatable {
    /// The transfer was held back here, or observed too briefly.
    case unknown
    case prompt(seconds: Double)
    case slow(seconds: Double)
}

/// Recent use of slots by an origin's transfers. A value; its times are seconds of one monotonic
/// clock.
struct OriginPace {
    /// True if its transfers spent more time below the floor than above it.
    private(set) var isSlow = false
    /// Number of transfers that may run as prompt ones: one for each four that were prompt, halved
    /// by each slow one.
    private(set) var credit = 0.0
    private var slowSeconds = 0.0
    private var promptSeconds = 0.0
    private var halvedAt = 0.0
    private var seenAt = 0.0
    /// Number of consecutive times that its slowness expired.
    private var expiries = 0

    /// Half-life of observations.
    private static let halfLifeSeconds = 10.0
    private static let maxCredit = 1_000.0

    /// Adds the observed pace of one transfer; returns true if the origin has become slow or
    /// stopped being slow.
    mutating func add(_ seen: TransferPace, now: Double) -> Bool {
        let halvings = (now - halvedAt) / Self.halfLifeSeconds
        if halvings >= 1 {
            let left = Double(sign: .plus, exponent: -Int(min(halvings, 60)), significand: 1)
            slowSeconds *= left
            promptSeconds *= left
            halvedAt = now
        }
        if seen != .unknown { seenAt = now }
        switch seen {
        case .unknown: return false
        case .prompt(let seconds):
            // Very short transfers prove little.
            promptSeconds += max(seconds, 0.001)
            credit = min(credit + 0.25, Self.maxCredit)
        case .slow(let seconds):
            slowSeconds += seconds
            credit /= 2
        }
        let wasSlow = isSlow
        isSlow = slowSeconds > promptSeconds
        if !isSlow, case .prompt = seen { expiries = 0 }
        return isSlow != wasSlow
    }

    private static let maxDoublings = 4

    /// Returns true if a slow origin was not observed for so long that it may have changed.
    func hasExpired(_ policy: SlowPolicy, now: Double) -> Bool {
        let doublings = min(expiries, Self.maxDoublings)
        return isSlow && now - seenAt >= policy.expirySeconds * Double(1 << doublings)
    }

    /// Resets expired observations; returns true if the origin is no longer slow.
    mutating func expire(_ policy: SlowPolicy, now: Double) -> Bool {
        guard hasExpired(policy, now: now) else { return false }
        let expiries = expiries + 1
        self = OriginPace()
        self.expiries = expiries
        return true
    }
}

/// The bytes of a transfer since its last judgement.
struct PaceWindow {
    var startedAt: Double
    var bytes: Int64 = 0
    /// True if it was paused here meanwhile, which does not reflect its origin's pace.
    var wasHeldBack = false
}

/// A loop's observation of a running transfer.
struct Judgement {
    var transfer: UInt64
    /// The origin that it uses now, and that of its own URL.
    var origins: [OriginState]
    var pace: TransferPace
    /// Bytes to fetch again if it were stopped now.
    var bytesAtRisk: Int64
    /// True if it was not stopped before, or would lose nothing.
    var mayStop: Bool
    /// Number of consecutive stops that lost all received bytes; nil while it cannot be stopped.
    var losses: Int?
    /// Seconds below the floor since it got its slot.
    var slowSeconds: Double
}
