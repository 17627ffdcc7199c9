import Model
import Text
import WebURL

/// Parses a playlist in one pass over its lines.
struct HLSParser {
    let bytes: [UInt8]
    let bases: PlaylistBases
    let options: Options

    var playlist = HLSPlaylist(kind: .media)
    var line = 0
    private var decision: KindDecision
    /// Broken rules.
    var findings: ManifestFindings
    /// Tags that apply to the next URI.
    var next = NextURI()
    /// Tags that apply to all later segments.
    var later = LaterSegments()
    /// Tags and URIs that determine how the playlist ends.
    private var ending = Ending()
    /// URIs that byte ranges of one object share.
    var last = LastURIs()
    /// The live edge, if it is read.
    var edge = HLSEdge()

    /// The kind of the playlist, as its tags determine it.
    private struct KindDecision {
        /// True once a tag, or an earlier pass, has determined the kind.
        var isKnown: Bool
        /// True in a second pass, which ignores tags of the other kind.
        let isMixture: Bool
        /// True if it has tags of both kinds.
        var hasBoth = false
    }

    struct NextURI {
        /// EXT-X-STREAM-INF, with its line.
        var variant: (line: Int, track: Rendition)?
        /// EXTINF.
        var seconds: Double?
        /// True if an EXTINF announces the next URI.
        var isAnnounced = false
        /// EXT-X-GAP.
        var isGap = false
        /// EXT-X-BYTERANGE; without an offset it follows the last.
        var range: (length: Int64, offset: Int64?)?
    }

    struct LaterSegments {
        /// EXT-X-TARGETDURATION.
        var targetSeconds: Double?
        /// EXT-X-BITRATE; does not apply to byte ranges.
        var kilobits: Int32 = 0
        /// True if EXT-X-KEY with METHOD=NONE came after the last key.
        var isClear = false
    }

    /// Ranges of `bytes`.
    struct LastURIs {
        /// The last segment: its URI, and the end of its byte range.
        var segment: (uri: Range<Int>, end: Int64?)?
        /// The last added URI.
        var added: Range<Int>?
    }

    private struct Ending {
        /// EXT-X-ENDLIST.
        var hasEnded = false
        /// Line of an EXT-X-PLAYLIST-TYPE with VOD.
        var vodLine: Int?
        /// Line of the first URI without an EXT-X-STREAM-INF.
        var firstSegmentLine: Int?
    }

    init(
        bytes: [UInt8], url: WebURL, named: WebURL?, options: Options,
        mixtureOf kind: HLSPlaylist.Kind?
    ) {
        self.bytes = bytes
        bases = PlaylistBases(url, named: named)
        self.options = options
        findings = ManifestFindings(options.policy, of: url)
        decision = KindDecision(isKnown: kind != nil, isMixture: kind != nil)
        if let kind { playlist.kind = kind }
    }

    func failure(_ code: FailureCode, _ what: String, line: Int? = nil) -> Failure {
        Failure(code, at: Self.location(bases.url.url, line: line ?? self.line), what)
    }

    /// - Parameter line: from 1; 0 for none.
    private static func location(_ url: WebURL, line: Int) -> FailureLocation {
        .manifest("\(url)", line: line > 0 ? line : nil)
    }

    /// True if it has tags of both kinds.
    var hasBothKinds: Bool { decision.hasBoth }

    /// Records a broken rule at the current line.
    mutating func note(
        _ rule: ManifestRule, line: Int? = nil, _ what: () -> String
    ) throws(Failure) {
        let line = line ?? self.line
        let url = bases.url.url
        try findings.note(rule, line: line, what) {
            Failure(.manifestMalformed, at: Self.location(url, line: line), $0)
        }
    }

