/// `POST /v1/leases`: asks for a batch of jobs.
package struct LeaseRequest: Codable, Sendable {
    package var worker: WorkerID
    /// Queues to take from; empty means every queue.
    package var queues: [String]
    /// 1 to `WireLimits.jobsPerLease`.
    package var maxJobs: Int
    /// How long the coordinator may hold the request while there is no work, 0 to
    /// `WireLimits.waitMilliseconds`.
    package var waitMilliseconds: Int
    /// What the lease will be called, so that it can be released unseen; nil leaves that to the
    /// coordinator.
    package var lease: LeaseID?
    /// Load tests that the worker has had its part in, or found no place in, the latest
    /// `WireLimits.pastLoadTests`; nil for a worker that does not know of load tests, and is told of none.
    package var pastLoadTests: [LoadTestID]?
    /// Storage URLs of the directories that the worker may write to: only jobs of sites within them are handed out
    /// to it. 1 to `WireLimits.rootsPerWorker`; nil for a worker that may write to every site.
    package var roots: [String]?
    /// Sites within them that lead outside all the same, by a symlink; nil for none.
    package var refusedSites: [SiteID]?
    /// Origins that the worker takes few jobs of; nil for none.
    package var slow: SlowOrigins?

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

/// Origins that a worker has found to be slow, and how many jobs of all of them it still takes.
package struct SlowOrigins: Codable, Sendable {
    /// As `originName(of:)` makes them, 1 to `WireLimits.slowOriginsPerLease`.
    package var origins: [String]
    /// 0 to `WireLimits.jobsPerLease`.
    package var maxJobs: Int

    package init(origins: [String], maxJobs: Int) {
        self.origins = origins
        self.maxJobs = maxJobs
    }
}

/// The answer to `LeaseRequest`; without work, no lease and no jobs.
package struct LeaseGrant: Codable, Sendable {
    package var lease: LeaseID?
    /// How long the lease holds from the moment it was granted. The worker counts from before it
    /// sent the request, plus `waitedSeconds`.
    package var seconds: Double
    /// How long the coordinator had the request before it made the grant.
    package var waitedSeconds = 0.0
    /// Storage URLs by site number, for the jobs below.
    package var sites: [String: String]
    package var jobs: [Job]
    /// Of the database: its numbers are its own. Nil without jobs.
    package var cluster: ClusterID?
    /// The worker's shares of the limits of origins, its jobs' among them; nil for none.
    package var shares: [OriginShare]?
    /// Origins that are left alone now; nil for none.
    package var cooling: [OriginCooldown]?
    /// The worker's share of the site of its jobs; nil for no bound.
    package var siteShares: [SiteShare]?
    /// The volume that the site of its jobs is on; empty while none is recorded. Nil without jobs.
    package var siteVolume: VolumeID?
    /// Bounds to the room at the site of its jobs; nil for none.
    package var siteSpace: [SiteSpace]?
    /// A load test that wants the worker; nil for none.
    package var loadTest: LoadTestCall?
    /// The one job is tried alone, because a worker died with it: the worker begins nothing else while it has it.
    /// Nil is false.
    package var isAlone: Bool?

    package init(lease: LeaseID?, seconds: Double, sites: [String: String], jobs: [Job]) {
        self.lease = lease
        self.seconds = seconds
        self.sites = sites
        self.jobs = jobs
    }
}

/// `POST /v1/releases`: gives a lease back whose grant never arrived. Its jobs wait again; where it is
/// not granted yet, it never will be. No answer but 204.
package struct LeaseRelease: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID

    package init(worker: WorkerID, lease: LeaseID) {
        self.worker = worker
        self.lease = lease
    }
}

