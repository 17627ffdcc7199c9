/// `POST /v1/catalogs`: opens a catalog for submission; on first use, it creates the catalog with
/// its site and queue.
package struct CatalogSubmission: Codable, Sendable {
    /// 1 to 200 characters, no control characters; unique at its site.
    package var name: String
    /// Location of the assets: `file:///absolute/path`.
    package var storageURL: String
    /// 0 (last) to 9 (first).
    package var priority: Int
    /// Earliest time to lease the first of its jobs, in seconds since 1970; nil for at once. Like
    /// the priority, it replaces the catalog's.
    package var notBefore: Double?
    /// Deadline, in seconds since 1970; its priority rises as this nears.
    package var deadline: Double?
    /// Options for its titles from now on; nil for all tracks. Titles that were resolved with other
    /// options are resolved again.
    package var titles: TitleOptions?

    package init(
        name: String, storageURL: String, priority: Int = 5, notBefore: Double? = nil,
        deadline: Double? = nil
    ) {
        self.name = name
        self.storageURL = storageURL
        self.priority = priority
        self.notBefore = notBefore
        self.deadline = deadline
    }
}

/// The answer to `CatalogSubmission`.
package struct CatalogHandle: Codable, Sendable {
    package var id: CatalogID
    package var queue: String
    /// This submission's number; assets of earlier ones that are not submitted again are excluded
    /// from it.
    package var generation: Int

    package init(id: CatalogID, queue: String, generation: Int) {
        self.id = id
        self.queue = queue
        self.generation = generation
    }
}

/// One asset of a list.
package struct AssetSubmission: Codable, Hashable, Sendable {
    /// 1 to 1,000 characters, at most `WireLimits.nameBytes`; unique in its catalog.
    package var name: String
    package var url: String
    package var kind: AssetKind
    /// Final key of a `file` asset or of the manifest, relative to the site (`Catalog.SiteKey`).
    package var key: String
    /// Expected length in bytes; `file` assets only.
    package var bytes: Int64?
    /// Expected SHA-256, 64 lower-case hex digits; `file` assets only.
    package var sha256: String?
    /// Other URLs of the same bytes, `WireLimits.mirrorsPerAsset` at most; `file` assets only. Nil
    /// for none.
    package var mirrors: [String]?
    /// Expected digests of other algorithms, a text of `FurtherDigests`; `file` assets only.
    package var digests: String?
    /// Files that belong to it, `WireLimits.sidecarsPerAsset` at most. Nil for none.
    package var sidecars: [SidecarSubmission]?

    package init(
        name: String, url: String, kind: AssetKind, key: String, bytes: Int64? = nil,
        sha256: String? = nil
    ) {
        self.name = name
        self.url = url
        self.kind = kind
        self.key = key
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// A file that belongs to an asset: a poster, subtitles, metadata.
package struct SidecarSubmission: Codable, Hashable, Sendable {
    package var url: String
    /// Final key, relative to the site.
    package var key: String
    /// `image`, `subtitles` or `data`.
    package var role: SegmentRole
    /// True if the asset fails with it; otherwise it is reported as missing.
    package var required: Bool
    /// Expected length in bytes.
    package var bytes: Int64?
    /// Expected SHA-256, 64 lower-case hex digits.
    package var sha256: String?
    /// Expected digests of other algorithms, a text of `FurtherDigests`.
    package var digests: String?

    package init(
        url: String, key: String, role: SegmentRole, required: Bool = true, bytes: Int64? = nil,
        sha256: String? = nil, digests: String? = nil
    ) {
        self.url = url
        self.key = key
        self.role = role
        self.required = required
        self.bytes = bytes
        self.sha256 = sha256
        self.digests = digests
    }
}

/// `POST /v1/catalogs/{id}/assets`: up to `WireLimits.assetsPerRequest` assets; may be repeated.
package struct AssetBatch: Codable, Sendable {
    package var generation: Int
    package var assets: [AssetSubmission]

    package init(generation: Int, assets: [AssetSubmission]) {
        self.generation = generation
        self.assets = assets
    }
}

/// `POST /v1/catalogs/{id}/start`: ends the submission of this generation and creates its jobs.
package struct CatalogStart: Codable, Sendable {
    package var generation: Int

    package init(generation: Int) { self.generation = generation }
}

/// The answer to a start.
package struct CatalogStarted: Codable, Sendable {
    /// Number of the catalog's assets that this generation does not name; nil for a repeated start.
    package var left: Int?

    package init(left: Int? = nil) { self.left = left }
}

/// Limits of the wire format; a request that exceeds one is answered 413 or 400 with its code.
package enum WireLimits {
    package static let assetsPerRequest = 5_000
    package static let mirrorsPerAsset = 7
    /// Lower for a segment of a title, which may have a million of them.
    package static let mirrorsPerSegment = 3
    /// Attempts at publishing a refresh.
    package static let switchAttempts = 5
    package static let sidecarsPerAsset = 50
    package static let jobsPerLease = 1_000
    package static let resultsPerReport = 1_000
    package static let segmentsPerRequest = 5_000
    package static let leasesPerHeartbeat = 1_000
    package static let originsPerHeartbeat = 200
    package static let originsPerResult = 20
    /// Maximum origins of `LeaseRequest.slow`.
    package static let slowOriginsPerLease = 256
    package static let sitesPerHeartbeat = 1_000
    /// Maximum names of directories that a worker may write to, as given and without symlinks.
    package static let rootsPerWorker = 64
    /// Maximum sites whose jobs a worker no longer leases, because they lie outside of its roots.
    package static let refusedSites = 1_000
    /// Longest reason of a decision about an origin in characters.
    package static let reasonCharacters = 400
    /// Longest validator of a result; a longer one is ignored.
    package static let validatorCharacters = 256
    package static let pageRows = 5_000
    /// Largest request body in bytes.
    package static let bodyBytes = 16 << 20
    /// Longest long poll in milliseconds; shorter than the minute after which proxies time out.
    package static let waitMilliseconds = 50_000
    /// Interval of an idle worker's heartbeats, in seconds; half of the time for which it counts as
    /// live.
    package static let idleHeartbeatSeconds = 30
    /// Times in seconds since 1970: up to the end of the year 9999.
    package static let pointsInTime = 1.0...253_402_300_799
    /// Longest name of an asset in bytes, for 1,000 multi-byte characters.
    package static let nameBytes = 2_000
    /// Longest URL in bytes.
    package static let urlBytes = 8_192
    /// Longest final key in bytes.
    package static let keyBytes = 2_048
    /// Longest rewritten manifest of `ResolvedSegment.content` in bytes, and maximum of all in one
    /// request.
    package static let documentBytes = 6 << 20
    /// Maximum warnings about the manifests of one asset, the first ones.
    package static let warningsPerAsset = 5
    /// Maximum segments of one asset.
    package static let segmentsPerAsset = 1_000_000 / fuzzingDivisor
    /// Maximum bytes of the URLs of these segments together, including mirrors.
    package static let urlBytesPerAsset = (64 << 20) / fuzzingDivisor

    // An allowed title of a million segments keeps a fuzzing build busy for as long as a hang
    // would. So the limits are lower there.
    #if FUZZING
        private static let fuzzingDivisor = 50
    #else
        private static let fuzzingDivisor = 1
    #endif
}
