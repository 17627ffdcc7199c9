package import Model
package import WebURL

/// Something that a manifest names.
package struct ManifestReference: Hashable, Sendable {
    /// Where it is fetched from.
    package var url: WebURL
    /// What its key is made from, when that is not `url`: a redirect led from there to the manifest,
    /// and a player at the edge resolves references against where the manifest lies.
    package var named: WebURL?
    /// Line of the manifest, from 1; 0 where that is not known.
    package var line: Int32

    /// What its key is made from.
    package var keyURL: WebURL { named ?? url }
}

/// A part of an object: from `offset` on `length` bytes, or to its end.
package struct SegmentRange: Hashable, Sendable {
    package var offset: Int64
    package var length: Int64?

    package init(offset: Int64, length: Int64?) {
        self.offset = offset
        self.length = length
    }
}

/// A segment that a manifest lists: one object, or one byte range of one.
///
/// A title has up to a million of these, so what may be missing is kept as a number below zero.
package struct ManifestSegment: Hashable, Sendable {
    package var reference: ManifestReference
    package var role: SegmentRole
    /// Its rendition's place among those of its title; nil for what belongs to none of them.
    package var rendition: Int? { renditionPlace < 0 ? nil : Int(renditionPlace) }
    /// The bytes of the object that it is; nil for all of it.
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
    /// As the manifest states it; nil where it states none.
    package var durationSeconds: Double? { seconds < 0 ? nil : seconds }

    /// Other URLs of the same bytes, `WireLimits.mirrorsPerSegment` at most.
    package var mirrors: [WebURL] = []

    var renditionPlace: Int32
    /// EXT-X-BITRATE of HLS, in 1,000 bits a second; 0 where there is none.
    var kilobits: Int32 = 0
    /// METHOD=NONE of HLS is in force for it, and no key that is listed before.
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
        /// Of a kind that the manifest does not tell.
        case other
    }

    /// A DASH representation's id; an HLS playlist's URI as it is written in the multivariant one.
    package var id: String
    package var kind: Kind
    /// Bits a second, at most; nil where the manifest states none.
    package var bandwidth: Int64?
    /// Bits a second over all of it; nil where the manifest states none.
    package var averageBandwidth: Int64?
    package var width: Int64?
    package var height: Int64?
    package var codecs: String?
    /// RFC 5646.
    package var language: String?
    /// What is listed of it: HLS I-frame playlists and DASH trick-mode sets are for seeking.
    package var isTrickMode: Bool
    /// The group that an alternative rendition of HLS belongs to; nil for what is played by itself.
    package var group: String?
    /// The groups that a variant of HLS is played with.
    package var groups: Set<String> = []
    /// Of an alternative rendition of HLS: played where nobody chooses another.
    package var isDefault = false

    /// Whether it is one of the bit rates that a title is played at, with or without sound in it.
    package var isVariant: Bool {
        (kind == .video || kind == .other) && group == nil && !isTrickMode
    }

    /// Takes from another mention of it what is not known.
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

/// What becomes of a manifest that is still being written.
package enum LiveManifests: Hashable, Sendable {
    /// It fails with `manifest.live`.
    case refused
    /// It is taken for what it lists at this time, in seconds since 1970.
    case snapshot(atSeconds: Double)
}

extension Rendition {
    /// Of bits a second, to the nearest.
    package static func kilobits(_ bits: Int64) -> Int64 {
        bits / 1_000 + (bits % 1_000 >= 500 ? 1 : 0)
    }
}