    /// Throws if the body is not a playlist at all.
    mutating func checkForm(contentType: String?) throws(Failure) {
        if bytes.count > HLSPlaylist.maximumBytes {
            throw failure(
                .manifestTooLarge, "a playlist has at most \(HLSPlaylist.maximumBytes) bytes")
        }
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        if ASCII.hasPrefix(bytes, start..<bytes.count, "#EXTM3U") { return }
        while start < bytes.count, bytes[start] <= ASCII.space { start += 1 }
        let rest = start..<bytes.count
        if rest.isEmpty { throw failure(.manifestEmpty, "the body is empty") }
        let isHTML =
            ["<!doctype html", "<html", "<head", "<body", "<script"].contains { prefix in
                ASCII.hasPrefixIgnoringCase(bytes, rest, prefix)
            }
        let hasTags = bytes[start] != ASCII.less && hasTagAmongFirst
        let isPage = contentType?.lowercased().hasPrefix("text/html") ?? false
        if isHTML || isPage && !hasTags {
            throw failure(.manifestHTML, "received an HTML page instead of a playlist")
        }
        let head = bytes[rest.prefix(2_048)]
        if bytes[start] == ASCII.less, head.split(separator: ASCII.less).contains(where: isMPD) {
            throw failure(
                .manifestUnsupported, "this is a DASH manifest (MPD), but the list specifies HLS")
        }
        let what = "a playlist starts with #EXTM3U"
        guard hasTags else { throw failure(.manifestMalformed, what, line: 1) }
        try note(.hlsHeader, line: 1) { what }
    }

    /// True if one of the first lines is a tag of playlists.
    private var hasTagAmongFirst: Bool {
        bytes.prefix(HLSPlaylist.lineBytes).split(separator: ASCII.lineFeed).contains { line in
            ["#EXTM3U", "#EXT-X-", "#EXTINF:"].contains {
                ASCII.hasPrefix(bytes, line.indices, $0)
            }
        }
    }

    /// The kind of a playlist with tags of both kinds: with a variant it is multivariant.
    var kindOfMixture: HLSPlaylist.Kind {
        var start = 0
        while start < bytes.count {
            let end = ASCII.index(of: ASCII.lineFeed, in: bytes, from: start)
            let text = ASCII.trimmed(bytes, start..<end)
            if ASCII.hasPrefix(bytes, text, "#EXT-X-STREAM-INF:") { return .multivariant }
            start = end + 1
        }
        return .media
    }

    private func isMPD(_ element: ArraySlice<UInt8>) -> Bool {
        ASCII.hasPrefix(bytes, element.indices, "MPD")
    }

    mutating func run() throws(Failure) -> HLSPlaylist {
        // Reserve the maximum to avoid large copies; unused capacity costs no memory.
        playlist.segments.reserve(min(bytes.count / 16, HLSPlaylist.maxSegmentsPerPlaylist))
        // Without an early exit, many bytes are compared at a time.
        let hasNUL = bytes.withUnsafeBufferPointer { $0.reduce(UInt8.max, min) } == 0
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < bytes.count {
            let end = ASCII.index(of: ASCII.lineFeed, in: bytes, from: start)
            line += 1
            if end - start > HLSPlaylist.lineBytes {
                throw failure(
                    .manifestMalformed, "a line is longer than \(HLSPlaylist.lineBytes) bytes")
            }
            let text = ASCII.trimmed(bytes, start..<end)
            if hasNUL, bytes[start..<end].contains(0) {
                throw failure(.manifestMalformed, "it contains a NUL character")
            }
            if !text.isEmpty {
                if bytes[text.lowerBound] != ASCII.hash {
                    try takeURI(text)
                } else if ASCII.hasPrefix(bytes, text, "#EXT") {
                    try takeTag(text)
                }
            }
            start = end + 1
        }
        return try finish()
    }

