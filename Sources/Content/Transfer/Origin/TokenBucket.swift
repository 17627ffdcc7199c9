/// Limits the rate of bytes. A value; its times are seconds of one monotonic clock.
///
/// A block may exceed the tokens; the debt delays the next ones. A full bucket plus one second's
/// filling equal the rate, so that only the last block can exceed the rate in any second.
struct TokenBucket {
    private(set) var bytesPerSecond: Double
    private var tokens: Double
    private var filledAt: Double

    /// Starts empty.
    init(bytesPerSecond: Int64, now: Double) {
        self.bytesPerSecond = Double(max(bytesPerSecond, 0))
        tokens = 0
        filledAt = now
    }

    /// Capacity of the bucket, as a part of a second.
    private static let burst = 0.05

    mutating func change(bytesPerSecond: Int64, now: Double) {
        fill(now)
        self.bytesPerSecond = Double(max(bytesPerSecond, 0))
        tokens = min(tokens, self.bytesPerSecond * Self.burst)
    }

    /// Takes `count` bytes if there is no debt; otherwise returns false without effect.
    mutating func take(_ count: Int, now: Double) -> Bool {
        fill(now)
        guard tokens > 0 else { return false }
        tokens -= Double(count)
        return true
    }

    /// Takes `count` bytes, into debt if necessary.
    mutating func spend(_ count: Int, now: Double) {
        fill(now)
        tokens -= Double(count)
    }

    /// Returns the seconds until something can be taken, at most a day; 0 if it can be taken now.
    mutating func secondsUntilCredit(now: Double) -> Double {
        fill(now)
        guard tokens <= 0 else { return 0 }
        guard bytesPerSecond > 0 else { return 86_400 }
        // Waits for a whole block's worth, not for the first byte, to save wake-ups.
        let wanted = min(bytesPerSecond * Self.burst / 4, 16_384)
        return min((wanted - tokens) / (bytesPerSecond * (1 - Self.burst)), 86_400)
    }

    private mutating func fill(_ now: Double) {
        guard now > filledAt else { return }
        tokens = min(
            tokens + (now - filledAt) * bytesPerSecond * (1 - Self.burst),
            bytesPerSecond * Self.burst)
        filledAt = now
    }
}
