import API
import Model
import Storage
import Transfer

/// A job, its site, and the lease under which this worker holds it.
///
/// Two values are equal if job and lease match: a job that was lost and leased again is a different
/// one.
struct LeasedJob: Sendable, Hashable {
    let job: Job
    let lease: LeaseID
    let site: LeasedSite
    /// This attempt's step of the trace of its submission; nil unless the worker uses traces.
    var trace: TraceContext?
    /// Lines of its requests to the origin of its own URL, in addition to those of every request.
    var originHeaders: [String] = []

    static func == (one: Self, other: Self) -> Bool {
        one.job.id == other.job.id && one.lease == other.lease
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(job.id)
        hasher.combine(lease)
    }

    /// Returns the report of an outcome.
    ///
    /// - Parameter origins: outcomes by origin; nil if only the job's own origin was used.
    func report(_ outcome: JobReport.Outcome, origins: [OriginOutcome]? = nil) -> JobReport {
        JobReport(job: job.id, lease: lease, outcome: outcome, origins: origins)
    }
}

extension TransferRequest {
    /// Creates a request for a leased job, whose site gets the bytes.
    init(for work: LeasedJob, _ url: String, to destination: Destination, role: SegmentRole) {
        self.init(
            url: url, group: work.lease.description, destination: destination, role: role)
        owner.job = work.job.id
        owner.site = work.site.id
    }
}

/// A leased job with the fields of its task.
struct Leased<Task: Hashable & Sendable>: Sendable, Hashable {
    let work: LeasedJob
    let task: Task

    init(_ work: LeasedJob, _ task: Task) {
        self.work = work
        self.task = task
    }

    var job: Job { work.job }
    var lease: LeaseID { work.lease }
    var site: SiteID { work.site.id }

    static func == (one: Self, other: Self) -> Bool { one.work == other.work }

    func hash(into hasher: inout Hasher) { hasher.combine(work) }
}

/// A leased fetch with the open storage of its site; fetching and committing pass it on.
///
/// A class, so that passing it on counts one reference instead of one for each of its texts.
final class Assignment: Sendable {
    let leased: LeasedJob
    let fetch: Fetch
    let storage: SiteStorage

    /// Nil for a job that is no fetch.
    init?(_ leased: LeasedJob, _ storage: SiteStorage) {
        guard case .fetch(let fetch) = leased.job.task else { return nil }
        self.leased = leased
        self.fetch = fetch
        self.storage = storage
    }

    /// The fetch of another one, whose file was found under its key.
    init(_ other: Assignment, found: FoundFile) {
        var fetch = other.fetch
        fetch.previous = PreviousObject(
            StoredObject(bytes: found.bytes, sha256: found.sha256), validator: found.validator)
        (leased, self.fetch, storage) = (other.leased, fetch, other.storage)
    }

    var job: Job { leased.job }
    var lease: LeaseID { leased.lease }
    var site: SiteID { leased.site.id }
}

/// The identity that a worker reports to coordinators.
struct WorkerIdentity: Sendable {
    let id: WorkerID
    /// Host and process, shown in the cluster's status.
    let name: String
    /// Queues from which the worker leases jobs; empty for all.
    let queues: [String]
}
