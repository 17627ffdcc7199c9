/// What an asset is, which says how its segments are found.
package enum AssetKind: String, Codable, CaseIterable, Sendable {
    /// One object, stored as it is served.
    case file
    /// An HTTP Live Streaming title (RFC 8216), named by its multivariant or media playlist.
    case hls
    /// A DASH title (ISO/IEC 23009-1), named by its MPD.
    case dash
}

/// What a job asks of a worker.
package enum JobKind: String, Codable, CaseIterable, Sendable {
    /// Fetch a manifest and report the asset's segments.
    case resolve
    /// Fetch one segment and store it.
    case fetch
    /// Hash an assembled file and put it under its final key.
    case verify
    /// Write a directory's `SHA256SUMS`.
    case sums
    /// Ask for every file of a completed asset anew, and stage what has changed.
    case refresh
    /// Let the staged files of a refresh take the place of the old ones. A `refresh` becomes one when it is granted.
    case switchOver = "switch"
}

/// What a segment is for; decides the media sanity check and how reports group it.
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
    /// Anything else a manifest names, session data for one.
    case data

    /// The longest body that there can be a use for, in bytes: a file's bound is the origin's setting
    /// and the disk; a rendition may be one object of many hours; a key is 16 bytes long.
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
