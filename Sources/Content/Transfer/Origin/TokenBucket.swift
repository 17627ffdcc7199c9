/// Holds bytes under a rate. A value; its times are seconds of one monotonic clock.
///
/// What comes in one block may go into debt, which the next ones wait for. What a full bucket holds
/// and what it fills with in a second come to the rate together, so that no second has more but for
/// the last block.
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

    /// Part of a second that a full bucket is worth.
    private static let burst = 0.05

    mutating func change(bytesPerSecond: Int64, now: Double) {
        fill(now)
        self.bytesPerSecond = Double(max(bytesPerSecond, 0))
        tokens = min(tokens, self.bytesPerSecond * Self.burst)
    }

    /// Takes `count` bytes when there is no debt; false, and nothing taken, when there is.
    mutating func take(_ count: Int, now: Double) -> Bool {
        fill(now)
        guard tokens > 0 else { return false }
        tokens -= Double(count)
        return true
    }

    /// Takes `count` bytes, into debt where need be.
    mutating func spend(_ count: Int, now: Double) {
        fill(now)
        tokens -= Double(count)
    }

    /// How long until something can be taken, at most a day; 0 when it can be now.
    mutating func secondsUntilCredit(now: Double) -> Double {
        fill(now)
        guard tokens <= 0 else { return 0 }
        guard bytesPerSecond > 0 else { return 86_400 }
        // A whole block's worth, not the first byte's: fewer wake-ups.
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
