internal import Model

/// What a loop looks at now and then while a transfer is under way. Times are on the monotonic clock.
struct TransferWatch {
    /// When the request under way was sent.
    private(set) var requestedAt: Double
    /// Since when its speed is measured, and what there was then.
    private var window: (startedAt: Double, bytes: Int64)?
    /// What there was when it was last asked whether anything had come.
    private var seen = Seen()
    /// What has come since its pace was last judged.
    private(set) var pace: PaceWindow
    /// For how long it was below the floor since it has its slot.
    private(set) var slowSeconds = 0.0

    /// What has come of the answer.
    struct Seen: Equatable {
        var status = 0
        var bytes: Int64 = 0
    }

    init(now: Double) {
        requestedAt = now
        pace = PaceWindow(startedAt: now)
    }

    /// A request is sent.
    mutating func connect(now: Double) {
        requestedAt = now
        window = nil
        pace = PaceWindow(startedAt: now)
    }

    /// The body comes from here on.
    mutating func receive(from bytes: Int64) { pace.bytes = bytes }

    /// This side has paused it.
    mutating func holdBack() { pace.wasHeldBack = true }

    /// Whether anything has come since this was asked last.
    mutating func hasAdvanced(to now: Seen) -> Bool {
        defer { seen = now }
        return now != seen
    }

    // MARK: Speed

    /// Time that this side took is not the origin's.
    mutating func excuse(seconds: Double) { window?.startedAt += seconds }

    /// A transfer that this side has paused is slow by order.
    mutating func excuse() { window = nil }

    /// The bytes a second over a whole window of so many seconds, and since when; nil before its end.
    mutating func speed(
        of receivedBytes: Int64, over seconds: Double, now: Double
    ) -> (bytesPerSecond: Double, since: Double)? {
        guard let (startedAt, bytes) = window else {
            window = (now, receivedBytes)
            return nil
        }
        guard now - startedAt >= seconds else { return nil }
        window = (now, receivedBytes)
        return (Double(receivedBytes - bytes) / (now - startedAt), startedAt)
    }

    /// What was seen of the transfer since it was last judged; then watches anew.
    mutating func judge(
        _ policy: SlowPolicy, receivedBytes: Int64, isExcused: Bool, now: Double
    ) -> TransferPace {
        if isExcused || pace.wasHeldBack {
            pace = PaceWindow(startedAt: now, bytes: receivedBytes)
            return .unknown
        }
        let seconds = now - pace.startedAt
        guard seconds >= policy.judgingSeconds else { return .unknown }
        let bytes = max(receivedBytes - pace.bytes, 0)
        pace = PaceWindow(startedAt: now, bytes: receivedBytes)
        let isSlow = Double(bytes) < policy.floorBytesPerSecond * seconds
        guard isSlow else { return .prompt(seconds: seconds) }
        slowSeconds += seconds
        return .slow(seconds: seconds)
    }
}
