import Model

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
    /// The first tag that says which kind of playlist this is.
    private var kindIsKnown = false
    /// The line of the EXT-X-STREAM-INF whose URI is still to come.
    private var pendingStream: Int?
    private var pendingTrack: Rendition?
    private var pendingGap = false
    private var hasEnded = false
    var takesSnapshots = false
    /// The line of the first URI that no EXT-X-STREAM-INF announced.
    private var firstSegmentLine: Int?
    /// EXTINF of the segment that is still to come.
    private var pendingSeconds: Double?
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
        rendition: HLSPlaylist.Rendition
    ) {
        self.bytes = bytes
        base = ReferenceBase(url)
        namingBase = named.flatMap { $0 == url ? nil : ReferenceBase($0) }
        self.imports = imports
        self.rendition = rendition
    }

    func failure(_ code: FailureCode, _ what: String, line: Int? = nil) -> Failure {
        let place = (line ?? self.line) > 0 ? " line \(line ?? self.line)" : ""
        return Failure(code, "\(base.url)\(place): \(what)")
    }

    /// Refuses what is no playlist at all.
    func checkForm(contentType: String?) throws(Failure) {
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
            } || contentType?.lowercased().hasPrefix("text/html") ?? false
        if isHTML {
            throw failure("manifest.html", "an HTML page came where a playlist was wanted")
        }
        let head = bytes[rest.prefix(2_048)]
        if bytes[start] == ASCII.less, head.split(separator: ASCII.less).contains(where: isMPD) {
            throw failure(
                "manifest.unsupported", "this is a DASH manifest (MPD), the list says HLS")
        }
        throw failure("manifest.malformed", "a playlist starts with #EXTM3U", line: 1)
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
            if let firstSegmentLine {
                throw failure(
                    "manifest.malformed",
                    "a URI without EXT-X-STREAM-INF stands in a multivariant playlist",
                    line: firstSegmentLine)
            }
            if playlist.children.isEmpty {
                throw failure("manifest.empty", "the playlist names no variant")
            }
        case .media:
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
        return playlist
    }

    // MARK: Lines

    private mutating func takeURI(_ text: Range<Int>) throws(Failure) {
        if pendingStream != nil {
            var track = pendingTrack ?? Rendition(id: "", kind: .other)
            track.id = string(text)
            try addChild(text, .variant, track)
            pendingStream = nil
            return
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
        guard let offset else {
            throw failure(
                "manifest.malformed",
                "EXT-X-BYTERANGE has no offset, and no byte range of the same object comes before")
        }
        // Both are below 10^18.
        lastSegment = (text, offset + length)
        guard offset + length < 1_000_000_000_000_000_000 else {
            throw failure("manifest.malformed", "EXT-X-BYTERANGE ends beyond what a file can hold")
        }
        return SegmentRange(offset: offset, length: length)
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
        if ASCII.hasPrefix(bytes, text, "#EXTINF:") {
            try decide(.media)
            let value = ASCII.trimmed(bytes, (text.lowerBound + 8)..<text.upperBound)
            guard let seconds = decimal(value) else {
                throw failure("manifest.malformed", "EXTINF has no duration")
            }
            guard seconds <= 1e9 else {
                throw failure("manifest.malformed", "EXTINF is longer than 10^9 seconds")
            }
            pendingSeconds = seconds
            return
        }
        let colon = text.first { bytes[$0] == ASCII.colon } ?? text.upperBound
        let value = min(colon + 1, text.upperBound)..<text.upperBound
        switch String(decoding: bytes[text.lowerBound..<colon], as: UTF8.self) {
        case "#EXT-X-STREAM-INF":
            try decide(.multivariant)
            if let pendingStream {
                throw failure(
                    "manifest.malformed", "no URI follows EXT-X-STREAM-INF", line: pendingStream)
            }
            pendingTrack = track(try attributes(value))
            pendingStream = line
        case "#EXT-X-I-FRAME-STREAM-INF":
            try decide(.multivariant)
            let attributes = try attributes(value)
            try addChild(
                required("URI", in: attributes), .iFrames, track(attributes, isTrickMode: true))
        case "#EXT-X-IMAGE-STREAM-INF":
            try decide(.multivariant)
            let attributes = try attributes(value)
            try addChild(
                required("URI", in: attributes), .images, track(attributes, kind: .image))
        case "#EXT-X-MEDIA":
            try decide(.multivariant)
            try takeMedia(attributes(value))
        case "#EXT-X-SESSION-DATA":
            try decide(.multivariant)
            if let uri = try attributes(value)["URI"] { try add(uri.value, .data) }
        case "#EXT-X-SESSION-KEY":
            try decide(.multivariant)
            try takeKey(attributes(value))
        case "#EXT-X-KEY":
            try decide(.media)
            try takeKey(attributes(value))
        case "#EXT-X-MAP":
            try decide(.media)
            let attributes = try attributes(value)
            let range = try attributes["BYTERANGE"].map { (attribute) throws(Failure) in
                let (length, offset) = try byteRange(attribute.value)
                return SegmentRange(offset: offset ?? 0, length: length)
            }
            try add(required("URI", in: attributes), .`init`, range)
        case "#EXT-X-BYTERANGE":
            try decide(.media)
            pendingRange = try byteRange(value)
        case "#EXT-X-BITRATE":
            // It is for an estimate alone.
            kilobits = Int32(clamping: whole(ASCII.trimmed(bytes, value)) ?? 0)
        case "#EXT-X-DEFINE":
            try define(attributes(value))
        case "#EXT-X-GAP":
            try decide(.media)
            pendingGap = true
        case "#EXT-X-ENDLIST":
            try decide(.media)
            hasEnded = true
        case "#EXT-X-SKIP":
            throw failure(
                "manifest.unsupported", "a delta update (EXT-X-SKIP) is not the whole playlist")
        case "#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-DISCONTINUITY-SEQUENCE",
            "#EXT-X-PLAYLIST-TYPE", "#EXT-X-I-FRAMES-ONLY", "#EXT-X-DISCONTINUITY",
            "#EXT-X-PART-INF":
            try decide(.media)
        default:
            break
        }
    }

    /// Takes note that a tag belongs to one kind of playlist; RFC 8216 section 4.1 forbids a mix.
    private mutating func decide(_ kind: HLSPlaylist.Kind) throws(Failure) {
        if kindIsKnown {
            guard playlist.kind != kind else { return }
            throw failure(
                "manifest.malformed",
                "tags of a media playlist and of a multivariant playlist stand in one")
        }
        kindIsKnown = true
        playlist.kind = kind
        if kind == .multivariant, let object = playlist.segments.first {
            throw failure(
                "manifest.malformed",
                "a URI without EXT-X-STREAM-INF stands in a multivariant playlist",
                line: Int(object.reference.line))
        }
    }

    // MARK: Tags

    private func attributes(_ range: Range<Int>) throws(Failure) -> HLSAttributes {
        do throws(HLSAttributes.Malformed) {
            return try HLSAttributes(bytes, range)
        } catch {
            throw failure("manifest.malformed", error.what)
        }
    }

    private func required(
        _ name: StaticString, in attributes: HLSAttributes
    ) throws(Failure) -> Range<Int> {
        guard let attribute = attributes[name] else {
            throw failure("manifest.malformed", "a tag has no \(name)")
        }
        return attribute.value
    }

    private mutating func takeMedia(_ attributes: HLSAttributes) throws(Failure) {
        guard let uri = attributes["URI"] else { return }
        let isText = attributes.has("TYPE", "SUBTITLES")
        let kind: Rendition.Kind? =
            isText ? .subtitles : attributes.has("TYPE", "AUDIO") ? .audio : nil
        var track = track(attributes, kind: kind ?? .video)
        track.group = attributes["GROUP-ID"].map { "\(track.kind.rawValue):\(string($0.value))" }
        track.isDefault = attributes.has("DEFAULT", "YES")
        try addChild(uri.value, isText ? .subtitles : .media, track)
    }

    private mutating func takeKey(_ attributes: HLSAttributes) throws(Failure) {
        if attributes.has("METHOD", "NONE") {
            isClear = true
            return
        }
        guard attributes["METHOD"] != nil else {
            throw failure("manifest.malformed", "a key has no METHOD")
        }
        if attributes["KEYFORMAT"] != nil, !attributes.has("KEYFORMAT", "identity") { return }
        isClear = false
        try add(required("URI", in: attributes), .key)
    }

    /// `length` or `length@offset`, decimal.
    private func byteRange(
        _ value: Range<Int>
    ) throws(Failure) -> (length: Int64, offset: Int64?) {
        let text = ASCII.trimmed(bytes, value)
        let at = text.first { bytes[$0] == ASCII.at }
        if let length = whole(text.lowerBound..<(at ?? text.upperBound)), length > 0 {
            guard let at else { return (length, nil) }
            if let offset = whole((at + 1)..<text.upperBound) { return (length, offset) }
        }
        throw failure(
            "manifest.malformed", "EXT-X-BYTERANGE is not length or length@offset")
    }
}
