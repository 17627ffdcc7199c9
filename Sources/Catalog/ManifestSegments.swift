import Model

/// What a manifest lists, in its order, in little room: a title may have a million segments.
///
/// 48 bytes a segment and what its URL has of its own; elements are made when they are asked for.
package struct ManifestSegments: RandomAccessCollection, Sendable {
    private struct Row {
        /// Place of its URL, which those that `isNamed` and `mirrors` speak of follow.
        var url: UInt32
        var line: Int32
        var rendition: Int32
        /// Place of its byte range; -1 for none.
        var range: Int32
        /// -1 where none are stated.
        var seconds: Double
        var role: SegmentRole
        var isNamed: Bool
        var mirrors: UInt8
        var isClear: Bool
        var kilobits: Int32
    }

    private var rows: [Row] = []
    private var ranges: [SegmentRange] = []
    private var urls = URLTable()
    /// What the last row refers to: byte ranges of one object follow one another.
    private var last: (reference: ManifestReference, mirrors: [WebURL])?

    package init() {}

    /// Of all URLs; those of byte ranges of one object that follow one another count once.
    var urlBytes: Int { urls.totalBytes }

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }

    mutating func append(_ segment: ManifestSegment) {
        let reference = segment.reference
        var row = Row(
            url: 0, line: reference.line, rendition: segment.renditionPlace, range: -1,
            seconds: segment.durationSeconds ?? -1, role: segment.role,
            isNamed: reference.named != nil, mirrors: UInt8(clamping: segment.mirrors.count),
            isClear: segment.isClear, kilobits: segment.kilobits)
        if let range = segment.range {
            row.range = Int32(clamping: ranges.count)
            ranges.append(range)
        }
        if let last, let before = rows.last, last.reference.url == reference.url,
            last.reference.named == reference.named, last.mirrors == segment.mirrors
        {
            row.url = before.url
        } else {
            row.url = UInt32(clamping: urls.count)
            urls.append(reference.url)
            if let named = reference.named { urls.append(named) }
            for mirror in segment.mirrors.prefix(Int(row.mirrors)) { urls.append(mirror) }
            last = (reference, segment.mirrors)
        }
        rows.append(row)
    }

    package subscript(position: Int) -> ManifestSegment {
        let row = rows[position]
        let place = Int(row.url)
        var segment = ManifestSegment(
            ManifestReference(
                url: urls[place], named: row.isNamed ? urls[place + 1] : nil, line: row.line),
            row.role, rendition: row.rendition < 0 ? nil : Int(row.rendition),
            range: row.range < 0 ? nil : ranges[Int(row.range)],
            durationSeconds: row.seconds < 0 ? nil : row.seconds)
        segment.kilobits = row.kilobits
        segment.isClear = row.isClear
        let mirrors = place + (row.isNamed ? 2 : 1)
        if row.mirrors > 0 {
            segment.mirrors = (mirrors..<(mirrors + Int(row.mirrors))).map { urls[$0] }
        }
        return segment
    }

    /// Takes out what has a role.
    mutating func remove(_ role: SegmentRole) {
        rows.removeAll { $0.role == role }
        // It may have gone.
        last = nil
    }
}
