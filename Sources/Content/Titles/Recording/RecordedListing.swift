import Model
import Text
import WebURL

/// The segments that a live media playlist lists now, each with its tags, as the playlist at the
/// edge will have them.
struct RecordedListing: Sendable {
    struct Segment: Sendable {
        /// The EXT-X-KEY lines that apply to it.
        var keys: [String] = []
        /// The EXT-X-MAP line that applies to it; nil for none.
        var map: String?
        /// Its other tags, with line ends.
        var tags = ""
        var uri = ""
        var isGap = false
        var seconds = 0.0
        /// EXT-X-DISCONTINUITY tags of the list up to it.
        var discontinuities: Int64 = 0
        /// The same for the first segment after its EXT-X-MAP.
        var mapDiscontinuities: Int64 = 0
        /// Its object, or a byte range of one; nil for a gap.
        var object: ManifestSegment?
        var keyObject: ManifestSegment?
        var mapObject: ManifestSegment?
    }

    /// Tags that apply to the whole playlist, with line ends.
    private(set) var header = ""
    /// EXT-X-TARGETDURATION.
    private(set) var targetSeconds: Int64 = 0
    /// EXT-X-MEDIA-SEQUENCE.
    private(set) var sequence: Int64 = 0
    private(set) var segments: [Segment] = []

    /// Number of the segment after the last listed one.
    var next: Int64 { sequence + Int64(segments.count) }

    private var current = Segment()
    private var mapIsNew = false

    /// Limit of sequence numbers, far below an overflow in sums.
    private static let maxSequence: Int64 = 1 << 53
    /// Longest EXT-X-TARGETDURATION in seconds.
    private static let maxTargetSeconds: Int64 = 86_400
    /// Tags without a use in a recorded playlist, which has its own.
    private static let dropped: Set<String> = [
        "#EXTM3U", "#EXT-X-ENDLIST", "#EXT-X-PLAYLIST-TYPE", "#EXT-X-DISCONTINUITY-SEQUENCE",
        "#EXT-X-SERVER-CONTROL", "#EXT-X-ALLOW-CACHE", "#EXT-X-START", "#EXT-X-BITRATE",
        "#EXT-X-SKIP", "#EXT-X-BYTERANGE", "#EXT-X-PART", "#EXT-X-PART-INF", "#EXT-X-PRELOAD-HINT",
        "#EXT-X-RENDITION-REPORT",
    ]

    /// Parses a media playlist.
    ///
    /// - Parameters:
    ///   - text: the playlist as rewritten for the edge.
    ///   - playlist: the playlist as parsed at the origin.
    ///   - url: its URL, for failures.
    ///
    /// Throws `manifest.malformed`, also for a byte range whose offset in its object is unknown.
    init(_ text: [UInt8], of playlist: HLSPlaylist, at url: WebURL) throws(Failure) {
        let placeless = [ManifestRule.hlsRangeOffset, .hlsRange].map(\.rawValue)
        if let warning = playlist.warnings.first.first(where: { placeless.contains($0.rule) }) {
            throw Failure(
                .manifestMalformed, at: .manifest("\(url)", line: warning.line),
                "a byte range of the live playlist cannot be recorded: it is not length@offset, "
                    + "or it has no offset and follows no other range of its file")
        }
        for line in text.split(separator: ASCII.lineFeed) {
            let line = ASCII.trimmed(text, line.indices)
            guard !line.isEmpty else { continue }
            let words = String(decoding: text[line], as: UTF8.self)
            if text[line.lowerBound] == ASCII.hash {
                if words.hasPrefix("#EXT") { take(tag: words) }
            } else {
                take(uri: words)
            }
        }
        try assign(playlist.segments, url)
    }

    private mutating func take(tag line: String) {
        let name = String(line.prefix { $0 != ":" })
        let value = line.dropFirst(name.count + 1).drop { $0 == " " }
        switch name {
        case "#EXT-X-TARGETDURATION":
            // Not a number is none.
            let stated = Double(value).flatMap { $0 >= 0 ? $0 : nil } ?? 0
            targetSeconds = Int64(min(stated.rounded(.up), Double(Self.maxTargetSeconds)))
        case "#EXT-X-MEDIA-SEQUENCE":
            sequence = min(Int64(value).map { max($0, 0) } ?? 0, Self.maxSequence)
        case "#EXT-X-VERSION", "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-DEFINE",
            "#EXT-X-IMAGES-ONLY":
            header += line + "\n"
        case "#EXT-X-KEY": take(key: line)
        case "#EXT-X-MAP":
            current.map = Self.map(line)
            mapIsNew = true
        case "#EXT-X-GAP": current.isGap = true
        case "#EXT-X-DISCONTINUITY":
            current.discontinuities += 1
            current.tags += line + "\n"
        case "#EXTINF":
            let number = value.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            current.seconds = Double(number).map { min($0, 1e6) } ?? 0
            current.tags += line + "\n"
        default:
            if !Self.dropped.contains(name) { current.tags += line + "\n" }
        }
    }

    /// Replaces the key of the same format; METHOD=NONE replaces all.
    private mutating func take(key line: String) {
        func format(_ line: String) -> Substring {
            guard let start = line.firstRange(of: "KEYFORMAT=\"")?.upperBound else {
                return "identity"
            }
            return line[start...].prefix { $0 != "\"" }
        }
        let isNone = line.contains("METHOD=NONE")
        current.keys.removeAll {
            isNone || $0.contains("METHOD=NONE") || format($0) == format(line)
        }
        current.keys.append(line)
    }

    /// Returns the EXT-X-MAP line of the file that a byte range is stored as; others as they are.
    private static func map(_ line: String) -> String {
        let bytes = Array(line.utf8)
        let start = bytes.firstIndex(of: ASCII.colon).map { $0 + 1 } ?? bytes.count
        guard let attributes = try? HLSAttributes(bytes, start..<bytes.count),
            let uri = attributes["URI"], let range = attributes["BYTERANGE"]
        else { return line }
        let numbers = bytes[range.value].split(separator: ASCII.at).map {
            Int64(String(decoding: bytes[ASCII.trimmed(bytes, $0.indices)], as: UTF8.self))
        }
        guard let length = numbers.first ?? nil, let offset = numbers.dropFirst().first ?? 0
        else { return line }
        let name = RecordedName.marked(
            String(decoding: bytes[uri.value], as: UTF8.self), as: .uri, offset: offset,
            length: length)
        return "#EXT-X-MAP:URI=\"\(name)\""
    }

    private mutating func take(uri: String) {
        if mapIsNew { current.mapDiscontinuities = current.discontinuities }
        mapIsNew = false
        current.uri = uri
        segments.append(current)
        current.tags = ""
        current.isGap = false
        current.seconds = 0
    }

    /// Assigns the objects, which are in the same order.
    private mutating func assign(_ objects: ManifestSegments, _ url: WebURL) throws(Failure) {
        var objects = objects.makeIterator()
        var key: ManifestSegment?
        var map: ManifestSegment?
        for index in segments.indices where !segments[index].isGap {
            while let object = objects.next() {
                if object.role == .key {
                    key = object
                } else if object.role == .`init` {
                    map = object
                } else {
                    segments[index].object = object
                    break
                }
            }
            guard segments[index].object != nil else {
                throw Failure(
                    .manifestMalformed, at: .manifest("\(url)"),
                    "segments of the live playlist cannot be distinguished from its other lines")
            }
            segments[index].mapObject = segments[index].map == nil ? nil : map
            segments[index].keyObject = segments[index].keys.isEmpty ? nil : key
        }
    }
}
