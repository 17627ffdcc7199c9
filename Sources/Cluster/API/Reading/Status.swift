package import Model

/// `GET /v1/catalogs/{id}`: the progress of a catalog. Cheap enough for several requests per
/// second.
package struct CatalogStatus: Codable, Sendable {
    package var id: CatalogID
    package var name: String
    package var queue: String
    package var storageURL: String
    package var state: CatalogState
    package var generation: Int
    /// 0 (last) to 9 (first).
    package var priority: Int?
    /// Trace of the request that opened its last submission, 32 hexadecimal digits; nil for one of an
    /// older coordinator.
    package var traceID: String?
    /// Failure that stops the catalog, and its duration in seconds. Its site is not writable, no
    /// live worker can get work, or all its origins are in cooldown.
    package var issue: Failure?
    package var issueSeconds: Double?
    /// Earliest time to lease its first job, in seconds since 1970.
    package var notBefore: Double?
    /// Deadline, in seconds since 1970.
    package var deadline: Double?
    /// Seconds between scheduled refreshes, and the time of the next one, in seconds since 1970; nil
    /// for none.
    package var refreshSeconds: Double?
    package var nextRefresh: Double?
    /// Reasons why none of its jobs run: those that end last first, 5 at most. Nil while a job
    /// runs.
    package var waits: [CatalogWait]?
    /// The estimated end, from the rate of the last half to two and a half minutes, and its limits;
    /// nil unless it runs.
    package var finish: CatalogFinish?
    /// Outlook of the deadline; nil while it may be met.
    package var outlook: DeadlineOutlook?
    /// Figures of its recorded live titles; nil without any.
    package var recording: CatalogRecording?
    package var totals: CatalogTotals
    /// Assets in progress, most recently changed first, 20 at most.
    package var active: [AssetStatus]

    package init(
        id: CatalogID, name: String, queue: String, storageURL: String, state: CatalogState,
        generation: Int, totals: CatalogTotals, active: [AssetStatus]
    ) {
        self.id = id
        self.name = name
        self.queue = queue
        self.storageURL = storageURL
        self.state = state
        self.generation = generation
        self.totals = totals
        self.active = active
    }
}

/// Counts over the assets of a catalog's present generation.
package struct CatalogTotals: Codable, Hashable, Sendable {
    package var assets = 0
    package var completed = 0
    package var failed = 0
    /// Assets that an operator ended; nil for none.
    package var cancelled: Int?
    /// Assets that have not ended and are paused; nil for none.
    package var paused: Int?
    /// Assets whose files are being deleted; nil for none.
    package var removing: Int?
    /// Segments known so far.
    package var segments = 0
    package var segmentsDone = 0
    package var segmentsFailed = 0
    /// Bytes under final keys or recorded parts.
    package var bytes: Int64 = 0
    /// Bytes of `bytes` that were stored already and not fetched.
    package var adoptedBytes: Int64 = 0
    /// Bytes without a result: of running transfers, from the workers' heartbeats, or kept of what was
    /// paused or interrupted.
    package var receivingBytes: Int64 = 0
    /// Bytes of `receivingBytes` that earlier attempts received, and running transfers resumed; nil for
    /// none.
    package var resumedBytes: Int64?
    /// Estimated total bytes: segments of unknown size count as the mean of the others.
    package var expectedBytes: Int64?
    package var retries = 0
    /// Files and bytes that workers deleted since assets were last removed; nil for none.
    package var freedFiles: Int?
    package var freedBytes: Int64?
    /// Seconds from start to end, or to now, by the database's clock.
    package var seconds: Double = 0

    /// Assets that change no further by themselves.
    package var ended: Int { completed + failed + (cancelled ?? 0) }

    package init() {}
}

/// One asset in lists and reports.
package struct AssetStatus: Codable, Sendable {
    package var id: AssetID
    package var name: String
    package var url: String
    package var kind: AssetKind
    package var state: AssetState
    /// True if it has not ended and is paused; else nil.
    package var isPaused: Bool?
    /// True if it is not evicted; else nil.
    package var isPinned: Bool?
    package var failure: Failure?
    package var segments: Int
    package var segmentsDone: Int
    package var bytes: Int64
    /// Bytes of these that were stored already and not fetched; nil if unknown.
    package var adoptedBytes: Int64?
    /// Bytes of these that earlier attempts received, and running transfers resumed; nil for none, and in
    /// pages that omit them.
    package var resumedBytes: Int64?
    package var expectedBytes: Int64?
    package var retries: Int
    /// Its final key, relative to the site: for a title, the manifest's, which is the entry to
    /// play.
    package var path: String?
    /// The time at which it may begin, in seconds since 1970; nil once it may.
    package var notBefore: Double?
    /// The time when its files are deleted, in seconds since 1970; nil for never.
    package var expiresAt: Double?
    /// Files and bytes that workers have deleted; nil unless it is or was removed.
    package var freedFiles: Int?
    package var freedBytes: Int64?
    /// The last change of its state or its counts, in seconds since 1970.
    package var changed: Double?
    /// Outcome of the last refresh, with `failure` if it failed; nil before one, and during one.
    package var refreshed: RefreshOutcome?
    /// Failed optional sidecars; nil for none, and in pages that omit them.
    package var missing: [MissingSidecar]?
    /// The first rules that a title's manifests break, as of its resolution; nil for none, and in
    /// pages that omit them.
    package var warnings: ManifestWarnings?
    /// The first renditions that a title lacks, because a file of theirs cannot be fetched,
    /// `WireLimits.shownLeftOutRenditions` at most; nil for none.
    package var leftOut: [LeftOutRendition]?
    /// Figures of its recording, if it is a live title; nil otherwise, and in pages that omit them.
    package var recording: AssetRecording?

    /// Its state, or `paused`.
    package var stateName: String {
        isPaused == true ? AssetStates.paused : state.rawValue
    }

    package struct MissingSidecar: Codable, Sendable {
        package var url: String
        /// Its key, relative to the site.
        package var path: String
        package var failure: Failure

        package init(url: String, path: String, failure: Failure) {
            self.url = url
            self.path = path
            self.failure = failure
        }
    }

    package init(
        id: AssetID, name: String, url: String, kind: AssetKind, state: AssetState,
        failure: Failure? = nil, segments: Int = 0, segmentsDone: Int = 0, bytes: Int64 = 0,
        expectedBytes: Int64? = nil, retries: Int = 0
    ) {
        self.id = id
        self.name = name
        self.url = url
        self.kind = kind
        self.state = state
        self.failure = failure
        self.segments = segments
        self.segmentsDone = segmentsDone
        self.bytes = bytes
        self.expectedBytes = expectedBytes
        self.retries = retries
    }
}

