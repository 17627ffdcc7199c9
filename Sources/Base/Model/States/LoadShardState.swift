/// State of a worker's shard of a load test.
package enum LoadShardState: String, Codable, CaseIterable, Sendable {
    /// Its worker finishes its present jobs and measures the targets. Can move to ready, dismissed,
    /// failed.
    case joined
    /// Its worker waits for the start. Can move to running, dismissed, failed.
    case ready
    /// Its worker sends its part of the load, or will from the start on. Can move to finished,
    /// failed, lost.
    case running
    /// All of it was reported. Can move to nothing.
    case finished
    /// Its worker reported a failure; its earlier reports count. Can move to nothing.
    case failed
    /// Its worker stopped reporting; its earlier reports count. Can move to nothing.
    case lost
    /// The test started without it, or never started. Can move to nothing.
    case dismissed
}

/// An event of a worker's shard of a load test.
package enum LoadShardEvent: String, Codable, CaseIterable, Sendable {
    /// Its worker is idle and ready to start.
    case prepare
    /// The test's start is set.
    case begin
    /// Its worker reports the end.
    case finish
    /// Its worker reports a failure.
    case fail
    /// Its worker was silent for too long.
    case lose
    /// The test does not need it, or its worker was silent before the start.
    case dismiss
}

extension LoadShardState {
    package static let machine = StateMachine<LoadShardState, LoadShardEvent>(
        name: "load shard", initial: .joined,
        table: [
            .joined: [.prepare: .ready, .fail: .failed, .dismiss: .dismissed],
            .ready: [.begin: .running, .fail: .failed, .dismiss: .dismissed],
            .running: [.finish: .finished, .fail: .failed, .lose: .lost],
            .finished: [:],
            .failed: [:],
            .lost: [:],
            .dismissed: [:],
        ])
}
