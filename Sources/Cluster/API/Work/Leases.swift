package import Model

/// `POST /v1/leases`: requests a batch of jobs.
package struct LeaseRequest: Sendable {
    package var worker: WorkerID
    /// Queues to lease from; empty means every queue.
    package var queues: [String]
    /// 1 to `WireLimits.jobsPerLease`.
    package var maxJobs: Int
    /// Maximum time that the coordinator holds the request while there is no work, 0 to
    /// `WireLimits.waitMilliseconds`.
    package var waitMilliseconds: Int
    /// Identity for the lease, so that it can be released without an answer; nil lets the
    /// coordinator choose.
    package var lease: LeaseID?
    /// Load tests that the worker has joined or was not needed in, the latest
    /// `WireLimits.pastLoadTests`. Nil for a worker without support for load tests.
    package var pastLoadTests: [LoadTestID]?
    /// Audits that the worker has or cannot do, the latest `WireLimits.pastAudits`. Nil for a worker
    /// that takes no audits.
    package var pastAudits: [SiteAuditID]?
    /// True for a worker that may read a source now.
    package var takesSources = false
    /// Storage URLs of the directories that the worker may write to: it leases only jobs of sites
    /// within them. 1 to `WireLimits.rootsPerWorker`; nil for a worker that may write to every
    /// site.
    package var roots: [String]?
    /// Sites within the roots that a symlink leads outside; nil for none.
    package var refusedSites: [SiteID]?
    /// Origins of which the worker leases few jobs; nil for none.
    package var slow: SlowOrigins?
    /// True for the traces of the jobs in the answer.
    package var wantsTraces = false

    package init(
        worker: WorkerID, queues: [String], maxJobs: Int, waitMilliseconds: Int,
        lease: LeaseID? = nil
    ) {
        self.lease = lease
        self.worker = worker
        self.queues = queues
        self.maxJobs = maxJobs
        self.waitMilliseconds = waitMilliseconds
    }
}

/// Origins that a worker has found to be slow, with a limit on their jobs together.
package struct SlowOrigins: Sendable {
    /// Origins as named by `originName(of:)`, 1 to `WireLimits.slowOriginsPerLease`; the field
    /// `slowOrigins` of the request.
    package var origins: [String]
    /// 0 to `WireLimits.jobsPerLease`; the field `slowMaxJobs`.
    package var maxJobs: Int

    package init(origins: [String], maxJobs: Int) {
        self.origins = origins
        self.maxJobs = maxJobs
    }
}

/// The answer to `LeaseRequest`; without work, it has no lease and no jobs.
package struct LeaseGrant: Codable, Sendable {
    package var lease: LeaseID?
    /// Duration of the lease from the moment it was granted. The worker counts from before it sent
    /// the request, plus `waitedSeconds`.
    package var seconds: Double
    /// Time that the coordinator held the request before the grant.
    package var waitedSeconds = 0.0
    /// The site of all jobs; nil without jobs.
    package var site: LeasedSite?
    package var jobs: [Job]
    /// Identity of the database, to which its numbers belong. Nil without jobs.
    package var cluster: ClusterID?
    /// The worker's quotas of origins' limits, including those of its jobs; nil for none.
    package var shares: [OriginQuota]?
    /// Origins in cooldown; nil for none.
    package var cooldowns: [OriginCooldown]?
    /// The worker's quota of the site of its jobs; nil for no limit.
    package var siteShares: [SiteQuota]?
    /// A load test that needs the worker; nil for none.
    package var loadTest: LoadTestCall?
    /// An audit of a site that needs the worker; nil for none.
    package var audit: SiteAuditCall?
    /// A source that needs the worker; nil for none.
    package var source: SourceCall?
    /// A site that the worker must probe, whether or not it gets jobs of it: it tests it as one with
    /// `SiteSpace.isTried`, and reports success in a heartbeat. Nil for none.
    package var probe: LeasedSite?
    /// Traces of the jobs, if the request asks for them; nil for none.
    package var traces: [LeasedTrace]?
    /// True if the single job runs alone, because a worker crashed on it: the worker starts nothing
    /// else meanwhile. Nil is false.
    package var isAlone: Bool?

    package init(
        lease: LeaseID?, seconds: Double, site: LeasedSite? = nil, jobs: [Job] = []
    ) {
        self.lease = lease
        self.seconds = seconds
        self.site = site
        self.jobs = jobs
    }

    /// Origins of the jobs, as named by `originName(of:)`.
    package var origins: Set<String> {
        Set(jobs.compactMap { $0.requestedURL.flatMap { originName(of: $0) } })
    }
}

