import API
import EventLoop
import Model

extension HeldWork {
    var isEmpty: Bool { count == 0 }

    /// Waits like `waitUntil(_:)`, for a bounded time.
    func waitUntil(_ condition: Condition, atMost duration: Duration) async {
        await waitAtMost(duration) { await self.waitUntil(condition) }
    }

    /// Waits until leases end by this worker's clock, drops and returns them; returns none if the
    /// task is cancelled. The caller must cancel their transfers. For one task at a time.
    func nextLost<C: Clock>(
        clock: C = ContinuousClock()
    ) async -> [LeaseID] where C.Instant == Instant, C.Duration == Duration {
        while !Task.isCancelled {
            let lost = dropLost(now: clock.now)
            if !lost.isEmpty { return lost }
            await changes.sleep(until: nextEnd, clock: clock)
        }
        return []
    }
}
