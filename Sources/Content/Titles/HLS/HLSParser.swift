import Model
import Text
import WebURL

/// One reading of a playlist: a pass over its lines; a value that lives as long as the call.
struct HLSParser {
    let bytes: [UInt8]
    let base: ReferenceBase
    /// What keys are made against, when that is not `base`.
    let namingBase: ReferenceBase?
    let imports: [String: String]?
    let rendition: HLSPlaylist.Rendition

    var playlist = HLSPlaylist(kind: .media)
    var line = 0
    /// The first tag that says which kind of playlist this is, or whoever has read it before.
    private var kindIsKnown = false
    /// Tags of the other kind are ignored, because it was read before.
    private let isMixture: Bool
    /// Tags of both kinds stand in it.
    private(set) var hasBothKinds = false
    /// Rules that it breaks.
    var findings: ManifestFindings
    /// The line of the EXT-X-STREAM-INF whose URI is still to come.
    var pendingStream: Int?
    var pendingTrack: Rendition?
    private var pendingGap = false
    private var hasEnded = false
    var takesSnapshots = false
    /// The line of the first URI that no EXT-X-STREAM-INF announced.
    private var firstSegmentLine: Int?
    /// EXTINF of the segment that is still to come.
    var pendingSeconds: Double?
    /// An EXTINF announces the URI that is still to come.
    var isAnnounced = false
    /// EXT-X-TARGETDURATION.
    var targetSeconds: Double?
    /// EXT-X-PLAYLIST-TYPE is VOD, on this line.
    private var vodLine: Int?
    /// EXT-X-BITRATE, which is for all segments behind it that are no byte ranges.
    private var kilobits: Int32 = 0
    /// EXT-X-KEY with METHOD=NONE came after the last key.
    var isClear = false
    /// EXT-X-BYTERANGE of the segment that is still to come; without an offset it follows the last.
    private var pendingRange: (length: Int64, offset: Int64?)?
    /// The segment that was last, as its URI stands in `bytes`, and where its byte range ends.
    private var lastSegment: (uri: Range<Int>, end: Int64?)?
    /// The URI that was added last, as it stands in `bytes`: that of byte ranges of one object.
    var lastURI: Range<Int>?

    init(
        bytes: [UInt8], url: WebURL, named: WebURL?, imports: [String: String]?,
        rendition: HLSPlaylist.Rendition, policy: ManifestPolicy, mixtureOf kind: HLSPlaylist.Kind?
    ) {
        self.bytes = bytes
        base = ReferenceBase(url)
        namingBase = named.flatMap { $0 == url ? nil : ReferenceBase($0) }
        self.imports = imports
        self.rendition = rendition
        findings = ManifestFindings(policy, of: url)
        isMixture = kind != nil
        if let kind {
            kindIsKnown = true
            playlist.kind = kind
        }
    }

    func failure(_ code: FailureCode, _ what: String, line: Int? = nil) -> Failure {
        let place = (line ?? self.line) > 0 ? " line \(line ?? self.line)" : ""
        return Failure(code, "\(base.url)\(place): \(what)")
    }

    /// Takes note of a rule that is broken here.
    mutating func note(
        _ rule: ManifestRule, line: Int? = nil, _ what: () -> String
    ) throws(Failure) {
        let line = line ?? self.line
        let url = base.url
        try findings.note(rule, line: line, what) {
            Failure("manifest.malformed", "\(url)\(line > 0 ? " line \(line)" : ""): \($0)")
        }
    }