/// The site of a lease's jobs: a lease has jobs of one queue.
package struct LeasedSite: Codable, Hashable, Sendable {
    package var id: SiteID
    package var storageURL: String
    /// The recorded volume; nil for none.
    package var volume: VolumeID?
    /// Limits of its space; nil for none.
    package var space: SiteSpace?

    package init(
        id: SiteID, storageURL: String, volume: VolumeID? = nil, space: SiteSpace? = nil
    ) {
        self.id = id
        self.storageURL = storageURL
        self.volume = volume
        self.space = space
    }
}

/// The trace of the submission to which some jobs of a lease belong.
package struct LeasedTrace: Codable, Hashable, Sendable {
    /// The value of a `traceparent` header (W3C Trace Context): the request that opened the submission.
    package var traceparent: String
    package var jobs: [JobID]

    package init(traceparent: String, jobs: [JobID]) {
        self.traceparent = traceparent
        self.jobs = jobs
    }
}

/// `POST /v1/releases`: releases a lease whose grant never arrived. Its jobs wait again; if it is
/// not granted yet, it never will be. The only answer is 204.
package struct LeaseRelease: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID

    package init(worker: WorkerID, lease: LeaseID) {
        self.worker = worker
        self.lease = lease
    }
}

// MARK: Fields

extension LeaseRequest: WireMessage, WireObject {
    package enum Field: Int, WireField {
        case worker, maxJobs, waitMilliseconds, lease
        case queues, roots, refusedSites, pastLoadTests, slowOrigins, slowMaxJobs, wantsTraces
        case pastAudits, takesSources

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: LeaseRequest {
        LeaseRequest(worker: .zero, queues: [], maxJobs: 0, waitMilliseconds: 0)
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.worker, &worker)
        try coder.code(.maxJobs, &maxJobs)
        try coder.code(.waitMilliseconds, &waitMilliseconds)
        try coder.code(.lease, &lease)
        try coder.codeList(.queues, &queues)
        try coder.code(.roots, &roots)
        try coder.code(.refusedSites, &refusedSites)
        try coder.code(.pastLoadTests, &pastLoadTests)
        var (origins, most) = (slow?.origins, slow?.maxJobs)
        try coder.code(.slowOrigins, &origins)
        try coder.code(.slowMaxJobs, &most)
        try coder.codeFlag(.wantsTraces, &wantsTraces)
        try coder.code(.pastAudits, &pastAudits)
        try coder.codeFlag(.takesSources, &takesSources)
        guard coder.isReading else { return }
        guard (origins == nil) == (most == nil) else {
            throw incomplete("slow origins need both their names and their number of jobs.")
        }
        slow = origins.map { SlowOrigins(origins: $0, maxJobs: most ?? 0) }
    }
}

extension LeaseGrant: WireTable {
    package enum Field: Int, WireField {
        case lease, seconds, waitedSeconds, cluster, isAlone
        case site, storageURL, volume, space, shares, cooldowns, siteShares, loadTest, traces, audit
        case source, probe

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: LeaseGrant {
        LeaseGrant(lease: nil, seconds: 0)
    }

    package static var listName: String { "jobs" }

    package var list: [Job] {
        get { jobs }
        set { jobs = newValue }
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.lease, &lease)
        try coder.code(.seconds, &seconds)
        try coder.code(.waitedSeconds, &waitedSeconds)
        try coder.code(.cluster, &cluster)
        try coder.code(.isAlone, &isAlone)
        var (id, url, volume, space) = (site?.id, site?.storageURL, site?.volume, site?.space)
        try coder.code(.site, &id)
        try coder.code(.storageURL, &url)
        try coder.code(.volume, &volume)
        try coder.codeJSON(.space, &space)
        if let id, let url {
            site = LeasedSite(id: id, storageURL: url, volume: volume, space: space)
        } else {
            guard lease == nil else { throw incomplete("a lease lacks its site.") }
        }
        try coder.codeJSON(.shares, &shares)
        try coder.codeJSON(.cooldowns, &cooldowns)
        try coder.codeJSON(.siteShares, &siteShares)
        try coder.codeJSON(.loadTest, &loadTest)
        try coder.codeJSON(.traces, &traces)
        try coder.codeJSON(.audit, &audit)
        try coder.codeJSON(.source, &source)
        try coder.codeJSON(.probe, &probe)
    }
}
