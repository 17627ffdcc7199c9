package import Model

/// `POST /v1/queues/{name}/control`; the answer is the queue's status.
package struct QueueControl: Codable, Sendable {
    package var action: Action

    package typealias Action = QueueEvent

    package init(_ action: Action) { self.action = action }
}

/// `GET /v1/queues`: every queue, by name.
package struct QueueList: Codable, Sendable {
    package var queues: [ClusterStatus.QueueStatus]

    package init(queues: [ClusterStatus.QueueStatus]) { self.queues = queues }
}
