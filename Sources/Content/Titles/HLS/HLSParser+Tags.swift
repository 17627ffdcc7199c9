import Model
import Text
import WebURL

/// Parses single tags.
extension HLSParser {
    /// Parses an EXTINF tag.
    mutating func takeDuration(_ text: Range<Int>) throws(Failure) {
        next.isAnnounced = true
        guard try decide(.media) else { return }
        next.seconds = decimal(ASCII.trimmed(bytes, text))
        if next.seconds == nil {
            try note(.hlsDuration) { "EXTINF has no duration" }
            next.seconds = later.targetSeconds
        } else if next.seconds ?? 0 > 1e9 {
            try note(.hlsDuration) { "EXTINF is longer than 10^9 seconds" }
            next.seconds = later.targetSeconds
        }
    }

    mutating func takeVariant(_ value: Range<Int>) throws(Failure) {
        if let variant = next.variant {
            try note(.hlsVariantURI, line: variant.line) {
                "no URI follows EXT-X-STREAM-INF"
            }
        }
        next.variant = (line, track(try attributes(value)))
    }

    mutating func takeMap(_ attributes: HLSAttributes) throws(Failure) {
        var range: SegmentRange?
        if let attribute = attributes["BYTERANGE"],
            let (length, offset) = try byteRange(attribute.value)
        {
            range = SegmentRange(offset: offset ?? 0, length: length)
        }
        try add(required("URI", in: attributes), .`init`, range)
    }

    /// Returns the URI of a tag that names a track; nil if the tag has none and is ignored.
    mutating func trackURI(
        _ attributes: HLSAttributes, _ tag: String
    ) throws(Failure) -> Range<Int>? {
        guard attributes["URI"] == nil, !findings.isStrict else {
            return try required("URI", in: attributes)
        }
        try note(.hlsRequiredURI) { "\(tag) has no URI" }
        return nil
    }

    mutating func attributes(_ range: Range<Int>) throws(Failure) -> HLSAttributes {
        let attributes: HLSAttributes
        do throws(HLSAttributes.Malformed) {
            attributes = try HLSAttributes(bytes, range)
        } catch {
            throw failure(.manifestMalformed, error.what)
        }
        if let name = attributes.repeated {
            try note(.hlsAttribute) { "the attribute \(Redaction.shown(name)) occurs twice" }
        }
        return attributes
    }

    private func required(
        _ name: StaticString, in attributes: HLSAttributes
    ) throws(Failure) -> Range<Int> {
        guard let attribute = attributes[name] else {
            throw failure(.manifestMalformed, "a tag has no \(name)")
        }
        return attribute.value
    }

    mutating func takeMedia(_ attributes: HLSAttributes) throws(Failure) {
        guard let uri = attributes["URI"] else { return }
        let isText = attributes.has("TYPE", "SUBTITLES")
        let kind: Rendition.Kind? =
            isText ? .subtitles : attributes.has("TYPE", "AUDIO") ? .audio : nil
        var track = track(attributes, kind: kind ?? .video)
        track.group = attributes["GROUP-ID"].map { "\(track.kind.rawValue):\(string($0.value))" }
        track.isDefault = attributes.has("DEFAULT", "YES")
        try addChild(uri.value, isText ? .subtitles : .media, track)
    }

    mutating func takeKey(_ attributes: HLSAttributes) throws(Failure) {
        if attributes.has("METHOD", "NONE") {
            later.isClear = true
            return
        }
        guard attributes["METHOD"] != nil else {
            throw failure(.manifestMalformed, "a key has no METHOD")
        }
        if attributes["KEYFORMAT"] != nil, !attributes.has("KEYFORMAT", "identity") { return }
        later.isClear = false
        try add(required("URI", in: attributes), .key)
    }

    /// Parses `length` or `length@offset`, decimal; nil for any other text.
    mutating func byteRange(
        _ value: Range<Int>
    ) throws(Failure) -> (length: Int64, offset: Int64?)? {
        let text = ASCII.trimmed(bytes, value)
        let at = text.first { bytes[$0] == ASCII.at }
        if let length = whole(text.lowerBound..<(at ?? text.upperBound)), length > 0 {
            guard let at else { return (length, nil) }
            if let offset = whole((at + 1)..<text.upperBound) { return (length, offset) }
        }
        try note(.hlsRange) { "EXT-X-BYTERANGE is not length or length@offset" }
        return nil
    }

    /// Parses EXT-X-CONTENT-STEERING. What only a player follows is no failure of the playlist.
    mutating func takeSteering(_ value: Range<Int>) {
        do throws(Failure) {
            let attributes = try attributes(value)
            var steering = ContentSteering()
            steering.serverURL = try reference(required("SERVER-URI", in: attributes)).url.text
            steering.first = attributes["PATHWAY-ID"].map { [string($0.value)] } ?? []
            playlist.steering = .success(steering)
        } catch {
            playlist.steering = .failure(
                ContentSteering.failure("\(bases.url.url)", "SERVER-URI: \(error.message)"))
        }
    }
}
