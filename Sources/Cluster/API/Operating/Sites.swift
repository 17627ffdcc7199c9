package import Model

/// `POST /v1/sites/settings`: nil values stay unchanged. The answer is the site's status.
package struct SiteSettings: Codable, Hashable, Sendable {
    /// The name of its queue, or its storage URL.
    package var site: String
    /// Creates the site, which its storage URL names, if there is none.
    package var adds: Bool?
    /// With `adds`: the name of its queue, `WireLimits.siteName` characters; nil for one made from
    /// its storage URL.
    package var name: String?
    /// A `TransferSchedule`; empty for none: everything is allowed at any time.
    package var schedule: String?
    /// Maximum bytes per second in addition to the schedule, within `Bandwidth.allowed`; 0 for no
    /// limit.
    package var maximumBytesPerSecond: Int64?
    /// Bytes of its file system to leave free; 0 for none.
    package var floorBytes: Int64?
    /// Maximum bytes of its catalogs; 0 for no quota.
    package var quotaBytes: Int64?
    /// Earliest start of assets that are submitted from now on, in seconds since 1970; 0 for none.
    package var notBefore: Double?
    /// When the files of assets that are submitted from now on are deleted, in seconds since 1970; 0
    /// for never.
    package var expiresAt: Double?
    /// Longest time for which assets that are submitted from now on are kept once they are complete,
    /// in seconds; 0 for no limit.
    package var keepSeconds: Double?
    /// Which assets make room for others.
    package var evict: EvictionOrder?
    /// Maximum fetches of each title that is submitted from now on; a count of 0 for no limit.
    package var maxFetches: FetchLimit?
    /// Maximum sites of each title that is submitted from now on, `WireLimits.sitesPerTitle`; 0 for no
    /// limit.
    package var maxSites: Int?
    /// Time between audits, within `WireLimits.auditSeconds`; 0 for no schedule.
    package var auditSeconds: Int?
    /// True if these audits read every file.
    package var auditIsDeep: Bool?
    /// True if these audits repair.
    package var auditRepairs: Bool?
    /// The URL under which a web server serves the site's files by their keys, so that other sites
    /// fetch from it; empty for none.
    package var serves: String?
    /// Clears the site's failure: its jobs are leased again at once.
    package var resumes: Bool?
    /// Records the volume that the next worker finds as the site's, and clears its failure.
    package var acceptsVolume: Bool?

    package init(site: String, schedule: String? = nil, maximumBytesPerSecond: Int64? = nil) {
        self.site = site
        self.schedule = schedule
        self.maximumBytesPerSecond = maximumBytesPerSecond
    }
}

/// A site with its settings and the limits that apply now.
package struct SiteStatus: Codable, Hashable, Sendable {
    package var id: SiteID
    package var queue: String
    package var storageURL: String
    /// Empty if there is none.
    package var schedule: String
    package var maximumBytesPerSecond: Int64?
    /// True if nothing is fetched for it now.
    package var isClosed: Bool
    /// The present limit; nil for none.
    package var bytesPerSecond: Int64?
    /// Time of the next change of limits; nil if none is known.
    package var nextChange: Double?
    package var floorBytes: Int64?
    package var quotaBytes: Int64?
    /// Earliest start of its assets, in seconds since 1970; nil for none.
    package var notBefore: Double?
    /// When the files of its assets are deleted, in seconds since 1970; nil for never.
    package var expiresAt: Double?
    /// Longest time for which completed assets are kept; nil for no limit.
    package var keepSeconds: Double?
    /// Which assets make room for others.
    package var evict = EvictionOrder.off
    package var maxFetches: FetchLimit?
    package var maxSites: Int?
    /// Time between audits by its schedule; nil for none.
    package var auditSeconds: Int?
    package var auditIsDeep = false
    package var auditRepairs = false
    /// The URL under which a web server serves its files; nil for none.
    package var serves: String?
    /// Number of its catalogs; nil in an answer of an older coordinator. A site keeps its settings,
    /// volume and audits when the last one is forgotten, and stays in lists.
    package var catalogs: Int?
    /// Bytes stored there by the records of its catalogs, until they are deleted; an object of two
    /// catalogs counts twice. Nil for a cache, which stores nothing for Dray.
    package var usedBytes: Int64?
    /// Free bytes of its file system, as last reported by workers; nil before.
    package var availableBytes: Int64?
    /// The volume that it is on; nil until a worker has opened it.
    package var volume: VolumeID?
    /// Failure that prevents writing, with its start in seconds since 1970; its work waits.
    package var fault: Failure?
    package var faultSince: Double?
    /// Each worker's quota of the limit that it may use now.
    package var shares: [Share]

    package struct Share: Codable, Hashable, Sendable {
        package var worker: WorkerID
        /// Name from its heartbeats.
        package var name: String
        package var bytesPerSecond: Int64

        package init(worker: WorkerID, name: String, bytesPerSecond: Int64) {
            self.worker = worker
            self.name = name
            self.bytesPerSecond = bytesPerSecond
        }
    }

    package init(
        id: SiteID, queue: String, storageURL: String, schedule: String = "",
        maximumBytesPerSecond: Int64? = nil, isClosed: Bool = false, bytesPerSecond: Int64? = nil,
        nextChange: Double? = nil, shares: [Share] = []
    ) {
        self.shares = shares
        self.id = id
        self.queue = queue
        self.storageURL = storageURL
        self.schedule = schedule
        self.maximumBytesPerSecond = maximumBytesPerSecond
        self.isClosed = isClosed
        self.bytesPerSecond = bytesPerSecond
        self.nextChange = nextChange
    }
}

/// `GET /v1/sites`: every site, by the name of its queue.
package struct SiteList: Codable, Sendable {
    package var sites: [SiteStatus]
    /// Time of the answer.
    package var now: Double

    package init(sites: [SiteStatus], now: Double) {
        self.sites = sites
        self.now = now
    }
}
