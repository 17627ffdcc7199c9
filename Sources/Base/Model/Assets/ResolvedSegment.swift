/// One object that an asset needs at the edge.
package struct ResolvedSegment: Codable, Hashable, Sendable {
    /// Position in the asset, from 0; jobs run in this order.
    package var ordinal: Int
    package var url: String
    package var key: String
    package var role: SegmentRole
    /// Expected length and digest, if known (for the playlists that were read); of a byte range its
    /// own.
    package var bytes: Int64?
    package var sha256: String?
    /// The rewritten manifest to store instead of the origin's bytes, at most
    /// `WireLimits.rewrittenManifestBytes`; `bytes` and `sha256` are its own.
    package var content: String?
    /// The digest of the origin's bytes, if there is `content`.
    package var servedSHA256: String?
    /// Other URLs of the same bytes, `WireLimits.mirrorsPerSegment` at most. Nil for none.
    package var mirrors: [String]?
    /// The offset in the object at `url` of a byte range that is stored as a file of its own;
    /// `bytes` is its length. Only recordings of live titles have such. Nil for a whole object.
    package var objectOffset: Int64?

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