    private mutating func finish() throws(Failure) -> HLSPlaylist {
        if let variant = next.variant {
            throw failure(
                .manifestMalformed, "no URI follows EXT-X-STREAM-INF", line: variant.line)
        }
        line = 0
        switch playlist.kind {
        case .multivariant:
            if let line = ending.firstSegmentLine { throw strayURI(line: line) }
            if playlist.children.isEmpty {
                throw failure(.manifestEmpty, "the playlist names no variant")
            }
        case .media:
            if !ending.hasEnded, !findings.isStrict, ending.firstSegmentLine != nil,
                let line = ending.vodLine
            {
                ending.hasEnded = true
                try note(.hlsEnd, line: line) { "a playlist of type VOD has no EXT-X-ENDLIST" }
            }
            playlist.isLive =
                !ending.hasEnded && (ending.firstSegmentLine != nil || decision.isKnown)
            if playlist.isLive, !options.takesSnapshots {
                throw failure(
                    .manifestLive,
                    "the playlist has no EXT-X-ENDLIST: it is live, or it was cut short")
            }
            if ending.firstSegmentLine == nil, edge.isEmpty {
                throw failure(.manifestEmpty, "the playlist lists no segment")
            }
        }
        playlist.warnings = findings.warnings
        return playlist
    }

    private func strayURI(line: Int) -> Failure {
        failure(
            .manifestMalformed,
            "a multivariant playlist has a URI without EXT-X-STREAM-INF", line: line)
    }

    // MARK: Lines

    private mutating func takeURI(_ text: Range<Int>) throws(Failure) {
        if var track = next.variant?.track {
            track.id = string(text)
            try addChild(text, .variant, track)
            next.variant = nil
            next.isAnnounced = false
            return
        }
        let wasAnnounced = next.isAnnounced
        next.isAnnounced = false
        if playlist.kind == .multivariant, !findings.isStrict, !wasAnnounced {
            return try note(.hlsStrayURI) { "no EXT-X-STREAM-INF announces this URI" }
        }
        if ending.firstSegmentLine == nil { ending.firstSegmentLine = line }
        if playlist.kind == .multivariant { return }
        let range = try takeRange(text)
        let seconds = next.seconds
        next.seconds = nil
        if next.isGap {
            next.isGap = false
            playlist.gaps += 1
            takeEdgeSegment(row: -1, seconds: seconds)
            return
        }
        try add(
            text, options.rendition.segmentRole, range, seconds, range == nil ? later.kilobits : 0)
        takeEdgeSegment(row: playlist.segments.count - 1, seconds: seconds)
    }

    /// Returns the byte range of the segment with the URI `text`; nil for the whole object.
    private mutating func takeRange(_ text: Range<Int>) throws(Failure) -> SegmentRange? {
        guard let (length, given) = next.range else {
            last.segment = (text, nil)
            return nil
        }
        next.range = nil
        var offset = given
        if offset == nil, let segment = last.segment, let end = segment.end,
            isSame(segment.uri, text)
        {
            offset = end
        }
        if offset == nil {
            try note(.hlsRangeOffset) {
                "EXT-X-BYTERANGE has no offset, and no byte range of the same object comes before"
            }
        }
        let first = offset ?? 0
        // Both are below 10^18.
        last.segment = (text, first + length)
        guard first + length < 1_000_000_000_000_000_000 else {
            last.segment = (text, nil)
            try note(.hlsRange) { "EXT-X-BYTERANGE ends beyond the maximum file size" }
            return nil
        }
        return SegmentRange(offset: first, length: length)
    }

