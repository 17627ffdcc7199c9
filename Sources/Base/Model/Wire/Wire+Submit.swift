/// `POST /v1/catalogs`: opens a catalog for submission, made on first use, with its site and queue.
package struct CatalogSubmission: Codable, Sendable {
    /// 1 to 200 characters, no control characters; unique at its site.
    package var name: String
    /// Where the assets go: `file:///absolute/path`.
    package var storageURL: String
    /// 0 (last) to 9 (first).
    package var priority: Int
    /// When the first of its jobs may be handed out, in seconds since 1970; nil for at once. Like
    /// the priority, of the catalog from now on.
    package var notBefore: Double?
    /// When it should have ended, in seconds since 1970; its priority rises as this nears.
    package var deadline: Double?
    /// What is wanted of its titles from now on; nil for all of them. Titles that were resolved with other
    /// options are resolved anew.
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
    /// This submission's number; assets of earlier ones that are not submitted again stay out of it.
    package var generation: Int

    package init(id: CatalogID, queue: String, generation: Int) {
        self.id = id
        self.queue = queue
        self.generation = generation
    }
}

/// One asset as a list names it.
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
    /// Other URLs of the same bytes, `WireLimits.mirrorsPerAsset` at most; `file` assets only. Nil for
    /// none.
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
    /// The asset fails with it; one that is not required is named as missing.
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

/// `POST /v1/catalogs/{id}/start`: all assets of this generation are in; makes their jobs.
package struct CatalogStart: Codable, Sendable {
    package var generation: Int

    package init(generation: Int) { self.generation = generation }
}

/// The answer to a start.
package struct CatalogStarted: Codable, Sendable {
    /// Assets that the catalog had and that this generation does not name; nil from a start that was one already.
    package var left: Int?

    package init(left: Int? = nil) { self.left = left }
}

/// Bounds of the wire format; a request beyond one is answered 413 or 400 with its code.
package enum WireLimits {
    package static let assetsPerRequest = 5_000
    package static let mirrorsPerAsset = 7
    /// Of a segment of a title, of which there may be a million.
    package static let mirrorsPerSegment = 3
    /// Tries of the switch of a refresh.
    package static let switchAttempts = 5
    package static let sidecarsPerAsset = 50
    package static let jobsPerLease = 1_000
    package static let resultsPerReport = 1_000
    package static let segmentsPerRequest = 5_000
    package static let leasesPerHeartbeat = 1_000
    package static let originsPerHeartbeat = 200
    package static let originsPerResult = 20
    /// Origins of `LeaseRequest.slow`.
    package static let slowOriginsPerLease = 256
    package static let sitesPerHeartbeat = 1_000
    /// Directories that a worker may write to, each by the name that it was given and without symlinks.
    package static let rootsPerWorker = 64
    /// Sites that a worker has jobs of handed out no more, because they lie outside of its roots.
    package static let refusedSites = 1_000
    /// Longest reason of a decision about an origin in characters.
    package static let reasonCharacters = 400
    /// Longest validator of a result; one that is longer is as good as none.
    package static let validatorCharacters = 256
    package static let pageRows = 5_000
    /// Largest request body in bytes.
    package static let bodyBytes = 16 << 20
    /// Longest long poll in milliseconds; shorter than the minute after which proxies give an answer up.
    package static let waitMilliseconds = 50_000
    /// How often an idle worker says that it is there, in seconds; half of the time for which it counts
    /// as being there.
    package static let idleHeartbeatSeconds = 30
    /// Points in time in seconds since 1970: up to the end of the year 9999.
    package static let pointsInTime = 1.0...253_402_300_799
    /// Longest name of an asset in bytes, when its 1,000 characters are long ones.
    package static let nameBytes = 2_000
    /// Longest URL in bytes.
    package static let urlBytes = 8_192
    /// Longest final key in bytes.
    package static let keyBytes = 2_048
    /// Longest document of `ResolvedSegment.content` in bytes; all of one request together are no more.
    package static let documentBytes = 6 << 20
    /// Warnings about the manifests of one asset, the first ones.
    package static let warningsPerAsset = 5
    /// Segments of one asset.
    package static let segmentsPerAsset = 1_000_000 / fuzzingDivisor
    /// Bytes of the URLs of these segments together, mirrors included.
    package static let urlBytesPerAsset = (64 << 20) / fuzzingDivisor

    // A title of a million segments, which is taken, keeps a build with a fuzzer's instruments busy for as
    // long as a hang would: what a line of a manifest may come to is less there.
    #if FUZZING
        private static let fuzzingDivisor = 50
    #else
        private static let fuzzingDivisor = 1
    #endif
}
