import Model
import Storage

/// A job under the lease that this worker holds it by. Two are the same when both are: a job that was lost and
/// leased again is another one.
struct LeasedJob: Sendable, Hashable {
    let job: Job
    let lease: LeaseID

    static func == (one: Self, other: Self) -> Bool {
        one.job.id == other.job.id && one.lease == other.lease
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(job.id)
        hasher.combine(lease)
    }
}

/// A leased job whose bytes go to a storage: what the fetching, committing and refreshing objects hand to each
/// other.
struct Assignment: Sendable {
    let leased: LeasedJob
    let storage: DirectoryStorage

    init(_ leased: LeasedJob, _ storage: DirectoryStorage) {
        self.leased = leased
        self.storage = storage
    }

    var job: Job { leased.job }
    var lease: LeaseID { leased.lease }
}

/// What a worker calls itself towards coordinators.
struct WorkerIdentity: Sendable {
    let id: WorkerID
    /// Shown in the cluster's status: host and process.
    let name: String
    /// Queues to take jobs from; empty means all.
    let queues: [String]
}
