/// How an engine keeps slow transfers from taking the connections of all others.
package struct SlowPolicy: Sendable, Hashable {
    /// A transfer is slow while it receives fewer bytes a second.
    package var floorBytesPerSecond = 16_384.0
    /// How long a transfer is watched before it is judged, in seconds; each time anew.
    package var judgingSeconds = 1.5
    /// After so many seconds below the floor in one slot, a transfer gives it to an origin that has fewer; after
    /// twice as many each time that it lost what it had received, eight times as many at most.
    package var sliceSeconds = 30.0
    /// An origin is no longer slow when nothing was seen of it for so many seconds; twice as many each time that
    /// it was slow again, sixteen times as many at most.
    package var expirySeconds = 60.0
    /// Slow transfers that may wait in the engine; what is above ends with `worker.cancelled`.
    package var maxWaiting = Int.max

    package init() {}
}

/// Jobs that an engine has in hand beside those that wait for their turn only.
package struct SlowWork: Sendable {
    /// Slow transfers, under way and waiting, and those that wait because nothing is known of their origin.
    package var count = 0
    /// Their origins, and others that are slow; those with the most first.
    package var origins: [String] = []
    /// Those of them with less than half of an equal part of the slow transfers that may wait.
    package var underserved: Set<String> = []

    package init() {}
}

/// What was seen of a transfer: for how many seconds it was above the floor, or below it.
enum TransferPace: Sendable, Equatable {
    /// It was held back here, or not watched for long enough.
    case unknown
    case prompt(seconds: Double)
    case slow(seconds: Double)
}

/// How an origin's transfers have used their slots of late. A value; its times are seconds of one
/// monotonic clock.
struct OriginPace {
    /// More of its transfers' time was spent below the floor than above it.
    private(set) var isSlow = false
    /// So many transfers at a time have proved to be worth a slot: one for each four that were prompt, and half as
    /// many when one is slow.
    private(set) var credit = 0.0
    private var slowSeconds = 0.0
    private var promptSeconds = 0.0
    private var halvedAt = 0.0
    private var seenAt = 0.0
    /// How often in a row its slowness expired.
    private var expiries = 0

    /// What was seen counts half as much after this time.
    private static let halfLifeSeconds = 10.0
    private static let mostCredit = 1_000.0

    /// Adds what was seen of one transfer; true when the origin has become slow, or is slow no more.
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
            // What takes no time proves little.
            promptSeconds += max(seconds, 0.001)
            credit = min(credit + 0.25, Self.mostCredit)
        case .slow(let seconds):
            slowSeconds += seconds
            credit /= 2
        }
        let wasSlow = isSlow
        isSlow = slowSeconds > promptSeconds
        if !isSlow, case .prompt = seen { expiries = 0 }
        return isSlow != wasSlow
    }

    private static let mostDoublings = 4

    /// Whether nothing has been seen for so long that the origin may be another by now.
    func hasExpired(_ policy: SlowPolicy, now: Double) -> Bool {
        let doublings = min(expiries, Self.mostDoublings)
        return isSlow && now - seenAt >= policy.expirySeconds * Double(1 << doublings)
    }

    /// Forgets what was seen too long ago; true when the origin is slow no more.
    mutating func expire(_ policy: SlowPolicy, now: Double) -> Bool {
        guard hasExpired(policy, now: now) else { return false }
        let expiries = expiries + 1
        self = OriginPace()
        self.expiries = expiries
        return true
    }
}

/// The bytes of a transfer since it was last judged.
struct PaceWindow {
    var startedAt: Double
    var bytes: Int64 = 0
    /// It was paused here meanwhile: that is not its origin's pace.
    var wasHeldBack = false
}

/// What a loop has seen of a transfer under way.
struct Judgement {
    var transfer: UInt64
    /// The origin that it is at, and that of its own URL.
    var lanes: [OriginLane]
    var pace: TransferPace
    /// Bytes that would have to be fetched again if it were stopped now.
    var bytesAtRisk: Int64
    /// It has not been stopped before, or would lose nothing.
    var mayStop: Bool
    /// How often in a row it was stopped and lost what it had received; nil while it cannot be stopped.
    var losses: Int?
    /// For how long it was below the floor since it has its slot.
    var slowSeconds: Double
}
