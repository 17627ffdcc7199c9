/// One of the tracks that a title offers.
package struct Rendition: Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case video
        case audio
        case subtitles
        case image
        /// Unknown: the manifest does not specify it.
        case other
    }

    /// A DASH representation's id; an HLS playlist's URI as written in the multivariant playlist.
    package var id: String
    package var kind: Kind
    /// Maximum bits per second; nil if missing.
    package var bandwidth: Int64?
    /// Mean bits per second; nil if missing.
    package var averageBandwidth: Int64?
    package var width: Int64?
    package var height: Int64?
    package var codecs: String?
    /// RFC 5646.
    package var language: String?
    /// True for tracks for seeking: HLS I-frame playlists and DASH trick-mode sets.
    package var isTrickMode: Bool
    /// The group of an alternative rendition of HLS; nil for others.
    package var group: String?
    /// The groups that a variant of HLS plays with.
    package var groups: Set<String> = []
    /// True for the default alternative rendition of HLS.
    package var isDefault = false
    /// PATHWAY-ID of a variant of HLS.
    package var pathway: String?
    /// STABLE-VARIANT-ID or STABLE-RENDITION-ID of HLS.
    package var stableID: String?

    /// True for one of the title's bit rates, with or without audio.
    package var isVariant: Bool {
        (kind == .video || kind == .other) && group == nil && !isTrickMode
    }

    /// Fills in missing values from another occurrence.
    mutating func fill(from other: Rendition) {
        bandwidth = bandwidth ?? other.bandwidth
        averageBandwidth = averageBandwidth ?? other.averageBandwidth
        width = width ?? other.width
        height = height ?? other.height
        codecs = codecs ?? other.codecs
        language = language ?? other.language
        groups.formUnion(other.groups)
    }

    package init(
        id: String, kind: Kind, bandwidth: Int64? = nil, width: Int64? = nil,
        height: Int64? = nil, codecs: String? = nil, language: String? = nil,
        isTrickMode: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.bandwidth = bandwidth
        self.width = width
        self.height = height
        self.codecs = codecs
        self.language = language
        self.isTrickMode = isTrickMode
    }
}

extension Rendition {
    /// Rounds bits per second to kbit/s.
    package static func kilobits(_ bits: Int64) -> Int64 {
        bits / 1_000 + (bits % 1_000 >= 500 ? 1 : 0)
    }
}
