import Model
import WebURL

/// The listed segments of a manifest in its order, in compact form: a title may have a million.
///
/// A segment takes 48 bytes plus the distinct part of its URL; elements are created on access.
package struct ManifestSegments: RandomAccessCollection, Sendable {
    private struct Row {
        /// Index of its URL; the URLs for `isNamed` and `mirrors` follow it.
        var url: UInt32
        var line: Int32
        var rendition: Int32
        /// Index of its byte range; -1 for none.
        var range: Int32
        /// -1 if missing.
        var seconds: Double
        var role: SegmentRole
        var isNamed: Bool
        var mirrors: UInt8
        var isClear: Bool
        var kilobits: Int32
    }

    private var rows: [Row] = []
    private var ranges: [SegmentRange] = []
    private(set) var urls = URLTable()
    /// Reference of the last row: byte ranges of one object are adjacent.
    private var last: (reference: ManifestReference, mirrors: [WebURL])?

    package init() {}

    /// Reserves capacity for so many segments, without the distinct parts of their URLs.
    mutating func reserve(_ count: Int) {
        rows.reserveCapacity(count)
        urls.reserve(count)
    }

    /// Bytes of all URLs; adjacent byte ranges of one object count once.
    var urlBytes: Int { urls.totalBytes }

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }

    /// The attributes of a segment without URL and rendition.
    struct Attributes {
        var role: SegmentRole
        var line: Int32
        var range: SegmentRange?
        var seconds: Double?
        var kilobits: Int32
        var isClear: Bool
    }

    mutating func append(_ segment: ManifestSegment) {
        let reference = segment.reference
        let mirrors = segment.mirrors.prefix(Int(UInt8.max))
        let url: UInt32
        if let last, let before = rows.last, last.reference.url == reference.url,
            last.reference.named == reference.named, last.mirrors == segment.mirrors
        {
            url = before.url
        } else {
            url = UInt32(clamping: urls.count)
            urls.append(reference.url)
            if let named = reference.named { urls.append(named) }
            for mirror in mirrors { urls.append(mirror) }
            last = (reference, segment.mirrors)
        }
        append(
            Attributes(
                role: segment.role, line: reference.line, range: segment.range,
                seconds: segment.durationSeconds, kilobits: segment.kilobits,
                isClear: segment.isClear), url)
        rows[rows.count - 1].rendition = segment.renditionIndex
        rows[rows.count - 1].isNamed = reference.named != nil
        rows[rows.count - 1].mirrors = UInt8(mirrors.count)
    }

    /// Appends an object by the plain reference in `text` of `bytes`, without creating its URL's
    /// text.
    ///
    /// - Parameter queryStart: the result of `ReferenceBase.plainQueryStart(_:_:)` for the
    ///   reference.
    mutating func append(
        _ attributes: Attributes, at base: ReferenceBase, _ bytes: [UInt8], _ text: Range<Int>,
        queryStart: Int
    ) {
        append(attributes, UInt32(clamping: urls.count))
        urls.append(base, bytes, text, queryStart: queryStart)
        last = nil
    }

    /// Appends a segment of the same object as the last one, which must exist.
    mutating func appendOfSameObject(_ attributes: Attributes) {
        let before = rows[rows.count - 1]
        append(attributes, before.url)
        rows[rows.count - 1].isNamed = before.isNamed
        rows[rows.count - 1].mirrors = before.mirrors
    }

    private mutating func append(_ attributes: Attributes, _ url: UInt32) {
        var row = Row(
            url: url, line: attributes.line, rendition: -1, range: -1,
            seconds: attributes.seconds ?? -1,
            role: attributes.role, isNamed: false, mirrors: 0, isClear: attributes.isClear,
            kilobits: attributes.kilobits)
        if let range = attributes.range {
            row.range = Int32(clamping: ranges.count)
            ranges.append(range)
        }
        rows.append(row)
    }

    package subscript(position: Int) -> ManifestSegment {
        let row = rows[position]
        let index = Int(row.url)
        var segment = ManifestSegment(
            ManifestReference(
                url: urls[index], named: row.isNamed ? urls[index + 1] : nil, line: row.line),
            row.role, rendition: row.rendition < 0 ? nil : Int(row.rendition),
            range: row.range < 0 ? nil : ranges[Int(row.range)],
            durationSeconds: row.seconds < 0 ? nil : row.seconds)
        segment.kilobits = row.kilobits
        segment.isClear = row.isClear
        let mirrors = index + (row.isNamed ? 2 : 1)
        if row.mirrors > 0 {
            segment.mirrors = (mirrors..<(mirrors + Int(row.mirrors))).map { urls[$0] }
        }
        return segment
    }

    /// The object of one or more segments.
    struct Object {
        /// Index of its URL in `urls`; its named URL and mirrors follow it.
        var url: Int
        var role: SegmentRole
        var isNamed: Bool
        var mirrors: Int
    }

    /// Calls `body` with the objects in order; adjacent byte ranges of one object count once.
    func forEachObject(_ body: (Object) throws(Failure) -> Void) throws(Failure) {
        var last: Row?
        for row in rows {
            if let last, last.url == row.url, last.role == row.role { continue }
            last = row
            try body(
                Object(
                    url: Int(row.url), role: row.role, isNamed: row.isNamed,
                    mirrors: Int(row.mirrors)))
        }
    }

    /// Removes all segments of a role.
    mutating func remove(_ role: SegmentRole) {
        rows.removeAll { $0.role == role }
        // The last row may be removed.
        last = nil
    }
}
