import API
import Model

/// The load tests that coordinators reported to a worker.
struct LoadTestMemory {
    private var called: LoadTestCall?
    /// Tests that the worker joined or that needed no more workers; the latest last.
    private(set) var past: [LoadTestID] = []

    /// Records tests that need workers.
    mutating func note(_ calls: [LoadTestCall], queues: [String]) {
        guard called == nil else { return }
        called = calls.first { $0.isFor(queues) && !past.contains($0.id) }
    }

    /// Returns the test to join next, once.
    mutating func next() -> LoadTestCall? {
        guard let call = called else { return nil }
        called = nil
        past = Array((past + [call.id]).suffix(WireLimits.pastLoadTests))
        return call
    }
}
