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
    package var rendition: Int? { renditionIndex < 0 ? nil : Int(renditionIndex) }
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

    var renditionIndex: Int32
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
        renditionIndex = rendition.map { Int32(clamping: $0) } ?? -1
        offset = range?.offset ?? -1
        length = range?.length ?? -1
        seconds = durationSeconds ?? -1
    }
}
