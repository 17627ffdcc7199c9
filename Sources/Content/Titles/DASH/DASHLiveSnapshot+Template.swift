import Model

/// Writes the addressing of a representation as XML.
extension DASHLiveSnapshot {
    /// Returns a representation's complete addressing as an element.
    mutating func template(
        of track: DASHManifest.Track, _ prefix: String
    ) throws(Failure) -> [UInt8] {
        let addressing = track.representation.addressing
        let offset =
            Int128(addressing.presentationTimeOffset)
            + available.shift(ofPeriod: track.period, timescale: addressing.timescale)
        var text = "<\(prefix)SegmentTemplate timescale=\"\(addressing.timescale)\""
        text += " presentationTimeOffset=\"\(offset)\""
        for (name, value) in [
            ("media", addressing.media), ("index", addressing.index),
            ("initialization", addressing.initializationTemplate),
            ("bitstreamSwitching", addressing.bitstreamSwitchingTemplate),
        ] {
            if let value { text += " \(name)=\"\(Self.escaped(value))\"" }
        }
        let names = [addressing.media, addressing.index].compactMap { $0 }
        let timeline = try entries(
            of: track, prefix, isNumbered: names.contains { $0.contains("$Number") })
        text += timeline.attributes + ">"
        text += Self.element("Initialization", addressing.initialization, prefix)
        text += Self.element("RepresentationIndex", addressing.representationIndex, prefix)
        text += timeline.element
        text += Self.element("BitstreamSwitching", addressing.bitstreamSwitching, prefix)
        return Array("\(text)</\(prefix)SegmentTemplate>".utf8)
    }

    /// Returns the segments of a representation: a SegmentTimeline, and the number of the first
    /// one.
    private mutating func entries(
        of track: DASHManifest.Track, _ prefix: String, isNumbered: Bool
    ) throws(Failure) -> (attributes: String, element: String) {
        var attributes = ""
        var text = ""
        var number: Int64?
        try manifest.timeline(of: track).forEachRun { (run) throws(Failure) in
            if number == nil, isNumbered { attributes = " startNumber=\"\(run.number)\"" }
            guard run.duration > 0 else {
                if run.count > 1 { attributes += " endNumber=\"\(run.number + run.count - 1)\"" }
                return true
            }
            let start = text.utf8.count
            text += "<\(prefix)S t=\"\(run.time)\""
            if isNumbered, let number, number != run.number { text += " n=\"\(run.number)\"" }
            text += " d=\"\(run.duration)\""
            if run.count > 1 { text += " r=\"\(run.count - 1)\"" }
            if run.sequence > 1 { text += " k=\"\(run.sequence)\"" }
            text += "/>"
            number = run.number + run.count
            written += text.utf8.count - start
            guard written <= WireLimits.rewrittenManifestBytes else {
                throw manifest.failure(
                    .manifestTooLarge,
                    "the live timelines exceed "
                        + "\(WireLimits.rewrittenManifestBytes) bytes")
            }
            return true
        }
        guard !text.isEmpty else { return (attributes, "") }
        return (attributes, "<\(prefix)SegmentTimeline>\(text)</\(prefix)SegmentTimeline>")
    }

    private static func element(
        _ name: String, _ source: DASHManifest.Source?, _ prefix: String
    ) -> String {
        guard let source else { return "" }
        var text = "<\(prefix)\(name)"
        if let url = source.url { text += " sourceURL=\"\(escaped(url))\"" }
        if let range = source.range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            text += " range=\"\(range.offset)-\(last)\""
        }
        return text + "/>"
    }

    static func escaped(_ text: String) -> String {
        var out = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case "\"": out += "&quot;"
            default: out.unicodeScalars.append(character)
            }
        }
        return out
    }
}
