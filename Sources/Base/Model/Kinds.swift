/// The kind of an asset, which determines how its segments are found.
package enum AssetKind: String, Codable, CaseIterable, Sendable {
    /// One object, stored as it is served.
    case file
    /// An HTTP Live Streaming title (RFC 8216), named by its multivariant or media playlist.
    case hls
    /// A DASH title (ISO/IEC 23009-1), named by its MPD.
    case dash
}

/// The kind of a job.
package enum JobKind: String, Codable, CaseIterable, Sendable {
    /// Fetch a manifest and report the asset's segments.
    case resolve
    /// Fetch one segment and store it.
    case fetch
    /// Hash a multipart file and give it its final key.
    case verify
    /// Write a directory's `SHA256SUMS`.
    case checksums
    /// Request every file of a completed asset again, and stage changed ones.
    case refresh
    /// Publish the staged files of a refresh. A `refresh` becomes one when it is leased.
    case publish
    /// Delete files that a catalog's assets no longer need.
    case purge

    /// True if it is of one segment, whose file a worker may store.
    package var isOfSegment: Bool { [.fetch, .verify].contains(self) }

    /// True if it is of a whole asset.
    package var isOfAsset: Bool { [.resolve, .refresh, .publish].contains(self) }

    /// True if it reads the manifest of a title, so that the title's options concern it.
    package var readsManifest: Bool { [.resolve, .refresh].contains(self) }

    /// True if it continues while its catalog is interrupted.
    package var isUninterruptible: Bool { [.publish, .purge].contains(self) }
}

/// The role of a segment; determines the media check and the grouping in reports.
package enum SegmentRole: String, Codable, CaseIterable, Sendable {
    /// A `file` asset's object.
    case file
    case media
    /// A media initialization section (EXT-X-MAP).
    case `init`
    case key
    case playlist
    case subtitles
    case image
    case index
    /// Anything else that a manifest names, such as session data.
    case data

    /// True if other segments, or the whole title, cannot be played without it.
    package var isShared: Bool { [.`init`, .key, .data].contains(self) }

    /// Maximum body length in bytes. The origin's settings and the disk limit a file; a rendition
    /// may be one object of many hours; a key is 16 bytes long.
    package var maximumBytes: Int64 {
        switch self {
        case .file: 16 << 40
        case .media: 64 << 30
        case .`init`, .subtitles, .image, .index, .data: 1 << 30
        case .playlist: 22 << 20
        case .key: 64 << 10
        }
    }
}
