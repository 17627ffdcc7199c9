package import Model
package import WebURL

/// A parsed HLS playlist with its references (RFC 8216; draft-pantos-hls-rfc8216bis).
///
/// It omits objects that a player does not fetch from the edge or does not need for the title:
/// segments with `EXT-X-GAP`, partial segments and preload hints (an ended playlist has the whole
/// segments), rendition reports, steering manifests, interstitials of date ranges (separate titles),
/// and keys of a `KEYFORMAT` other than `identity` (the DRM system fetches those).
package struct HLSPlaylist: Sendable {
    package enum Kind: Sendable {
        /// Refers to other playlists.
        case multivariant
        /// Refers to the segments of one rendition; it has ended.
        case media
    }

    /// The use of a playlist; the cases are in the order of fetching.
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

        /// The role of its segments.
        var segmentRole: SegmentRole {
            switch self {
            case .variant, .media, .iFrames: .media
            case .images: .image
            case .subtitles: .subtitles
            }
        }
    }

    /// A playlist that a multivariant playlist refers to.
    package struct Child: Hashable, Sendable {
        package var reference: ManifestReference
        package var rendition: Rendition
        /// Its attributes in the multivariant playlist.
        package var track: Titles.Rendition
    }

    package internal(set) var kind: Kind
    /// Playlists of a multivariant playlist; a URL may occur several times.
    package internal(set) var children: [Child] = []
    /// Media playlist: initialization sections, keys and segments in playback order. Multivariant
    /// playlist: session keys and session data. An object occurs once per listed byte range, or per
    /// listing.
    package internal(set) var segments = ManifestSegments()
    /// True if it had not ended when it was read.
    package internal(set) var isLive = false
    /// Number of listed gaps.
    package internal(set) var gaps = 0
    /// Variables of EXT-X-DEFINE, which media playlists may import from a multivariant one.
    package internal(set) var variables: [String: String] = [:]
    /// Content steering of a multivariant playlist: nil without it, or the reason why it cannot be
    /// followed.
    package internal(set) var steering: Result<ContentSteering, Failure>?
    /// Broken rules that players tolerate.
    package internal(set) var warnings = ManifestWarnings()

    /// Maximum size of a playlist in bytes.
    package static let maximumBytes = 16 << 20
    /// Maximum number of segments of one playlist.
    package static let maxSegmentsPerPlaylist = WireLimits.segmentsPerAsset / 2
    /// Maximum length of a line in bytes.
    package static let lineBytes = 64 << 10

    /// Parses a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the body as received.
    ///   - url: its final URL; relative references resolve against it.
    ///   - named: the URL of the playlist before a redirect to `url`. A player at the edge finds
    ///     the playlist under the key of `named` and resolves references against it, so keys are
    ///     made from references resolved against `named`.
    ///   - imports: variables of the multivariant playlist that refers to this one; nil without
    ///     one.
    ///   - rendition: the use of the playlist.
    ///   - contentType: the response's Content-Type.
    ///   - takesSnapshots: true captures a live playlist with its current segments.
    ///   - policy: the handling of broken rules that players tolerate.
    ///
    /// Throws `manifest.…`; the message has the URL (without its query) and the line.
    package static func parse(
        _ bytes: [UInt8], url: WebURL, named: WebURL? = nil, imports: [String: String]? = nil,
        rendition: Rendition = .variant, contentType: String? = nil, takesSnapshots: Bool = false,
        policy: ManifestPolicy = .lenient
    ) throws(Failure) -> HLSPlaylist {
        func parser(_ kind: Kind?) throws(Failure) -> HLSParser {
            var parser = HLSParser(
                bytes: bytes, url: url, named: named,
                options: HLSParser.Options(
                    imports: imports, rendition: rendition, policy: policy,
                    takesSnapshots: takesSnapshots),
                mixtureOf: kind)
            try parser.checkForm(contentType: contentType)
            return parser
        }
        var first = try parser(nil)
        do throws(Failure) {
            return try first.run()
        } catch {
            guard first.hasBothKinds, policy == .lenient else { throw error }
        }
        // The first pass determines which tags count.
        var second = try parser(first.kindOfMixture)
        return try second.run()
    }
}

extension HLSParser {
    /// How the caller uses a playlist.
    struct Options {
        /// Variables of the multivariant playlist that refers to this one; nil without one.
        var imports: [String: String]?
        var rendition = HLSPlaylist.Rendition.variant
        var policy = ManifestPolicy.lenient
        /// True captures a live playlist with its current segments.
        var takesSnapshots = false
        /// True reads what a player needs at the live edge, and accepts delta updates.
        var readsEdge = false
    }
}
