/// State of a load test on its workers.
package enum LoadTestState: String, Codable, CaseIterable, Sendable {
    /// Workers join it and measure its targets; no load is sent. Can move to running, ended.
    case waiting
    /// Its start time, at first a few moments ahead, and its shards are set. Can move to stopping,
    /// ended.
    case running
    /// Its workers must stop. Can move to ended.
    case stopping
    /// No worker has a shard of it any more. Can move to nothing.
    case ended
}

/// An event of a load test.
package enum LoadTestEvent: String, Codable, CaseIterable, Sendable {
    /// Enough workers are ready: the requested number, or the minimum at the end of the time to
    /// join.
    case start
    /// A client stopped it, no client follows it any more, or it exceeds its scenario's duration.
    case stop
    /// Its last shard has ended, or it never started.
    case end
}

extension LoadTestState {
    package static let machine = StateMachine<LoadTestState, LoadTestEvent>(
        name: "load test", initial: .waiting,
        table: [
            .waiting: [.start: .running, .end: .ended],
            .running: [.stop: .stopping, .end: .ended],
            .stopping: [.end: .ended],
            .ended: [:],
        ])
}
