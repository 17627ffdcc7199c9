import Model
import WebURL

/// Adds the references of a playlist.
extension HLSParser {
    mutating func addChild(
        _ text: Range<Int>, _ rendition: HLSPlaylist.Rendition, _ track: Rendition
    ) throws(Failure) {
        let reference = try reference(text)
        // Several variants commonly share a rendition, so the limit applies to entries.
        if playlist.children.count >= 10_000 {
            throw failure(.manifestTooMany, "more than 10000 entries name a playlist")
        }
        playlist.children.append(
            HLSPlaylist.Child(reference: reference, rendition: rendition, track: track))
    }

    mutating func add(
        _ text: Range<Int>, _ role: SegmentRole, _ range: SegmentRange? = nil,
        _ seconds: Double? = nil, _ kilobits: Int32 = 0
    ) throws(Failure) {
        if playlist.segments.count >= HLSPlaylist.maxSegmentsPerPlaylist {
            throw failure(
                .manifestTooMany,
                "more than \(HLSPlaylist.maxSegmentsPerPlaylist) segments are listed")
        }
        if let added = last.added, isSame(added, text) {
            playlist.segments.appendOfSameObject(attributes(role, range, seconds, kilobits))
        } else if bases.naming == nil, let queryStart = bases.url.plainQueryStart(bytes, text) {
            playlist.segments.append(
                attributes(role, range, seconds, kilobits), at: bases.url, bytes, text,
                queryStart: queryStart)
        } else {
            var segment = ManifestSegment(
                try reference(text), role, range: range, durationSeconds: seconds)
            segment.kilobits = kilobits
            segment.isClear = later.isClear
            playlist.segments.append(segment)
        }
        last.added = text
        let urlBytes = playlist.segments.urlBytes
        if urlBytes > WireLimits.urlBytesPerAsset {
            throw failure(
                .manifestTooMany,
                "the URLs of the first \(playlist.segments.count) segments total "
                    + "\(urlBytes) bytes; at most \(WireLimits.urlBytesPerAsset) are "
                    + "allowed per title")
        }
    }

    private func attributes(
        _ role: SegmentRole, _ range: SegmentRange?, _ seconds: Double?, _ kilobits: Int32
    ) -> ManifestSegments.Attributes {
        ManifestSegments.Attributes(
            role: role, line: Int32(line), range: range, seconds: seconds, kilobits: kilobits,
            isClear: later.isClear)
    }

    func isSame(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        // From the end, because adjacent names share their start.
        var index = left.count
        while index > 0 {
            index -= 1
            guard bytes[left.lowerBound + index] == bytes[right.lowerBound + index] else {
                return false
            }
        }
        return true
    }
}
