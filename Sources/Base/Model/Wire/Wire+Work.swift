/// `POST /v1/leases`: requests a batch of jobs.
package struct LeaseRequest: Codable, Sendable {
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
    /// Storage URLs of the directories that the worker may write to: it leases only jobs of sites
    /// within them. 1 to `WireLimits.rootsPerWorker`; nil for a worker that may write to every
    /// site.
    package var roots: [String]?
    /// Sites within the roots that a symlink leads outside; nil for none.
    package var refusedSites: [SiteID]?
    /// Origins of which the worker leases few jobs; nil for none.
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

/// Origins that a worker has found to be slow, with a limit on their jobs together.
package struct SlowOrigins: Codable, Sendable {
    /// Origins as named by `originName(of:)`, 1 to `WireLimits.slowOriginsPerLease`.
    package var origins: [String]
    /// 0 to `WireLimits.jobsPerLease`.
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
    /// Storage URLs by site number, for the jobs below.
    package var sites: [String: String]
    package var jobs: [Job]
    /// Identity of the database, to which its numbers belong. Nil without jobs.
    package var cluster: ClusterID?
    /// The worker's quotas of origins' limits, including those of its jobs; nil for none.
    package var shares: [OriginShare]?
    /// Origins in cooldown; nil for none.
    package var cooling: [OriginCooldown]?
    /// The worker's quota of the site of its jobs; nil for no limit.
    package var siteShares: [SiteShare]?
    /// The volume of the site of its jobs; empty while none is recorded. Nil without jobs.
    package var siteVolume: VolumeID?
    /// Limits of the space at the site of its jobs; nil for none.
    package var siteSpace: [SiteSpace]?
    /// A load test that needs the worker; nil for none.
    package var loadTest: LoadTestCall?
    /// True if the single job runs alone, because a worker crashed on it: the worker starts nothing
    /// else meanwhile. Nil is false.
    package var isAlone: Bool?

    package init(lease: LeaseID?, seconds: Double, sites: [String: String], jobs: [Job]) {
        self.lease = lease
        self.seconds = seconds
        self.sites = sites
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

/// One leased job. `kind` determines which fields are set.
package struct Job: Codable, Hashable, Sendable {
    package var id: JobID
    package var kind: JobKind
    package var site: SiteID
    package var asset: AssetID
    /// Number of this attempt, from 1.
    package var attempt: Int
    /// resolve, refresh: the manifest, or a file asset's object; fetch: the object; verify, sums:
    /// empty.
    package var url: String
    /// resolve, refresh, fetch, verify: the final key; sums: the directory.
    package var key: String
    /// resolve, refresh: the asset's kind.
    package var assetKind: AssetKind?
    package var role: SegmentRole?
    /// fetch of a part: its offset; its length is `length`.
    package var offset: Int64?
    /// fetch of a part: its length; otherwise the expected length if the list gives one.
    package var length: Int64?
    /// fetch: the digest stated by the list or by the manifest's resolution.
    package var sha256: String?
    /// fetch, verify: further digests of the list, a text of `FurtherDigests`.
    package var digests: String?
    /// fetch: true if it must not be split, because its origin does not serve ranges; nil is false.
    package var isWhole: Bool?
    /// fetch of a part, verify: the multipart file.
    package var assembly: Assembly?
    /// fetch of a whole file: the multipart file of an earlier attempt, to be removed; nil for
    /// none.
    package var formerAssembly: String?
    /// fetch of a whole file: other URLs of the same bytes; nil for none.
    package var mirrors: [String]?
    /// fetch of a whole file: the origin that serves it during the cooldown of its own. Then only
    /// mirrors are used, those of this origin first; nil for its own origin.
    package var mirrorOrigin: String?
    /// fetch: the object stored under the key before; it is reused if still there.
    package var known: StoredObject?
    /// fetch: the origin's validator of `known`, if another asset or an earlier selection of tracks
    /// stored it; its report repeats it. Nil for none.
    package var knownValidator: String?
    /// fetch: true if `known` was compared with a digest then; nil is false.
    package var isKnownVerified: Bool?
    /// fetch: true if the coordinator has the rewritten manifest to store (`POST /v1/documents`);
    /// nil is false.
    package var isDocument: Bool?
    /// resolve, refresh: options for the title; nil for all tracks.
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

/// A large file that is fetched in byte ranges into one multipart file before it gets its final
/// key.
package struct Assembly: Codable, Hashable, Sendable {
    /// Lower-case UUID; names the temporary file.
    package var id: String
    package var totalBytes: Int64
    /// The strong ETag or the Last-Modified date that all parts must have in common.
    package var validator: String
    /// verify: digests of the whole stated by the origin, a text of `FurtherDigests.isStatement`;
    /// nil for none.
    package var digests: String?
    /// verify: the recorded parts in order.
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

/// The object under a final key.
package struct StoredObject: Codable, Hashable, Sendable {
    package var bytes: Int64
    /// 64 lower-case hex digits.
    package var sha256: String

    package init(bytes: Int64, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// `POST /v1/reports`: results of jobs, from any of the worker's leases.
package struct ReportRequest: Codable, Sendable {
    package var worker: WorkerID
    package var results: [JobReport]

    package init(worker: WorkerID, results: [JobReport]) {
        self.worker = worker
        self.results = results
    }
}

/// The result of one leased job.
package struct JobReport: Codable, Sendable {
    package var job: JobID
    package var lease: LeaseID
    package var outcome: Outcome
    /// done: the stored object (fetch, verify); nil for resolve and sums.
    package var stored: StoredObject?
    /// done: true if the bytes were stored already and nothing was fetched.
    package var adopted: Bool?
    /// done: true if a digest stated by the list or the origin was compared and matches; nil is
    /// false.
    package var verified: Bool?
    /// done: the origin's ETag, else its Last-Modified date; 1 to `WireLimits.validatorCharacters`
    /// characters, nil if it gives neither.
    package var validator: String?
    /// done of a part: digests of the whole object in its response, a text of
    /// `FurtherDigests.isStatement`; nil for none.
    package var digests: String?
    /// done of a resolve: number of segments sent before with `SegmentBatch`. done of a refresh:
    /// number of segments sent with `RefreshBatch`, if the manifest lists others than before.
    package var segments: Int?
    /// done of a refresh: `unchanged` or `changed`.
    package var refreshed: RefreshOutcome?
    /// failed: the failure.
    package var failure: Failure?
    /// failed: `urlDigest` of the rejected URL; nil if unknown.
    package var refused: String?
    /// failed: seconds before the next attempt, by an origin's Retry-After. returned: seconds
    /// before the next lease, a minute at most.
    package var retryAfterSeconds: Double?
    /// Outcomes by origin, if not only the job's own origin was used; nil otherwise.
    package var origins: [OriginOutcome]?

    package enum Outcome: String, Codable, Sendable {
        case done
        case failed
        /// Returned untouched: uses up no attempt.
        case returned
    }

    package init(job: JobID, lease: LeaseID, outcome: Outcome) {
        self.job = job
        self.lease = lease
        self.outcome = outcome
    }
}

/// The answers to `ReportRequest`, one per result, in order.
package struct ReportAnswer: Codable, Sendable {
    package var answers: [Verdict]
    /// Origins in cooldown; nil for none.
    package var cooling: [OriginCooldown]?

    package enum Verdict: String, Codable, Sendable {
        case accepted
        /// The lease no longer holds the job; nothing was changed.
        case stale
        /// The result is invalid for this job; nothing was changed.
        case rejected
    }

    package init(answers: [Verdict]) { self.answers = answers }
}

/// `POST /v1/segments`: segments that a resolve job found. It is repeated until all are sent; then
/// the job is reported done. A repeated batch has one effect.
package struct SegmentBatch: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    package var segments: [ResolvedSegment]
    /// With the title's first segment: rules that its manifests break,
    /// `WireLimits.warningsPerAsset` at most. Nil for none.
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
    /// Expected length and digest, if known (for the playlists that were read).
    package var bytes: Int64?
    package var sha256: String?
    /// The rewritten manifest to store instead of the origin's bytes, at most
    /// `WireLimits.documentBytes`; `bytes` and `sha256` are its own.
    package var content: String?
    /// The digest of the origin's bytes, if there is `content`.
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

/// `POST /v1/splits`: splits a large file into parts. The reporting worker keeps the first part
/// under the same lease. A repeated request has the same answer.
package struct SplitRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// Lower-case UUID created by the worker, which already writes the first part there.
    package var assembly: String
    package var totalBytes: Int64
    package var partBytes: Int64
    package var validator: String
    /// Digests of the whole stated by the origin, a text of `FurtherDigests.isStatement`; nil for
    /// none.
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

/// The answer to `SplitRequest` and `SegmentBatch`; `job` is the first part's, if accepted.
package struct VerdictAnswer: Codable, Sendable {
    package var verdict: ReportAnswer.Verdict
    package var job: Job?

    package init(verdict: ReportAnswer.Verdict, job: Job? = nil) {
        self.verdict = verdict
        self.job = job
    }
}
