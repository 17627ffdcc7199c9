internal import Model

/// Periodic observations of a running transfer. Times are on the monotonic clock.
struct TransferWatch {
    /// Time at which the present request was sent.
    private(set) var requestedAt: Double
    /// Start of the speed measurement, and the bytes received until then.
    private var window: (startedAt: Double, bytes: Int64)?
    /// State at the last check for progress.
    private var seen = Seen()
    /// Bytes since the last judgement of its pace.
    private(set) var pace: PaceWindow
    /// Seconds below the floor since it got its slot.
    private(set) var slowSeconds = 0.0

    /// Received parts of the response.
    struct Seen: Equatable {
        var status = 0
        var bytes: Int64 = 0
    }

    init(now: Double) {
        requestedAt = now
        pace = PaceWindow(startedAt: now)
    }

    /// Records that a request is sent.
    mutating func connect(now: Double) {
        requestedAt = now
        window = nil
        pace = PaceWindow(startedAt: now)
    }

    /// Sets the number of bytes from which the body arrives.
    mutating func receive(from bytes: Int64) { pace.bytes = bytes }

    /// Records that this side has paused it.
    mutating func holdBack() { pace.wasHeldBack = true }

    /// Returns true if anything has arrived since the last call.
    mutating func hasAdvanced(to now: Seen) -> Bool {
        defer { seen = now }
        return now != seen
    }

    // MARK: Speed

    /// Excludes time that this side took.
    mutating func excuse(seconds: Double) { window?.startedAt += seconds }

    /// Restarts the measurement, because a transfer paused by this side is slow on purpose.
    mutating func excuse() { window = nil }

    /// Returns the bytes per second over a whole window of so many seconds, and its start; nil
    /// before its end.
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

    /// Returns the pace since the last judgement, and starts the next observation.
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
