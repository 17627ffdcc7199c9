package import Model

// Work beside jobs, which one worker leases at a time: audits of sites, sources of catalogs.

/// Work of a queue that needs a worker.
package protocol WorkCall: Hashable, Sendable {
    /// Queue of its site.
    var queue: String { get }
}

extension WorkCall {
    /// Returns true if a worker of these queues may do it; an empty list means all queues.
    package func isFor(_ queues: [String]) -> Bool { queues.isEmpty || queues.contains(queue) }
}

/// `POST /v1/site-audits/{audit}/leases`, `POST /v1/sources/{catalog}/leases`: a worker takes an
/// audit, from where another one stopped, or a source that is due.
package struct WorkLeaseRequest: Codable, Sendable {
    package var worker: WorkerID
    /// Host and process, 1 to 200 characters.
    package var name: String
    /// Identity of the lease: a repeated request has the same answer.
    package var lease: LeaseID

    package init(worker: WorkerID, name: String, lease: LeaseID) {
        self.worker = worker
        self.name = name
        self.lease = lease
    }
}
