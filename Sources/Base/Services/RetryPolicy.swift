/// Exponential backoff with full jitter: the delay before try `n + 1` is uniform between zero and
/// `base × 2ⁿ⁻¹`, capped.
///
/// Full jitter spreads clients that failed together; see "Exponential Backoff And Jitter",
/// AWS Architecture Blog, 2015. Pure: the randomness is passed in.
package struct RetryPolicy: Sendable, Hashable {
    /// Upper bound of the first delay, in seconds.
    package var baseSeconds: Double
    /// Upper bound of every delay that Dray chooses itself, in seconds.
    package var capSeconds: Double
    /// Longest time that a server's Retry-After can ask for, in seconds.
    package var retryAfterLimitSeconds: Double

    package init(
        baseSeconds: Double = 0.5, capSeconds: Double = 60, retryAfterLimitSeconds: Double = 3_600
    ) {
        precondition(baseSeconds > 0 && capSeconds >= baseSeconds && retryAfterLimitSeconds >= 0)
        self.baseSeconds = baseSeconds
        self.capSeconds = capSeconds
        self.retryAfterLimitSeconds = retryAfterLimitSeconds
    }

    /// The largest delay, without Retry-After, after try number `attempt` (from 1), in seconds.
    package func ceilingSeconds(attempt: Int) -> Double {
        // 2⁶⁰ is beyond every cap; more doublings would only lose the exponent.
        let doublings = min(max(attempt, 1) - 1, 60)
        return min(baseSeconds * Double(UInt64(1) << UInt64(doublings)), capSeconds)
    }

    /// Seconds to wait after try number `attempt` (from 1) failed.
    ///
    /// `retryAfter` is the server's wish in seconds; it is the least delay, up to the limit. The
    /// jitter comes on top, so that clients told the same second do not come back together.
    package func delaySeconds(
        attempt: Int, retryAfter: Double? = nil, using random: inout some RandomNumberGenerator
    ) -> Double {
        let jitter = Double.random(in: 0...ceilingSeconds(attempt: attempt), using: &random)
        guard let retryAfter, retryAfter.isFinite, retryAfter > 0 else { return jitter }
        return min(retryAfter + min(jitter, retryAfter), retryAfterLimitSeconds)
    }

    /// As `delaySeconds`, as a duration.
    package func delay(
        attempt: Int, retryAfter: Double? = nil, using random: inout some RandomNumberGenerator
    ) -> Duration {
        .seconds(delaySeconds(attempt: attempt, retryAfter: retryAfter, using: &random))
    }
}