/// One leased job. Which fields are set depends on `kind`.
package struct Job: Codable, Hashable, Sendable {
    package var id: JobID
    package var kind: JobKind
    package var site: SiteID
    package var asset: AssetID
    /// This try's number, from 1.
    package var attempt: Int
    /// resolve, refresh: the manifest, or a file asset's object; fetch: the object; verify, sums: empty.
    package var url: String
    /// resolve, refresh, fetch, verify: the final key; sums: the directory.
    package var key: String
    /// resolve, refresh: the asset's kind.
    package var assetKind: AssetKind?
    package var role: SegmentRole?
    /// fetch of a part: where it starts; its length is `length`.
    package var offset: Int64?
    /// fetch of a part: how many bytes; otherwise the expected length when the list gives one.
    package var length: Int64?
    /// fetch: the digest that the list or the manifest's resolution promises.
    package var sha256: String?
    /// fetch, verify: what the list names besides, a text of `FurtherDigests`.
    package var digests: String?
    /// fetch: not to be divided, because its origin serves no ranges after all; nil is false.
    package var isWhole: Bool?
    /// fetch of a part, verify: the file being assembled.
    package var assembly: Assembly?
    /// fetch of a whole file: the assembly of an earlier try, to be removed; nil for none.
    package var formerAssembly: String?
    /// fetch of a whole file: other URLs of the same bytes; nil for none.
    package var mirrors: [String]?
    /// fetch of a whole file: the origin that serves it while that of its own URL is left alone. Only mirrors are
    /// asked then, those of this origin first; nil for the own one.
    package var mirrorOrigin: String?
    /// fetch: what was stored under the key before; adopted when it still lies there.
    package var known: StoredObject?
    /// fetch: what `known` was called by its origin, where another asset or an earlier choice of tracks stored it;
    /// its report says it again. Nil for nothing.
    package var knownValidator: String?
    /// fetch: whether `known` was compared with a digest then; nil is false.
    package var isKnownVerified: Bool?
    /// fetch: what to store is a document that the coordinator has (`POST /v1/documents`); nil is false.
    package var isDocument: Bool?
    /// resolve, refresh: what is wanted of the title; nil for all of it.
    package var titles: TitleOptions?

    package init(
        id: JobID, kind: JobKind, site: SiteID, asset: AssetID, attempt: Int, url: String,
        key: String
    ) {
        self.id = id
        self.kind = kind
        self.site = site
        self.asset = asset
        self.attempt = attempt
        self.url = url
        self.key = key
    }
}

/// A large file that is fetched in byte ranges into one place before it gets its final key.
package struct Assembly: Codable, Hashable, Sendable {
    /// UUID in lower case; names the temporary file.
    package var id: String
    package var totalBytes: Int64
    /// The strong ETag or the Last-Modified date that all parts must share.
    package var validator: String
    /// verify: what the origin states of the whole, a text of `FurtherDigests.isStatement`; nil for
    /// nothing.
    package var digests: String?
    /// verify: each part in order, as it was recorded.
    package var parts: [Part]?

    package struct Part: Codable, Hashable, Sendable {
        package var offset: Int64
        package var length: Int64
        package var sha256: String

        package init(offset: Int64, length: Int64, sha256: String) {
            self.offset = offset
            self.length = length
            self.sha256 = sha256
        }
    }

    package init(id: String, totalBytes: Int64, validator: String, parts: [Part]? = nil) {
        self.id = id
        self.totalBytes = totalBytes
        self.validator = validator
        self.parts = parts
    }
}

