/// Exponential backoff with jitter: the delays between the attempts at one thing.
///
/// The delay after attempt `n` is at most `first × factorⁿ⁻¹`, capped. Jitter spreads clients that
/// failed together; see "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. Pure: the
/// randomness is passed in.
package struct Backoff: Sendable, Hashable {
    /// Upper bound of the first delay, in seconds.
    package var firstSeconds: Double
    /// Upper bound of every delay without Retry-After, in seconds.
    package var maxSeconds: Double
    /// Growth of the bound with each attempt, above 1.
    package var factor: Double
    /// Range of a delay, as a share of its bound. From 0 to 1 ("full jitter") by default.
    package var jitter: ClosedRange<Double>
    /// Upper bound of delays with a server's Retry-After, in seconds.
    package var retryAfterLimitSeconds: Double

    package init(
        firstSeconds: Double = 0.5, maxSeconds: Double = 60, factor: Double = 2,
        jitter: ClosedRange<Double> = 0...1, retryAfterLimitSeconds: Double = 3_600
    ) {
        precondition(firstSeconds > 0 && maxSeconds >= firstSeconds && factor > 1)
        precondition(jitter.lowerBound >= 0 && retryAfterLimitSeconds >= 0)
        self.firstSeconds = firstSeconds
        self.maxSeconds = maxSeconds
        self.factor = factor
        self.jitter = jitter
        self.retryAfterLimitSeconds = retryAfterLimitSeconds
    }

    /// Returns the bound of the delay without Retry-After after attempt number `attempt` (from 1),
    /// in seconds.
    package func ceilingSeconds(attempt: Int) -> Double {
        var (seconds, step) = (firstSeconds, 1)
        while step < attempt, seconds < maxSeconds {
            seconds *= factor
            step += 1
        }
        return min(seconds, maxSeconds)
    }

    /// Returns `ceilingSeconds` as a duration: a delay without jitter.
    package func ceiling(attempt: Int) -> Duration { .seconds(ceilingSeconds(attempt: attempt)) }

    /// Returns the seconds to wait after attempt number `attempt` (from 1) failed.
    ///
    /// `retryAfter` is the server's Retry-After in seconds; it is the minimum delay, up to the
    /// limit. Jitter is added, so that clients with the same value do not return together.
    package func delaySeconds(
        attempt: Int, retryAfter: Double? = nil, using random: inout some RandomNumberGenerator
    ) -> Double {
        let delay = ceilingSeconds(attempt: attempt) * Double.random(in: jitter, using: &random)
        guard let retryAfter, retryAfter.isFinite, retryAfter > 0 else { return delay }
        return min(retryAfter + min(delay, retryAfter), retryAfterLimitSeconds)
    }
}
