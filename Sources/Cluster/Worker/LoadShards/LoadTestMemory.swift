import Model

/// Which load tests a worker was told of.
struct LoadTestMemory {
    private var called: LoadTestCall?
    /// Those that it has had its part in, or found no place in; the latest last.
    private(set) var past: [LoadTestID] = []

    /// Hears of tests that want workers.
    mutating func hear(_ calls: [LoadTestCall], queues: [String]) {
        guard called == nil else { return }
        called = calls.first { $0.isFor(queues) && !past.contains($0.id) }
    }

    /// The test to take part in next, once.
    mutating func next() -> LoadTestCall? {
        guard let call = called else { return nil }
        called = nil
        past = Array((past + [call.id]).suffix(WireLimits.pastLoadTests))
        return call
    }
}