/// What lies under a final key.
package struct StoredObject: Codable, Hashable, Sendable {
    package var bytes: Int64
    /// 64 lower-case hex digits.
    package var sha256: String

    package init(bytes: Int64, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// `POST /v1/reports`: results of jobs, of any of the worker's leases mixed.
package struct ReportRequest: Codable, Sendable {
    package var worker: WorkerID
    package var results: [JobReport]

    package init(worker: WorkerID, results: [JobReport]) {
        self.worker = worker
        self.results = results
    }
}

/// What became of one leased job.
package struct JobReport: Codable, Sendable {
    package var job: JobID
    package var lease: LeaseID
    package var outcome: Outcome
    /// done: what is stored (fetch, verify); nil for resolve and sums.
    package var stored: StoredObject?
    /// done: the bytes lay there already, nothing was fetched.
    package var adopted: Bool?
    /// done: a digest that the list or the origin states was compared, and agrees; nil is false.
    package var verified: Bool?
    /// done: the origin's ETag, else its Last-Modified date; 1 to `WireLimits.validatorCharacters`
    /// characters, nil where it gives neither.
    package var validator: String?
    /// done of a part: what its answer states of the whole object, a text of
    /// `FurtherDigests.isStatement`; nil for nothing.
    package var digests: String?
    /// done of a resolve: how many segments were sent before with `SegmentBatch`; of a refresh: how many a
    /// manifest lists that lists others than before, all of them sent with `RefreshBatch`.
    package var segments: Int?
    /// done of a refresh: `unchanged` or `changed`.
    package var refreshed: RefreshOutcome?
    /// failed: why.
    package var failure: Failure?
    /// failed: of a URL that was refused, `urlDigest` of it; nil where it is not known.
    package var refused: String?
    /// failed: not to be tried again before so many seconds, by an origin's Retry-After; returned: not to be leased
    /// again before, a minute at most.
    package var retryAfterSeconds: Double?
    /// Whose doing it is, where that is not the job's own origin alone; nil when it is.
    package var origins: [OriginOutcome]?

    package enum Outcome: String, Codable, Sendable {
        case done
        case failed
        /// Given back untouched: uses up no attempt.
        case returned
    }

    package init(job: JobID, lease: LeaseID, outcome: Outcome) {
        self.job = job
        self.lease = lease
        self.outcome = outcome
    }
}

/// The answers to `ReportRequest`, one a result, in order.
package struct ReportAnswer: Codable, Sendable {
    package var answers: [Verdict]
    /// Origins that are left alone now; nil for none.
    package var cooling: [OriginCooldown]?

    package enum Verdict: String, Codable, Sendable {
        case accepted
        /// The lease no longer holds the job; nothing was changed.
        case stale
        /// The result makes no sense for this job; nothing was changed.
        case rejected
    }

    package init(answers: [Verdict]) { self.answers = answers }
}

/// `POST /v1/segments`: segments that a resolve job found; repeated until all are sent, then the
/// job is reported done. A repeated batch has one effect.
package struct SegmentBatch: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    package var segments: [ResolvedSegment]
    /// With the title's first segment: rules that its manifests break, `WireLimits.warningsPerAsset` at most.
    /// Nil for none.
    package var warnings: ManifestWarnings?

    package init(worker: WorkerID, job: JobID, lease: LeaseID, segments: [ResolvedSegment]) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.segments = segments
    }
}

/// One object that an asset needs at the edge.
package struct ResolvedSegment: Codable, Hashable, Sendable {
    /// Position in the asset, from 0; jobs run in this order.
    package var ordinal: Int
    package var url: String
    package var key: String
    package var role: SegmentRole
    /// Expected length and digest, where they are known (the playlists that were read).
    package var bytes: Int64?
    package var sha256: String?
    /// What is to lie under the key in place of what the origin serves, at most
    /// `WireLimits.documentBytes`; `bytes` and `sha256` are its own.
    package var content: String?
    /// The digest of what the origin served, where there is `content`.
    package var servedSHA256: String?
    /// Other URLs of the same bytes, `WireLimits.mirrorsPerSegment` at most. Nil for none.
    package var mirrors: [String]?

    package init(
        ordinal: Int, url: String, key: String, role: SegmentRole, bytes: Int64? = nil,
        sha256: String? = nil
    ) {
        self.ordinal = ordinal
        self.url = url
        self.key = key
        self.role = role
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// `POST /v1/splits`: a fetch turned out large; its file becomes parts. The reporting worker keeps
/// the first part under the same lease. A repeated request has the same answer.
package struct SplitRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// UUID in lower case, made by the worker, which writes the first part there already.
    package var assembly: String
    package var totalBytes: Int64
    package var partBytes: Int64
    package var validator: String
    /// What the origin states of the whole, a text of `FurtherDigests.isStatement`; nil for nothing.
    package var digests: String?

    package init(
        worker: WorkerID, job: JobID, lease: LeaseID, assembly: String, totalBytes: Int64,
        partBytes: Int64, validator: String
    ) {
        self.assembly = assembly
        self.worker = worker
        self.job = job
        self.lease = lease
        self.totalBytes = totalBytes
        self.partBytes = partBytes
        self.validator = validator
    }
}

/// The answer to `SplitRequest` and `SegmentBatch`; `job` is the first part's, when accepted.
package struct SplitAnswer: Codable, Sendable {
    package var verdict: ReportAnswer.Verdict
    package var job: Job?

    package init(verdict: ReportAnswer.Verdict, job: Job? = nil) {
        self.verdict = verdict
        self.job = job
    }
}
