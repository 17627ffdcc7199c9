package import Model
package import WebURL

/// A reference in a manifest.
package struct ManifestReference: Hashable, Sendable {
    /// The URL to fetch.
    package var url: WebURL
    /// The URL that its key is made from, if it is not `url`: after a redirect of the manifest, a
    /// player at the edge resolves references against the manifest's stored location.
    package var named: WebURL?
    /// Line of the manifest, from 1; 0 if unknown.
    package var line: Int32

    /// The URL that its key is made from.
    package var keyURL: WebURL { named ?? url }
}

/// A part of an object: `length` bytes from `offset`, or up to its end.
package struct SegmentRange: Hashable, Sendable {
    package var offset: Int64
    package var length: Int64?

    package init(offset: Int64, length: Int64?) {
        self.offset = offset
        self.length = length
    }
}

/// A listed segment: one object, or one byte range of one.
///
/// A title has up to a million of these, so missing values are stored as negative numbers.
package struct ManifestSegment: Hashable, Sendable {
    package var reference: ManifestReference
    package var role: SegmentRole
    /// Index of its rendition in the title; nil for none.
    package var rendition: Int? { renditionPlace < 0 ? nil : Int(renditionPlace) }
    /// Its byte range in the object; nil for the whole object.
    package var range: SegmentRange? {
        get {
            guard offset >= 0 else { return nil }
            return SegmentRange(offset: offset, length: length < 0 ? nil : length)
        }
        set {
            offset = newValue?.offset ?? -1
            length = newValue?.length ?? -1
        }
    }
    /// Duration in the manifest; nil if missing.
    package var durationSeconds: Double? { seconds < 0 ? nil : seconds }

    /// Other URLs of the same bytes, at most `WireLimits.mirrorsPerSegment`.
    package var mirrors: [WebURL] = []

    var renditionPlace: Int32
    /// EXT-X-BITRATE of HLS, in kbit/s; 0 if missing.
    var kilobits: Int32 = 0
    /// True if METHOD=NONE of HLS applies to it, and no earlier key.
    package var isClear = false
    private var offset: Int64
    private var length: Int64
    private var seconds: Double

    package init(
        _ reference: ManifestReference, _ role: SegmentRole, rendition: Int? = nil,
        range: SegmentRange? = nil, durationSeconds: Double? = nil
    ) {
        self.reference = reference
        self.role = role
        renditionPlace = rendition.map { Int32(clamping: $0) } ?? -1
        offset = range?.offset ?? -1
        length = range?.length ?? -1
        seconds = durationSeconds ?? -1
    }
}

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