/// `GET /v1/catalogs/{id}/assets?after=…`: a page of assets, by number.
package struct AssetPage: Codable, Sendable {
    package var assets: [AssetStatus]
    /// Value of `after` for the next page; nil at the end.
    package var next: String?

    package init(assets: [AssetStatus], next: String?) {
        self.assets = assets
        self.next = next
    }
}

/// `GET /v1/catalogs/{id}/files?after=…`: a page of stored files, ordered by asset, then by
/// position in the asset.
package struct FilePage: Codable, Sendable {
    package var files: [StoredFile]
    package var next: String?

    package struct StoredFile: Codable, Sendable {
        package var asset: AssetID
        /// Final key, relative to the site.
        package var path: String
        package var url: String
        package var bytes: Int64
        package var sha256: String
        /// True if it was compared with a digest stated by the list or the origin; nil is false.
        package var verified: Bool?
        /// Time of its recorded result, in seconds since the catalog's start; negative for a file
        /// stored before.
        package var afterSeconds: Double?

        package init(asset: AssetID, path: String, url: String, bytes: Int64, sha256: String) {
            self.asset = asset
            self.path = path
            self.url = url
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    package init(files: [StoredFile], next: String?) {
        self.files = files
        self.next = next
    }
}

/// `GET /v1/status`: an overview of the cluster.
package struct ClusterStatus: Codable, Sendable {
    package var version: String
    package var schemaVersion: Int
    package var catalogs: [CatalogStatus]
    package var queues: [QueueStatus]
    package var workers: [WorkerStatus]
    /// Load tests that have not ended; nil for none.
    package var loadTests: [LoadTestStatus]?

    /// Time for which the last result of a worker is looked for.
    package static let resultsSeconds = 900.0

    package struct QueueStatus: Codable, Sendable {
        package var name: String
        package var storageURL: String
        package var state: QueueState
        package var waiting: Int
        package var leased: Int
        /// True if its site's schedule allows no fetches now.
        package var isSiteClosed: Bool
        /// Present bandwidth of its site; nil for no limit.
        package var siteBytesPerSecond: Int64?
        /// Failure that prevents writing to its site; its work waits.
        package var siteFault: Failure?

        package init(
            name: String, storageURL: String, state: QueueState = .active, waiting: Int,
            leased: Int, isSiteClosed: Bool = false, siteBytesPerSecond: Int64? = nil,
            siteFault: Failure? = nil
        ) {
            self.siteFault = siteFault
            self.isSiteClosed = isSiteClosed
            self.siteBytesPerSecond = siteBytesPerSecond
            self.name = name
            self.storageURL = storageURL
            self.state = state
            self.waiting = waiting
            self.leased = leased
        }
    }

    package struct WorkerStatus: Codable, Sendable {
        package var id: WorkerID
        package var name: String
        package var activeTransfers: Int
        /// Seconds since its last heartbeat, by the database's clock.
        package var silentSeconds: Double
        /// The reason why it gets no work from a reachable coordinator.
        package var issue: Failure?
        /// Version of its binary; nil if it does not report it.
        package var version: String?
        /// Leases that it holds, and the age of the oldest in seconds; nil for none.
        package var leases: Int?
        package var leaseSeconds: Double?
        /// Seconds since the minute in which it last stored something; nil if that was not within
        /// `ClusterStatus.resultsSeconds`.
        package var resultSeconds: Double?

        /// True if it has held a lease for five minutes and stored nothing meanwhile, though nothing
        /// keeps it from working.
        package var isStuck: Bool {
            issue == nil && (leases ?? 0) > 0 && (leaseSeconds ?? 0) >= Self.stuckSeconds
                && (resultSeconds ?? .infinity) >= Self.stuckSeconds
        }

        private static let stuckSeconds = 300.0

        package init(id: WorkerID, name: String, activeTransfers: Int, silentSeconds: Double) {
            self.id = id
            self.name = name
            self.activeTransfers = activeTransfers
            self.silentSeconds = silentSeconds
        }
    }

    package init(
        version: String, schemaVersion: Int, catalogs: [CatalogStatus], queues: [QueueStatus],
        workers: [WorkerStatus]
    ) {
        self.version = version
        self.schemaVersion = schemaVersion
        self.catalogs = catalogs
        self.queues = queues
        self.workers = workers
    }
}
