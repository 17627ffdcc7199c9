package import Model
package import WebURL

/// An HLS playlist that was read: what it names, nothing else (RFC 8216; draft-pantos-hls-rfc8216bis).
///
/// What is not named, because a player does not fetch it from the edge or does not need it for the
/// title: segments with `EXT-X-GAP`, partial segments and preload hints (an ended playlist has the
/// whole segments), rendition reports, content steering, interstitials of date ranges (titles of
/// their own), and keys of a `KEYFORMAT` other than `identity` (the DRM system fetches those).
package struct HLSPlaylist: Sendable {
    package enum Kind: Sendable {
        /// Names other playlists.
        case multivariant
        /// Names the segments of one rendition; it has ended.
        case media
    }

    /// What a playlist is played for; the order of the cases is the order of fetching.
    package enum Rendition: Int, Comparable, Sendable {
        case variant
        /// An alternative rendition: audio or video.
        case media
        case iFrames
        case images
        case subtitles

        package static func < (left: Rendition, right: Rendition) -> Bool {
            left.rawValue < right.rawValue
        }

        /// The role of what its playlist lists.
        var segmentRole: SegmentRole {
            switch self {
            case .variant, .media, .iFrames: .media
            case .images: .image
            case .subtitles: .subtitles
            }
        }
    }

    /// A playlist that a multivariant one names.
    package struct Child: Hashable, Sendable {
        package var reference: ManifestReference
        package var rendition: Rendition
        /// What the multivariant playlist says of it.
        package var track: Titles.Rendition
    }

    package internal(set) var kind: Kind
    /// Playlists, of a multivariant playlist; a URL may stand there several times.
    package internal(set) var children: [Child] = []
    /// Media playlist: initialization sections, keys and segments in playback order. Multivariant
    /// playlist: session keys and session data. An object stands there several times when several of
    /// its byte ranges are listed, or when it is.
    package internal(set) var segments = ManifestSegments()
    /// It had not ended when it was read.
    package internal(set) var isLive = false
    /// Segments that the playlist lists but that are gaps.
    package internal(set) var gaps = 0
    /// Variables of EXT-X-DEFINE, which media playlists may import from a multivariant one.
    package internal(set) var variables: [String: String] = [:]
    /// Rules that it breaks, and that players read past.
    package internal(set) var warnings = ManifestWarnings()

    /// Largest playlist in bytes.
    package static let maximumBytes = 16 << 20
    /// Most segments of one playlist.
    package static let maximumSegments = WireLimits.segmentsPerAsset / 2
    /// Longest line in bytes.
    package static let lineBytes = 64 << 10

    /// Reads a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the body as it was received.
    ///   - url: where it was received from in the end; relative references resolve against it.
    ///   - named: the URL that names the playlist, when a redirect led from there to `url`. A player
    ///     at the edge finds the playlist under the key of `named` and resolves references against
    ///     that, so keys are made from the same references resolved against `named`.
    ///   - imports: variables of the multivariant playlist that named this one; nil when none did.
    ///   - rendition: what the playlist is played for.
    ///   - contentType: the answer's Content-Type.
    ///   - takesSnapshots: a live playlist is taken for what it lists.
    ///   - policy: what becomes of one that breaks a rule which players read past.
    ///
    /// Fails with `manifest.…`; the message names the URL (without its query) and the line.
    package static func parse(
        _ bytes: [UInt8], url: WebURL, named: WebURL? = nil, imports: [String: String]? = nil,
        rendition: Rendition = .variant, contentType: String? = nil, takesSnapshots: Bool = false,
        policy: ManifestPolicy = .lenient
    ) throws(Failure) -> HLSPlaylist {
        func parser(_ kind: Kind?) throws(Failure) -> HLSParser {
            var parser = HLSParser(
                bytes: bytes, url: url, named: named, imports: imports, rendition: rendition,
                policy: policy, mixtureOf: kind)
            parser.takesSnapshots = takesSnapshots
            try parser.checkForm(contentType: contentType)
            return parser
        }
        var first = try parser(nil)
        do throws(Failure) {
            return try first.run()
        } catch {
            guard first.hasBothKinds, policy == .lenient else { throw error }
        }
        // Which tags count is known when all of it was seen.
        var second = try parser(first.kindOfMixture)
        return try second.run()
    }
}
