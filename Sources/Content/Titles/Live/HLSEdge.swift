package import Model
import Text
package import WebURL

/// The parts of a media playlist that a player needs at the live edge (RFC 8216bis, sections 4.4.3
/// and 4.4.4).
package struct HLSEdge: Sendable {
    /// A listed segment.
    package struct Segment: Sendable {
        /// Index in `HLSPlaylist.segments`; -1 for a gap (EXT-X-GAP).
        package var row: Int
        package var seconds: Double
        /// Start in seconds since 1970, from EXT-X-PROGRAM-DATE-TIME; nil if unknown.
        package var dateSeconds: Double?
    }

    /// A partial segment (EXT-X-PART).
    package struct Part: Sendable {
        /// Sequence number of its segment.
        package var number: Int64
        package var url: WebURL
        package var range: SegmentRange?
        package var seconds: Double
        /// True if playback can start with it.
        package var isIndependent: Bool
        package var isGap: Bool
    }

    /// EXT-X-MEDIA-SEQUENCE: the number of the first listed segment, skipped ones included.
    package internal(set) var mediaSequence: Int64 = 0
    /// EXT-X-TARGETDURATION; 0 if missing.
    package internal(set) var targetSeconds = 0.0
    /// PART-TARGET of EXT-X-PART-INF.
    package internal(set) var partTargetSeconds: Double?
    // EXT-X-SERVER-CONTROL:
    package internal(set) var holdBackSeconds: Double?
    package internal(set) var partHoldBackSeconds: Double?
    /// CAN-SKIP-UNTIL: a client may request a delta update.
    package internal(set) var canSkipUntilSeconds: Double?
    /// CAN-BLOCK-RELOAD.
    package internal(set) var canBlockReload = false
    /// SKIPPED-SEGMENTS of EXT-X-SKIP: segments that a delta update leaves out at its start.
    package internal(set) var skipped: Int64 = 0
    /// The segments after the skipped ones.
    package internal(set) var segments: [Segment] = []
    package internal(set) var parts: [Part] = []
    /// True with EXT-X-ENDLIST.
    package internal(set) var hasEnded = false
    /// Start of the next segment by EXT-X-PROGRAM-DATE-TIME and the durations after it.
    var nextDateSeconds: Double?

    /// Number of the segment after the last listed one.
    package var nextNumber: Int64 { mediaSequence + skipped + Int64(segments.count) }

    /// True if it lists neither parts nor skipped segments.
    var isEmpty: Bool { parts.isEmpty && skipped == 0 }

    /// Maximum number of parts of a playlist.
    package static let maxParts = 20_000
    /// Limit of sequence numbers, far below an overflow in sums.
    static let maxNumber: Int64 = 1 << 53
}

extension HLSPlaylist {
    /// Parses a media playlist with what a player needs at the live edge. Delta updates are
    /// accepted.
    ///
    /// - Parameters:
    ///   - url: its final URL.
    ///   - imports: variables of the multivariant playlist.
    ///
    /// Throws as `parse` does.
    package static func parseLive(
        _ bytes: [UInt8], url: WebURL, imports: [String: String]? = nil
    ) throws(Failure) -> (playlist: HLSPlaylist, edge: HLSEdge) {
        var parser = HLSParser(
            bytes: bytes, url: url, named: nil,
            options: HLSParser.Options(imports: imports, takesSnapshots: true, readsEdge: true),
            mixtureOf: .media)
        try parser.checkForm(contentType: nil)
        let playlist = try parser.run()
        var edge = parser.edge
        edge.hasEnded = !playlist.isLive
        return (playlist, edge)
    }
}

/// Parses tags of the live edge.
extension HLSParser {
    /// Records a listed segment.
    ///
    /// - Parameter row: its index in the playlist's segments; -1 for a gap.
    mutating func takeEdgeSegment(row: Int, seconds: Double?) {
        guard options.readsEdge else { return }
        let seconds = seconds ?? edge.targetSeconds
        edge.segments.append(
            HLSEdge.Segment(row: row, seconds: seconds, dateSeconds: edge.nextDateSeconds))
        edge.nextDateSeconds = edge.nextDateSeconds.map { $0 + seconds }
    }

    /// Parses a tag; others are ignored.
    mutating func takeEdge(_ tag: String, _ value: Range<Int>) throws(Failure) {
        switch tag {
        case "#EXT-X-MEDIA-SEQUENCE":
            edge.mediaSequence = min(
                whole(ASCII.trimmed(bytes, value)) ?? 0, HLSEdge.maxNumber)
        case "#EXT-X-PROGRAM-DATE-TIME":
            let text = string(ASCII.trimmed(bytes, value))
            edge.nextDateSeconds = XMLTime.seconds(dateTime: Self.withColon(text))
        case "#EXT-X-PART-INF":
            let attributes = try attributes(value)
            edge.partTargetSeconds = seconds("PART-TARGET", in: attributes)
        case "#EXT-X-SERVER-CONTROL":
            let attributes = try attributes(value)
            edge.holdBackSeconds = seconds("HOLD-BACK", in: attributes)
            edge.partHoldBackSeconds = seconds("PART-HOLD-BACK", in: attributes)
            edge.canSkipUntilSeconds = seconds("CAN-SKIP-UNTIL", in: attributes)
            edge.canBlockReload = attributes.has("CAN-BLOCK-RELOAD", "YES")
        case "#EXT-X-SKIP":
            let skipped = try attributes(value)["SKIPPED-SEGMENTS"].flatMap { whole($0.value) }
            edge.skipped = min(skipped ?? 0, HLSEdge.maxNumber)
        case "#EXT-X-PART": try takePart(attributes(value))
        default: break
        }
    }

    private mutating func takePart(_ attributes: HLSAttributes) throws(Failure) {
        guard let uri = attributes["URI"] else { return }
        guard edge.parts.count < HLSEdge.maxParts else {
            throw failure(.manifestTooMany, "more than \(HLSEdge.maxParts) parts are listed")
        }
        let url = try reference(uri.value).url
        var range: SegmentRange?
        if let attribute = attributes["BYTERANGE"],
            let (length, offset) = try byteRange(attribute.value)
        {
            range = SegmentRange(offset: offset ?? follows(edge.parts.last, url), length: length)
        }
        let part = HLSEdge.Part(
            number: edge.nextNumber, url: url, range: range,
            seconds: seconds("DURATION", in: attributes) ?? edge.partTargetSeconds ?? 0,
            isIndependent: attributes.has("INDEPENDENT", "YES"),
            isGap: attributes.has("GAP", "YES"))
        edge.parts.append(part)
    }

    /// Returns the offset after the previous part of the same object, for a range without one.
    private func follows(_ part: HLSEdge.Part?, _ url: WebURL) -> Int64 {
        guard let part, part.url == url, let range = part.range, let length = range.length else {
            return 0
        }
        return range.offset + length
    }

    private func seconds(_ name: StaticString, in attributes: HLSAttributes) -> Double? {
        attributes[name].flatMap { decimal($0.value) }.flatMap { $0 <= 1e6 ? $0 : nil }
    }

    /// Writes a zone such as `+0000`, which packagers use, as `+00:00`.
    private static func withColon(_ text: String) -> String {
        let zone = text.utf8.suffix(5)
        guard text.utf8.count > 19, zone.first == UInt8(ascii: "+") || zone.first == ASCII.minus,
            zone.dropFirst().allSatisfy(ASCII.isDigit)
        else { return text }
        return "\(text.dropLast(2)):\(text.suffix(2))"
    }
}
