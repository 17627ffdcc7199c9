package import Model
package import Statistics
import Synchronization

/// A `Backoff` with its source of jitter, for attempts that several tasks make.
package final class RetryDelays: Sendable {
    private let backoff: Backoff
    private let random: Mutex<SeededRandom>

    /// - Parameter random: source of the jitter; seeded by the operating system by default.
    package init(_ backoff: Backoff, _ random: SeededRandom = SeededRandom()) {
        self.backoff = backoff
        self.random = Mutex(random)
    }

    /// Returns the seconds to wait after attempt number `attempt` (from 1), and at least a server's
    /// `retryAfter`, up to its limit.
    package func seconds(attempt: Int, retryAfter: Double? = nil) -> Double {
        random.withLock { random in
            backoff.delaySeconds(attempt: attempt, retryAfter: retryAfter, using: &random)
        }
    }
}
