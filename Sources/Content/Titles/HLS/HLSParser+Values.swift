import Model
import Text
import WebURL

/// Parses values of attributes and tags.
extension HLSParser {
    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Parses a decimal-integer of up to 18 digits (RFC 8216, section 4.2); nil for any other text.
    func whole(_ range: Range<Int>) -> Int64? {
        guard (1...18).contains(range.count) else { return nil }
        var number: Int64 = 0
        for index in range {
            guard ASCII.isDigit(bytes[index]) else { return nil }
            number = number * 10 + Int64(bytes[index] - 0x30)
        }
        return number
    }

    /// Parses the decimal-floating-point at the start of `range`; nil without a digit.
    func decimal(_ range: Range<Int>) -> Double? {
        var number = 0.0
        var index = range.lowerBound
        while index < range.upperBound, ASCII.isDigit(bytes[index]) {
            number = number * 10 + Double(bytes[index] - 0x30)
            index += 1
        }
        guard index > range.lowerBound else { return nil }
        guard index < range.upperBound, bytes[index] == ASCII.dot else { return number }
        index += 1
        var fraction = 0.0
        var unit = 1.0
        // Further digits exceed the precision of a Double.
        while index < range.upperBound, ASCII.isDigit(bytes[index]), unit < 1e15 {
            fraction = fraction * 10 + Double(bytes[index] - 0x30)
            unit *= 10
            index += 1
        }
        return number + fraction / unit
    }

    /// Returns the attributes that a multivariant playlist's tag has for a playlist (4.3.4).
    func track(
        _ attributes: HLSAttributes, kind: Rendition.Kind? = nil, isTrickMode: Bool = false
    ) -> Rendition {
        var track = Rendition(
            id: attributes["URI"].map { string($0.value) } ?? "", kind: kind ?? .other,
            isTrickMode: isTrickMode)
        track.bandwidth = attributes["BANDWIDTH"].flatMap { whole($0.value) }
        track.averageBandwidth = attributes["AVERAGE-BANDWIDTH"].flatMap { whole($0.value) }
        track.codecs = attributes["CODECS"].map { string($0.value) }
        track.language = attributes["LANGUAGE"].map { string($0.value) }
        track.pathway = attributes["PATHWAY-ID"].map { string($0.value) }
        track.stableID = (attributes["STABLE-VARIANT-ID"] ?? attributes["STABLE-RENDITION-ID"])
            .map { string($0.value) }
        if let resolution = attributes["RESOLUTION"]?.value,
            let cross = resolution.first(where: { bytes[$0] | 0x20 == UInt8(ascii: "x") })
        {
            track.width = whole(resolution.lowerBound..<cross)
            track.height = whole((cross + 1)..<resolution.upperBound)
        }
        if kind == nil { track.kind = Self.kind(of: track) }
        if let group = attributes["AUDIO"] { track.groups = ["audio:\(string(group.value))"] }
        return track
    }

    /// Infers the kind of a variant without a resolution from its codecs.
    private static func kind(of track: Rendition) -> Rendition.Kind {
        if track.height != nil { return .video }
        guard let codecs = track.codecs else { return .other }
        let sounds = ["mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "fLaC", "alac", "mhm"]
        let isSound = codecs.split(separator: ",").allSatisfy { codec in
            let name = codec.drop { $0 == " " }
            return sounds.contains { name.hasPrefix($0) }
        }
        return isSound ? .audio : .video
    }

    func holdsVariable(_ text: Range<Int>) -> Bool {
        for index in text.dropLast()
        where bytes[index] == ASCII.openBrace && bytes[index + 1] == ASCII.dollar {
            return true
        }
        return false
    }

    func reference(_ text: Range<Int>) throws(Failure) -> ManifestReference {
        var source = bytes
        var range = text
        if holdsVariable(text) {
            source = try substitute(text)
            range = 0..<source.count
        }
        do throws(WebURLError) {
            let (url, named) = try bases.resolve(source, range)
            return ManifestReference(url: url, named: named, line: Int32(line))
        } catch {
            throw failure(
                error.rejection,
                "the URI \(error.detail), given \(Redaction.shown(source, range))")
        }
    }
}
