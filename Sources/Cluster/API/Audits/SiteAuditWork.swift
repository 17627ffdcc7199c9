package import Model

// Audits of sites, from a worker's perspective.

/// An audit that needs a worker.
package struct SiteAuditCall: Codable, WorkCall {
    package var id: SiteAuditID
    /// Queue of the site.
    package var queue: String

    package init(id: SiteAuditID, queue: String) {
        self.id = id
        self.queue = queue
    }
}

/// The answer to `WorkLeaseRequest`; without work, if another worker has it or it has ended.
package struct SiteAuditGrant: Codable, Sendable {
    package var work: Work?

    package struct Work: Codable, Sendable {
        package var site: LeasedSite
        /// Identity of the database, to which numbers of assets belong; nil if unknown.
        package var cluster: ClusterID?
        /// The worker holds the audit for that long after its last request for it.
        package var seconds: Double
        package var isDeep: Bool
        package var repairs: Bool
        /// True if only leftovers of dead workers are looked for.
        package var isOfLeftovers: Bool
        /// Maximum bytes per second to read; nil for no limit.
        package var readBytesPerSecond: Int64?
        /// Maximum files per second; nil for no limit.
        package var filesPerSecond: Int?
        /// The page of records to continue with, from 0.
        package var page: Int

        package init(
            site: LeasedSite, seconds: Double, isDeep: Bool, repairs: Bool, isOfLeftovers: Bool,
            readBytesPerSecond: Int64?, filesPerSecond: Int?, page: Int
        ) {
            self.site = site
            self.seconds = seconds
            self.isDeep = isDeep
            self.repairs = repairs
            self.isOfLeftovers = isOfLeftovers
            self.readBytesPerSecond = readBytesPerSecond
            self.filesPerSecond = filesPerSecond
            self.page = page
        }
    }

    package init(work: Work?) { self.work = work }
}

/// `POST /v1/site-audits/{audit}/records`: requests a page of the records of what is stored. The
/// first request lists them, which takes a second for some hundred thousand files.
package struct SiteAuditRecordsRequest: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    /// From 0.
    package var page: Int

    package init(worker: WorkerID, lease: LeaseID, page: Int) {
        self.worker = worker
        self.lease = lease
        self.page = page
    }
}

/// The answer to `SiteAuditRecordsRequest`.
package struct SiteAuditRecords: WireMessage, WireObject {
    /// Number of pages.
    package var pages: Int
    /// The last key of the page before; nil on the first page.
    package var after: String?
    /// Records by their keys' bytes, a line each: `LENGTH SEGMENT BYTES SHA256:KEY`. The length is
    /// that of the key in bytes, because it may contain a newline. `-` stands for no value: no bytes
    /// for what is not recorded as stored, no digest but in a deep audit.
    package var content: String

    package init(pages: Int, after: String?, content: String) {
        self.pages = pages
        self.after = after
        self.content = content
    }

    package enum Field: Int, WireField {
        case pages, after, content

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: Self { Self(pages: 0, after: nil, content: "") }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.pages, &pages)
        try coder.code(.after, &after)
        try coder.code(.content, &content)
    }
}

/// `POST /v1/site-audits/{audit}/checks`: asks for the present records of what looks wrong, because
/// fetches continue meanwhile. At most `WireLimits.recordsPerAuditPage` values in each list.
package struct SiteAuditCheck: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    /// Segments; negative numbers are those of directories, of their checksum files.
    package var segments: [Int64] = []
    /// Paths that no record of the pages had.
    package var keys: [String] = []
    package var multiparts: [MultipartID] = []
    /// Leases in the names of temporary files.
    package var leases: [LeaseID] = []
    /// Assets of partial bodies whose leases are among these.
    package var assets: [AssetID] = []

    package init(worker: WorkerID, lease: LeaseID) {
        self.worker = worker
        self.lease = lease
    }
}

/// The answer to `SiteAuditCheck`: each list has the order of the request's.
package struct SiteAuditChecked: Codable, Sendable {
    package var segments: [Record] = []
    /// True if a record has the key by now.
    package var keys: [Bool] = []
    package var multiparts: [Owner] = []
    package var leases: [Owner] = []
    /// True if a job may resume the asset's bodies.
    package var assets: [Bool] = []

    /// The present record of a segment's key.
    package struct Record: Codable, Hashable, Sendable {
        /// Nil if it is not recorded as stored, or its asset is under way.
        package var bytes: Int64?
        package var sha256: String?
        /// The segment of the site that was stored there last.
        package var segment: Int64?
        /// True if it is recorded as not stored, and nothing is under way.
        package var isLacking: Bool

        package init(bytes: Int64?, sha256: String?, segment: Int64?, isLacking: Bool) {
            self.bytes = bytes
            self.sha256 = sha256
            self.segment = segment
            self.isLacking = isLacking
        }
    }

    /// Owner of a file in Dray's own directory.
    package enum Owner: String, Codable, CaseIterable, Sendable {
        /// Work that continues.
        case inUse
        /// Work of this cluster that has ended.
        case ended
        /// Unknown here: it may be another cluster's.
        case unknown
    }

    package init() {}
}

/// `POST /v1/site-audits/{audit}/reports`: reports what was compared since the last report, and
/// keeps the audit.
package struct SiteAuditReport: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    /// Counts the lease's reports of results, from 0; nil if it only extends the lease, or gives it
    /// back.
    package var number: Int?
    /// The page that it is about.
    package var page: Int
    /// True if the page is done: the next worker begins after it.
    package var isPageDone = false
    /// True if everything is done.
    package var isEnd = false
    package var files: Int64 = 0
    package var bytes: Int64 = 0
    /// Read since the lease began.
    package var readBytes: Int64 = 0
    /// Recorded files of the page.
    package var checkedFiles: Int64 = 0
    /// Files that were put aside or are to be deleted: they may be there or not, and are not compared.
    /// Nil is 0, as for their bytes.
    package var uncomparedFiles: Int64?
    package var uncomparedBytes: Int64?
    /// At most `WireLimits.findingsPerAuditReport`.
    package var findings: [Finding] = []
    /// The reason why the worker cannot continue.
    package var failure: Failure?

    package struct Finding: Codable, Hashable, Sendable {
        package var kind: AuditFindingKind
        package var path: String
        package var bytes: Int64?
        package var expectedBytes: Int64?
        /// The recorded digest of a damaged file.
        package var sha256: String?
        /// The damaged segment; a negative number is that of a directory.
        package var segment: Int64?
        /// True if the worker has removed the file.
        package var isRemoved: Bool?

        package init(kind: AuditFindingKind, path: String, bytes: Int64? = nil) {
            self.kind = kind
            self.path = path
            self.bytes = bytes
        }
    }

    package init(worker: WorkerID, lease: LeaseID, page: Int) {
        self.worker = worker
        self.lease = lease
        self.page = page
    }
}

/// The answer to `SiteAuditReport`.
package struct SiteAuditOrder: Codable, Sendable {
    /// False if the worker does not have the audit any more, or it was cancelled: it stops.
    package var continues: Bool

    package init(continues: Bool) { self.continues = continues }
}
