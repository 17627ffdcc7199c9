import Model
import Services
import Statistics
import Synchronization

/// Delays between the attempts of jobs, with jitter.
final class RetryDelays: Sendable {
    private let policy: RetryPolicy
    private let random: Mutex<SeededRandom>

    init(_ policy: RetryPolicy, _ random: SeededRandom) {
        self.policy = policy
        self.random = Mutex(random)
    }

    /// Returns the seconds until the attempt after number `attempt`.
    func seconds(attempt: Int, retryAfter: Double?) -> Double {
        random.withLock { random in
            policy.delaySeconds(attempt: attempt, retryAfter: retryAfter, using: &random)
        }
    }
}