    private mutating func takeTag(_ text: Range<Int>) throws(Failure) {
        if ASCII.hasPrefix(bytes, text, "#EXTINF") {
            let end = text.lowerBound + 7
            let mark = end < text.upperBound ? bytes[end] : ASCII.colon
            if mark == ASCII.colon || mark == ASCII.comma || ASCII.isBlank(mark) {
                return try takeDuration(min(end + 1, text.upperBound)..<text.upperBound)
            }
        }
        let colon = text.first { bytes[$0] == ASCII.colon } ?? text.upperBound
        let value = min(colon + 1, text.upperBound)..<text.upperBound
        let tag = String(decoding: bytes[text.lowerBound..<colon], as: UTF8.self)
        if options.readsEdge { try takeEdge(tag, value) }
        switch tag {
        case "#EXT-X-STREAM-INF":
            guard try decide(.multivariant) else { return }
            try takeVariant(value)
        case "#EXT-X-I-FRAME-STREAM-INF":
            guard try decide(.multivariant) else { return }
            let attributes = try attributes(value)
            guard let uri = try trackURI(attributes, "EXT-X-I-FRAME-STREAM-INF") else { return }
            try addChild(uri, .iFrames, track(attributes, isTrickMode: true))
        case "#EXT-X-IMAGE-STREAM-INF":
            guard try decide(.multivariant) else { return }
            let attributes = try attributes(value)
            guard let uri = try trackURI(attributes, "EXT-X-IMAGE-STREAM-INF") else { return }
            try addChild(uri, .images, track(attributes, kind: .image))
        case "#EXT-X-MEDIA":
            guard try decide(.multivariant) else { return }
            try takeMedia(attributes(value))
        case "#EXT-X-SESSION-DATA":
            guard try decide(.multivariant) else { return }
            if let uri = try attributes(value)["URI"] { try add(uri.value, .data) }
        case "#EXT-X-SESSION-KEY":
            guard try decide(.multivariant) else { return }
            try takeKey(attributes(value))
        case "#EXT-X-CONTENT-STEERING":
            guard try decide(.multivariant) else { return }
            takeSteering(value)
        case "#EXT-X-KEY":
            guard try decide(.media) else { return }
            try takeKey(attributes(value))
        case "#EXT-X-MAP":
            guard try decide(.media) else { return }
            try takeMap(attributes(value))
        case "#EXT-X-BYTERANGE":
            guard try decide(.media) else { return }
            next.range = try byteRange(value)
        case "#EXT-X-BITRATE":
            // Used only for an estimate.
            later.kilobits = Int32(clamping: whole(ASCII.trimmed(bytes, value)) ?? 0)
        case "#EXT-X-DEFINE":
            try define(attributes(value))
        case "#EXT-X-GAP":
            guard try decide(.media) else { return }
            next.isGap = true
        case "#EXT-X-ENDLIST":
            guard try decide(.media) else { return }
            ending.hasEnded = true
        case "#EXT-X-SKIP":
            if options.readsEdge { return }
            throw failure(
                .manifestUnsupported, "a delta update (EXT-X-SKIP) is not the whole playlist")
        case "#EXT-X-TARGETDURATION":
            guard try decide(.media) else { return }
            later.targetSeconds = decimal(ASCII.trimmed(bytes, value)).flatMap {
                $0 <= 1e9 ? $0 : nil
            }
            edge.targetSeconds = later.targetSeconds ?? 0
        case "#EXT-X-PLAYLIST-TYPE":
            guard try decide(.media) else { return }
            if ASCII.equal(bytes, ASCII.trimmed(bytes, value), "VOD") { ending.vodLine = line }
        case "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-DISCONTINUITY-SEQUENCE", "#EXT-X-I-FRAMES-ONLY",
            "#EXT-X-DISCONTINUITY", "#EXT-X-PART-INF":
            _ = try decide(.media)
        default:
            break
        }
    }

    /// Records the kind of playlist of a tag; RFC 8216 section 4.1 forbids a mix. Returns false if
    /// the tag must be ignored.
    mutating func decide(_ kind: HLSPlaylist.Kind) throws(Failure) -> Bool {
        if decision.isKnown {
            if playlist.kind == kind { return true }
            decision.hasBoth = true
            let what = "it mixes tags of a media playlist and of a multivariant playlist"
            guard decision.isMixture else { throw failure(.manifestMalformed, what) }
            try note(.hlsMixedTags) { what }
            return false
        }
        decision.isKnown = true
        playlist.kind = kind
        if kind == .multivariant, let object = playlist.segments.first {
            decision.hasBoth = true
            throw strayURI(line: Int(object.reference.line))
        }
        return true
    }
}