    /// Refuses what is no playlist at all.
    mutating func checkForm(contentType: String?) throws(Failure) {
        if bytes.count > HLSPlaylist.maximumBytes {
            throw failure(
                "manifest.tooLarge", "a playlist holds at most \(HLSPlaylist.maximumBytes) bytes")
        }
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        if ASCII.hasPrefix(bytes, start..<bytes.count, "#EXTM3U") { return }
        while start < bytes.count, bytes[start] <= ASCII.space { start += 1 }
        let rest = start..<bytes.count
        if rest.isEmpty { throw failure("manifest.empty", "the body is empty") }
        let isHTML =
            ["<!doctype html", "<html", "<head", "<body", "<script"].contains { prefix in
                ASCII.hasPrefixIgnoringCase(bytes, rest, prefix)
            }
        let hasTags = bytes[start] != ASCII.less && hasTagAmongFirst
        let isPage = contentType?.lowercased().hasPrefix("text/html") ?? false
        if isHTML || isPage && !hasTags {
            throw failure("manifest.html", "an HTML page came where a playlist was wanted")
        }
        let head = bytes[rest.prefix(2_048)]
        if bytes[start] == ASCII.less, head.split(separator: ASCII.less).contains(where: isMPD) {
            throw failure(
                "manifest.unsupported", "this is a DASH manifest (MPD), the list says HLS")
        }
        let what = "a playlist starts with #EXTM3U"
        guard hasTags else { throw failure("manifest.malformed", what, line: 1) }
        try note(.hlsHeader, line: 1) { what }
    }

    /// Whether a line among the first is a tag of playlists.
    private var hasTagAmongFirst: Bool {
        bytes.prefix(HLSPlaylist.lineBytes).split(separator: ASCII.lineFeed).contains { line in
            ["#EXTM3U", "#EXT-X-", "#EXTINF:"].contains {
                ASCII.hasPrefix(bytes, line.indices, $0)
            }
        }
    }

