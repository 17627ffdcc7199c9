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
