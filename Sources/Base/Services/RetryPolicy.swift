/// Exponential backoff with full jitter: the delay before attempt `n + 1` is uniform between zero
/// and `base × 2ⁿ⁻¹`, capped.
///
/// Full jitter spreads clients that failed together; see "Exponential Backoff And Jitter", AWS
/// Architecture Blog, 2015. Pure: the randomness is passed in.
package struct RetryPolicy: Sendable, Hashable {
    /// Upper bound of the first delay, in seconds.
    package var baseSeconds: Double
    /// Upper bound of every delay without Retry-After, in seconds.
    package var capSeconds: Double
    /// Upper bound of delays with a server's Retry-After, in seconds.
    package var retryAfterLimitSeconds: Double

    package init(
        baseSeconds: Double = 0.5, capSeconds: Double = 60, retryAfterLimitSeconds: Double = 3_600
    ) {
        precondition(baseSeconds > 0 && capSeconds >= baseSeconds && retryAfterLimitSeconds >= 0)
        self.baseSeconds = baseSeconds
        self.capSeconds = capSeconds
        self.retryAfterLimitSeconds = retryAfterLimitSeconds
    }

    /// Returns the maximum delay without Retry-After after attempt number `attempt` (from 1), in
    /// seconds.
    package func ceilingSeconds(attempt: Int) -> Double {
        // 2⁶⁰ is beyond every cap; more doublings would overflow.
        let doublings = min(max(attempt, 1) - 1, 60)
        return min(baseSeconds * Double(UInt64(1) << UInt64(doublings)), capSeconds)
    }

    /// Returns the seconds to wait after attempt number `attempt` (from 1) failed.
    ///
    /// `retryAfter` is the server's Retry-After in seconds; it is the minimum delay, up to the
    /// limit. Jitter is added, so that clients with the same value do not return together.
    package func delaySeconds(
        attempt: Int, retryAfter: Double? = nil, using random: inout some RandomNumberGenerator
    ) -> Double {
        let jitter = Double.random(in: 0...ceilingSeconds(attempt: attempt), using: &random)
        guard let retryAfter, retryAfter.isFinite, retryAfter > 0 else { return jitter }
        return min(retryAfter + min(jitter, retryAfter), retryAfterLimitSeconds)
    }

    /// Returns `delaySeconds` as a duration.
    package func delay(
        attempt: Int, retryAfter: Double? = nil, using random: inout some RandomNumberGenerator
    ) -> Duration {
        .seconds(delaySeconds(attempt: attempt, retryAfter: retryAfter, using: &random))
    }
}
