/// What the cluster knows of a worker's part in a load test.
package enum LoadShareState: String, Codable, CaseIterable, Sendable {
    /// Its worker finishes the jobs that it has, and finds out what the targets come to.
    /// Can move to ready, dismissed, failed.
    case joined
    /// Its worker waits for the start. Can move to running, dismissed, failed.
    case ready
    /// Its worker sends its part of the load, or does from the start on.
    /// Can move to finished, failed, lost.
    case running
    /// All of it was reported. Can move to nothing.
    case finished
    /// Its worker could not go on, and said why; what it reported before counts. Can move to nothing.
    case failed
    /// Its worker was not heard of any more; what it reported before counts. Can move to nothing.
    case lost
    /// The test began without it, or came to no start. Can move to nothing.
    case dismissed
}

/// What happens to a worker's part in a load test.
package enum LoadShareEvent: String, Codable, CaseIterable, Sendable {
    /// Its worker has nothing else to do and could begin.
    case prepare
    /// The test's start is set.
    case begin
    /// Its worker reports the end.
    case finish
    /// Its worker reports why it cannot go on.
    case fail
    /// Its worker was silent for too long.
    case lose
    /// There is no place for it, or its worker was silent before the start.
    case dismiss
}

extension LoadShareState {
    package static let machine = StateMachine<LoadShareState, LoadShareEvent>(
        name: "load share", initial: .joined,
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
