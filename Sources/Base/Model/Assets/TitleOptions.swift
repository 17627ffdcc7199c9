/// The selected tracks of a title; by default all.
package struct TrackSelection: Codable, Hashable, Sendable {
    /// Pixels.
    package var maximumHeight: Int64?
    package var maximumBitsPerSecond: Int64?
    /// A single variant, the one with the nearest bit rate; the lower of two.
    package var preferredBitsPerSecond: Int64?
    /// The start of an RFC 6381 name, `avc1` or `hvc1.2`, or a family: `h264`, `hevc`, `av1`,
    /// `vp9`, `aac`, `ac3`, `eac3`, `opus`. Audio codecs restrict only audio, video codecs only
    /// video.
    package var codecs: [String]?
    /// BCP 47 tags, `en` also for `en-US` (RFC 4647, 3.3.1), `*` for all; empty for none.
    package var audio: [String]?
    package var subtitles: [String]?

    package init() {}

    /// True if nothing is restricted.
    package var isEverything: Bool { self == TrackSelection() }
}

/// Options for the titles of a catalog.
package struct TitleOptions: Codable, Hashable, Sendable {
    package var tracks = TrackSelection()
    /// True if keys stay at the origin, where published manifests refer to them. Nil is false.
    package var leavesKeys: Bool?
    /// True if a live title is stored with the segments it lists when resolved. Nil is false, and
    /// such a title fails.
    package var takesSnapshots: Bool?
    /// True if a live title is recorded: followed to its end. Nil is false.
    package var records: Bool?
    /// Time at which recordings end, in seconds since 1970; nil for the end of the title.
    package var recordsUntilSeconds: Double?
    /// True if a manifest that breaks a rule is rejected. Nil is false: it is read as players read
    /// it, with a warning.
    package var isStrict: Bool?
    /// Query parameters that belong to keys, by origin, for all assets of the catalog; nil if their
    /// names suffice.
    package var keyQueries: [KeyQueryRule]?
    /// Kinds of renditions that a title may lack: one that cannot be fetched is left out, and the
    /// title completes without it. Nil for none, and such a title fails.
    package var mayLack: [RenditionKind]?

    package init() {}

    package var isDefault: Bool { self == TitleOptions() }
}