    /// What a playlist with tags of both kinds is: with a variant it is multivariant.
    var kindOfMixture: HLSPlaylist.Kind {
        var start = 0
        while start < bytes.count {
            let end = ASCII.place(of: ASCII.lineFeed, in: bytes, from: start)
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
        // As many as there can be, so that nothing large is copied; what is not used costs no memory.
        playlist.segments.reserve(min(bytes.count / 16, HLSPlaylist.maximumSegments))
        // Without an end in between, many bytes are looked at at a time.
        let hasNUL = bytes.withUnsafeBufferPointer { $0.reduce(UInt8.max, min) } == 0
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < bytes.count {
            let end = ASCII.place(of: ASCII.lineFeed, in: bytes, from: start)
            line += 1
            if end - start > HLSPlaylist.lineBytes {
                throw failure(
                    "manifest.malformed", "a line is longer than \(HLSPlaylist.lineBytes) bytes")
            }
            let text = ASCII.trimmed(bytes, start..<end)
            if hasNUL, bytes[start..<end].contains(0) {
                throw failure("manifest.malformed", "it holds a NUL character")
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
        if let pendingStream {
            throw failure(
                "manifest.malformed", "no URI follows EXT-X-STREAM-INF", line: pendingStream)
        }
        line = 0
        switch playlist.kind {
        case .multivariant:
            if let firstSegmentLine { throw strayURI(line: firstSegmentLine) }
            if playlist.children.isEmpty {
                throw failure("manifest.empty", "the playlist names no variant")
            }
        case .media:
            if !hasEnded, !findings.isStrict, firstSegmentLine != nil, let vodLine {
                hasEnded = true
                try note(.hlsEnd, line: vodLine) { "a playlist of type VOD has no EXT-X-ENDLIST" }
            }
            playlist.isLive = !hasEnded && (firstSegmentLine != nil || kindIsKnown)
            if playlist.isLive, !takesSnapshots {
                throw failure(
                    "manifest.live",
                    "the playlist has no EXT-X-ENDLIST: it is live, or it was cut short")
            }
            if firstSegmentLine == nil {
                throw failure("manifest.empty", "the playlist lists no segment")
            }
        }
        playlist.warnings = findings.warnings
        return playlist
    }

    private func strayURI(line: Int) -> Failure {
        failure(
            "manifest.malformed",
            "a URI without EXT-X-STREAM-INF stands in a multivariant playlist", line: line)
    }

    // MARK: Lines

    private mutating func takeURI(_ text: Range<Int>) throws(Failure) {
        if pendingStream != nil {
            var track = pendingTrack ?? Rendition(id: "", kind: .other)
            track.id = string(text)
            try addChild(text, .variant, track)
            pendingStream = nil
            isAnnounced = false
            return
        }
        let wasAnnounced = isAnnounced
        isAnnounced = false
        if playlist.kind == .multivariant, !findings.isStrict, !wasAnnounced {
            return try note(.hlsStrayURI) { "no EXT-X-STREAM-INF announces this URI" }
        }
        if firstSegmentLine == nil { firstSegmentLine = line }
        if playlist.kind == .multivariant { return }
        let range = try takeRange(text)
        let seconds = pendingSeconds
        pendingSeconds = nil
        if pendingGap {
            pendingGap = false
            playlist.gaps += 1
            return
        }
        try add(text, rendition.segmentRole, range, seconds, range == nil ? kilobits : 0)
    }

    /// The byte range of the segment whose URI is `text`; nil for all of its object.
    private mutating func takeRange(_ text: Range<Int>) throws(Failure) -> SegmentRange? {
        guard let (length, given) = pendingRange else {
            lastSegment = (text, nil)
            return nil
        }
        pendingRange = nil
        var offset = given
        if offset == nil, let lastSegment, let end = lastSegment.end,
            isSame(lastSegment.uri, text)
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
        lastSegment = (text, first + length)
        guard first + length < 1_000_000_000_000_000_000 else {
            lastSegment = (text, nil)
            try note(.hlsRange) { "EXT-X-BYTERANGE ends beyond what a file can hold" }
            return nil
        }
        return SegmentRange(offset: first, length: length)
    }

    func isSame(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        // From the end: names in a row begin alike.
        var place = left.count
        while place > 0 {
            place -= 1
            guard bytes[left.lowerBound + place] == bytes[right.lowerBound + place] else {
                return false
            }
        }
        return true
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
        switch String(decoding: bytes[text.lowerBound..<colon], as: UTF8.self) {
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
        case "#EXT-X-KEY":
            guard try decide(.media) else { return }
            try takeKey(attributes(value))
        case "#EXT-X-MAP":
            guard try decide(.media) else { return }
            try takeMap(attributes(value))
        case "#EXT-X-BYTERANGE":
            guard try decide(.media) else { return }
            pendingRange = try byteRange(value)
        case "#EXT-X-BITRATE":
            // It is for an estimate alone.
            kilobits = Int32(clamping: whole(ASCII.trimmed(bytes, value)) ?? 0)
        case "#EXT-X-DEFINE":
            try define(attributes(value))
        case "#EXT-X-GAP":
            guard try decide(.media) else { return }
            pendingGap = true
        case "#EXT-X-ENDLIST":
            guard try decide(.media) else { return }
            hasEnded = true
        case "#EXT-X-SKIP":
            throw failure(
                "manifest.unsupported", "a delta update (EXT-X-SKIP) is not the whole playlist")
        case "#EXT-X-TARGETDURATION":
            guard try decide(.media) else { return }
            targetSeconds = decimal(ASCII.trimmed(bytes, value)).flatMap { $0 <= 1e9 ? $0 : nil }
        case "#EXT-X-PLAYLIST-TYPE":
            guard try decide(.media) else { return }
            if ASCII.equal(bytes, ASCII.trimmed(bytes, value), "VOD") { vodLine = line }
        case "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-DISCONTINUITY-SEQUENCE", "#EXT-X-I-FRAMES-ONLY",
            "#EXT-X-DISCONTINUITY", "#EXT-X-PART-INF":
            _ = try decide(.media)
        default:
            break
        }
    }

    /// Takes note that a tag belongs to one kind of playlist; RFC 8216 section 4.1 forbids a mix. False where
    /// the tag is to be ignored.
    mutating func decide(_ kind: HLSPlaylist.Kind) throws(Failure) -> Bool {
        if kindIsKnown {
            if playlist.kind == kind { return true }
            hasBothKinds = true
            let what = "tags of a media playlist and of a multivariant playlist stand in one"
            guard isMixture else { throw failure("manifest.malformed", what) }
            try note(.hlsMixedTags) { what }
            return false
        }
        kindIsKnown = true
        playlist.kind = kind
        if kind == .multivariant, let object = playlist.segments.first {
            hasBothKinds = true
            throw strayURI(line: Int(object.reference.line))
        }
        return true
    }
}
