package import Model

// Audits of sites, from a client's perspective. Times are seconds since 1970 by the database's
// clock.

/// `POST /v1/site-audits`: compares a site's storage with the records of what is stored there. The
/// answer is its status.
package struct SiteAuditSubmission: Codable, Hashable, Sendable {
    /// The name of its queue, or its storage URL.
    package var site: String
    /// True to read every file and compare its digest; nil is false.
    package var isDeep: Bool?
    /// True to fetch damaged files again and remove leftovers; nil is false.
    package var repairs: Bool?
    /// Maximum bytes per second that a deep audit reads, within `Bandwidth.allowed`; 0 for no limit.
    /// Nil for `WireLimits.auditReadBytesPerSecond`.
    package var readBytesPerSecond: Int64?
    /// Maximum files per second, within `WireLimits.auditFilesPerSecond`; nil for no limit.
    package var filesPerSecond: Int?

    package init(site: String, isDeep: Bool? = nil, repairs: Bool? = nil) {
        self.site = site
        self.isDeep = isDeep
        self.repairs = repairs
    }
}

/// An audit of a site: its progress, and what it has found.
package struct SiteAuditStatus: Codable, Hashable, Sendable {
    package var id: SiteAuditID
    package var site: SiteID
    /// Name of the site's queue.
    package var queue: String
    package var storageURL: String
    package var isDeep: Bool
    package var repairs: Bool
    /// True if the site's schedule started it.
    package var isScheduled: Bool
    package var state: SiteAuditState
    package var created: Double
    package var started: Double?
    package var ended: Double?
    /// Name of the worker that has it, or had it last.
    package var worker: String?
    /// Recorded files; nil until they are listed.
    package var expectedFiles: Int64?
    package var expectedBytes: Int64?
    /// Recorded files that were compared.
    package var checkedFiles: Int64
    /// Files that are there and were not compared, because they may be there or not: they were put
    /// aside, or are to be deleted. Nil is 0, as for their bytes.
    package var uncomparedFiles: Int64?
    package var uncomparedBytes: Int64?
    /// Files found at the site.
    package var files: Int64
    /// Length of these files.
    package var bytes: Int64
    /// Bytes that a deep audit has read.
    package var readBytes: Int64
    /// Kinds of which something was found.
    package var findings: [Count]
    package var failure: Failure?
    /// Estimated seconds to its end; nil if unknown.
    package var secondsLeft: Double?
    /// Time of the answer.
    package var now: Double

    package struct Count: Codable, Hashable, Sendable {
        package var kind: AuditFindingKind
        package var found: Int64
        /// Queued again, or removed.
        package var repaired: Int64
        /// Bytes of those that are there; nil for none.
        package var bytes: Int64?

        package init(kind: AuditFindingKind, found: Int64, repaired: Int64, bytes: Int64? = nil) {
            self.kind = kind
            self.found = found
            self.repaired = repaired
            self.bytes = bytes
        }
    }

    package init(
        id: SiteAuditID, site: SiteID, queue: String, storageURL: String, isDeep: Bool,
        repairs: Bool, isScheduled: Bool, state: SiteAuditState, created: Double, now: Double
    ) {
        self.id = id
        self.site = site
        self.queue = queue
        self.storageURL = storageURL
        self.isDeep = isDeep
        self.repairs = repairs
        self.isScheduled = isScheduled
        self.state = state
        self.created = created
        self.now = now
        checkedFiles = 0
        files = 0
        bytes = 0
        readBytes = 0
        findings = []
    }

    /// Findings of a kind.
    package subscript(_ kind: AuditFindingKind) -> Count {
        findings.first { $0.kind == kind } ?? Count(kind: kind, found: 0, repaired: 0)
    }

    /// Missing, truncated and changed files.
    package var damagedFiles: Int64 {
        findings.filter(\.kind.isDamage).reduce(0) { $0 + $1.found }
    }

    /// Damage that is not queued again.
    package var unrepairedFiles: Int64 {
        findings.filter(\.kind.isDamage).reduce(0) { $0 + $1.found - $1.repaired }
    }
}

/// `GET /v1/site-audits?site=…&after=…&limit=…`: a page of the audits, the latest first.
package struct SiteAuditPage: Codable, Sendable {
    package var audits: [SiteAuditStatus]
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(audits: [SiteAuditStatus], next: String?) {
        self.audits = audits
        self.next = next
    }
}

/// A finding of an audit.
package struct AuditFinding: Codable, Hashable, Sendable {
    package var kind: AuditFindingKind
    /// The path relative to the site; bytes that are not UTF-8 are `\xHH`.
    package var path: String
    /// Length of the file; nil if it is missing.
    package var bytes: Int64?
    /// The recorded length; nil without a record.
    package var expectedBytes: Int64?
    package var repair: AuditRepair

    package init(
        kind: AuditFindingKind, path: String, bytes: Int64? = nil, expectedBytes: Int64? = nil,
        repair: AuditRepair = .none
    ) {
        self.kind = kind
        self.path = path
        self.bytes = bytes
        self.expectedBytes = expectedBytes
        self.repair = repair
    }
}

/// `GET /v1/site-audits/{audit}/findings?kind=…&after=…&limit=…`: a page of the findings that are
/// kept, in the order in which they were found.
package struct AuditFindingPage: Codable, Sendable {
    package var findings: [AuditFinding]
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(findings: [AuditFinding], next: String?) {
        self.findings = findings
        self.next = next
    }
}
