/// State of a queue.
package enum QueueState: String, Codable, CaseIterable, Sendable {
    /// Accepts new work, and leases its jobs. Can move to active, paused, draining.
    case active
    /// Leases no jobs; leased ones are finished. Can move to active, paused, draining.
    case paused
    /// Accepts no new work; its present jobs are leased and finished. Can move to active, paused,
    /// draining.
    case draining
}

/// An event of a queue: an operator's action. Repeating one changes nothing.
package enum QueueEvent: String, Codable, CaseIterable, Sendable {
    /// An operator stops the leasing of its jobs.
    case pause
    /// An operator ends a pause or a drain.
    case resume
    /// An operator closes it to new work.
    case drain

    /// The resulting state of the queue, whatever it was.
    package var state: QueueState {
        switch self {
        case .pause: .paused
        case .resume: .active
        case .drain: .draining
        }
    }
}

extension QueueState {
    /// Each event is allowed in each state.
    package static let machine = StateMachine<QueueState, QueueEvent>(
        name: "queue", initial: .active,
        table: Dictionary(
            uniqueKeysWithValues: allCases.map { state in
                (
                    state,
                    Dictionary(uniqueKeysWithValues: QueueEvent.allCases.map { ($0, $0.state) })
                )
            }))
}
