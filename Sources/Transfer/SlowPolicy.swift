/// How an engine keeps slow transfers from taking the connections of all others.
package struct SlowPolicy: Sendable, Hashable {
    /// A transfer is slow while it receives fewer bytes a second.
    package var floorBytesPerSecond = 16_384.0
    /// How long a transfer is watched before it is judged, in seconds; each time anew.
    package var judgingSeconds = 1.5
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

    /// What was seen counts half as much after this time.
    private static let halfLifeSeconds = 10.0
    private static let mostCredit = 1_000.0

    /// Adds what was seen of one transfer; true when the origin has become slow, or is slow no more.
    mutating func add(_ seen: TransferPace, now: Double) -> Bool {
        if now - halvedAt >= Self.halfLifeSeconds {
            slowSeconds /= 2
            promptSeconds /= 2
            halvedAt = now
        }
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
        defer { isSlow = slowSeconds > promptSeconds }
        return isSlow != (slowSeconds > promptSeconds)
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
}
