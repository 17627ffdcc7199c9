/// What the cluster knows of a load test on its workers.
package enum LoadTestState: String, Codable, CaseIterable, Sendable {
    /// Workers join it and find out what its targets come to; no load is sent.
    /// Can move to running, ended.
    case waiting
    /// Its start, which is some moments ahead at first, is set, and so are its shares.
    /// Can move to stopping, ended.
    case running
    /// Its workers are told to stop. Can move to ended.
    case stopping
    /// No worker has a share of it any more. Can move to nothing.
    case ended
}

/// What happens to a load test.
package enum LoadTestEvent: String, Codable, CaseIterable, Sendable {
    /// As many workers as are wanted are ready, or the time to join is over and enough are.
    case start
    /// Somebody asked for it, nobody follows it any more, or it lasts longer than its scenario.
    case stop
    /// Its last share has ended, or it did not come to a start.
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
