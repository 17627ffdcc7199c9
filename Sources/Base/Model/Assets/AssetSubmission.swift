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
    /// Nothing of it is fetched before, in seconds since 1970; nil for at once.
    package var notBefore: Double?
    /// Its files are deleted then, in seconds since 1970; nil for never.
    package var expiresAt: Double?
    /// Its files are deleted so many seconds after it was first complete,
    /// `WireLimits.keepSeconds`; nil for never.
    package var keepSeconds: Double?
    /// Its files are checked at their origins so many seconds after it was submitted or refreshed,
    /// `WireLimits.refreshSeconds`; nil for never.
    package var refreshSeconds: Double?
    /// True if its origin says when instead: once the response to its file, or to one of its
    /// manifests, is no longer fresh, within `WireLimits.originRefreshSeconds`.
    package var refreshByOrigin: Bool?
    /// The time of its last change by the list, in seconds since 1970; nil if the list has none.
    package var modified: Double?
    /// The licence that counts its fetches and its sites, 1 to 200 characters; nil for its URL without
    /// the query.
    package var title: String?
    /// Maximum fetches of the title to the site within a period; nil for no limit.
    package var maxFetches: FetchLimit?
    /// Maximum sites that the title is at, `WireLimits.sitesPerTitle`; nil for no limit.
    package var maxSites: Int?
    /// A file that is under its key already and may be the object: the origin is asked. `file`
    /// assets only; nil for none.
    package var found: FoundFile?
    /// True if files of another tool may lie under the keys of its segments and sidecars: workers read
    /// them, and ask the origins. Nil for false.
    package var adopts: Bool?

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

/// A maximum number of fetches within a period.
package struct FetchLimit: Codable, Hashable, Sendable {
    /// `WireLimits.fetchesPerTitle`.
    package var count: Int
    /// `WireLimits.keepSeconds`.
    package var periodSeconds: Double

    package init(count: Int, periodSeconds: Double) {
        self.count = count
        self.periodSeconds = periodSeconds
    }
}

/// A file of a mirror that another tool made.
package struct FoundFile: Codable, Hashable, Sendable {
    package var bytes: Int64
    /// 64 lower-case hex digits.
    package var sha256: String
    /// Its modification time, in whole seconds since 1970: tools that mirror set that of the origin,
    /// or leave the time of the download.
    package var modified: Int64

    package init(bytes: Int64, sha256: String, modified: Int64) {
        self.bytes = bytes
        self.sha256 = sha256
        self.modified = modified
    }

    /// The text that stands for a validator until the origin has confirmed the file.
    package var validator: String { "\(Self.mark)\(modified)" }

    private static let mark = "modified "

    /// The text that stands for a validator until a worker has read the file under the key.
    package static let unread = "unread"

    /// Returns the modification time in such a text; nil for a validator of an origin.
    package static func modified(in validator: String) -> Int64? {
        validator.hasPrefix(mark) ? Int64(validator.dropFirst(mark.count)) : nil
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
