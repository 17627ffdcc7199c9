/// State of a queue.
package enum QueueState: String, Codable, CaseIterable, Sendable {
    case active
    /// Leases no jobs; leased ones are finished.
    case paused
    /// Accepts no new work; its present jobs are leased and finished.
    case draining
}

/// `POST /v1/queues/{name}/control`; the answer is the queue's status.
package struct QueueControl: Codable, Sendable {
    package var action: Action

    package enum Action: String, Codable, CaseIterable, Sendable {
        case pause
        /// Ends a pause or a drain.
        case resume
        case drain

        /// The resulting state of the queue; repeating the action changes nothing.
        package var state: QueueState {
            switch self {
            case .pause: .paused
            case .resume: .active
            case .drain: .draining
            }
        }
    }

    package init(_ action: Action) { self.action = action }
}

/// `GET /v1/queues`: every queue, by name.
package struct QueueList: Codable, Sendable {
    package var queues: [ClusterStatus.QueueStatus]

    package init(queues: [ClusterStatus.QueueStatus]) { self.queues = queues }
}
