package import Model

extension TrackSelection {
    /// Returns for each of `tracks` if it is selected.
    ///
    /// Missing attributes of a track do not exclude it. Throws `manifest.noTrack` if no variant is
    /// left, or none of several audio languages; the message lists the available ones.
    ///
    /// - Parameter lost: for each track true if it cannot be had; empty if all can.
    package func wanted(
        _ tracks: [Rendition], lacking lost: [Bool] = []
    ) throws(Failure) -> [Bool] {
        var wanted = tracks.map { fits($0) }
        for index in lost.indices where lost[index] { wanted[index] = false }
        let variants = tracks.indices.filter { tracks[$0].isVariant }
        var chosen = variants.filter { wanted[$0] }
        if chosen.isEmpty, !variants.isEmpty {
            throw Self.nothing("variant", variants.map { Self.text(tracks[$0]) })
        }
        // An audio-only variant, for slow connections, does not satisfy a selection of video.
        let pictures = variants.filter { Self.hasPictures(tracks[$0]) }
        if !pictures.isEmpty {
            chosen.removeAll { Self.isSoundAlone(tracks[$0]) }
            if chosen.isEmpty {
                throw Self.nothing("variant with pictures", pictures.map { Self.text(tracks[$0]) })
            }
        }
        if let preferred = preferredBitsPerSecond {
            let nearest = chosen.min { left, right in
                let (one, other) = (
                    tracks[left].bandwidth ?? 0, tracks[right].bandwidth ?? 0
                )
                return (abs(one - preferred), one, left) < (abs(other - preferred), other, right)
            }
            for index in variants where index != nearest { wanted[index] = false }
            chosen = nearest.map { [$0] } ?? []
        } else {
            chosen = variants.filter { wanted[$0] }
        }
        let groups = chosen.reduce(into: Set<String>()) { $0.formUnion(tracks[$1].groups) }
        let heights = chosen.compactMap { tracks[$0].height }
        for (index, track) in tracks.enumerated() where wanted[index] {
            if let group = track.group, !groups.contains(group) { wanted[index] = false }
            // Tracks for seeking should not be larger than the played video.
            if track.isTrickMode, heights.count == chosen.count, let most = heights.max(),
                let height = track.height, height > most
            {
                wanted[index] = false
            }
        }
        try checkSound(tracks, wanted, groups)
        return wanted
    }

    private func checkSound(
        _ tracks: [Rendition], _ wanted: [Bool], _ groups: Set<String>
    ) throws(Failure) {
        guard let audio, !audio.isEmpty else { return }
        let sound = tracks.indices.filter { index in
            tracks[index].kind == .audio && (tracks[index].group.map(groups.contains) ?? true)
        }
        guard !sound.isEmpty, !sound.contains(where: { wanted[$0] }) else { return }
        throw Self.nothing("audio", sound.map { Self.text(tracks[$0]) })
    }

    func fits(_ track: Rendition) -> Bool {
        switch track.kind {
        case .audio: return speaks(track, audio) && isOfCodecs(track)
        case .subtitles: return speaks(track, subtitles)
        case .video, .other: break
        case .image: return true
        }
        if let most = maximumHeight, let height = track.height, height > most {
            return false
        }
        if let most = maximumBitsPerSecond, let bits = track.bandwidth, bits > most {
            return false
        }
        return isOfCodecs(track)
    }

    private func speaks(_ track: Rendition, _ ranges: [String]?) -> Bool {
        guard let ranges else { return true }
        guard let language = track.language else { return !ranges.isEmpty }
        return ranges.contains { Self.matches(language, $0) }
    }

    /// Basic filtering of RFC 4647, section 3.3.1; ISO 639-1 and 639-2 codes of one language are
    /// equal.
    static func matches(_ language: String, _ range: String) -> Bool {
        if range == "*" { return true }
        let (language, range) = (LanguageCode.canonical(language), LanguageCode.canonical(range))
        return language == range || language.hasPrefix("\(range)-")
    }

    // MARK: Codecs

    /// Common names of codecs with the names in manifests.
    private static let families: [String: [String]] = [
        "h264": ["avc1", "avc3"], "avc": ["avc1", "avc3"],
        "h265": ["hvc1", "hev1", "dvh1", "dvhe"], "hevc": ["hvc1", "hev1", "dvh1", "dvhe"],
        "h266": ["vvc1", "vvi1"], "vvc": ["vvc1", "vvi1"],
        "av1": ["av01", "dav1"], "vp8": ["vp08", "vp8"], "vp9": ["vp09", "vp9"],
        "aac": ["mp4a"], "ac3": ["ac-3"], "ec3": ["ec-3"], "eac3": ["ec-3"], "ac4": ["ac-4"],
        "mp3": ["mp4a.40.34", "mp4a.6b", "mp4a.69"], "opus": ["opus"],
    ]
    private static let sound = [
        "mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "fLaC", "alac", "dts", "mhm", "mha",
        "vorbis", "iamf",
    ]
    private static let text = ["stpp", "wvtt", "tx3g"]

    /// Names that stand for several codecs.
    package static let codecNames = families.keys.sorted()

    /// Returns false for names that no manifest uses: by RFC 6381 a codec's name begins with four
    /// letters and digits.
    package static func isCodec(_ name: String) -> Bool {
        let name = name.lowercased()
        let first = name.prefix { $0 != "." }
        return families[name] != nil || first.utf8.count == 4
            || (sound + text + ["vp8", "vp9", "theora"]).contains {
                name.hasPrefix($0.lowercased())
            }
    }

    private enum Content { case picture, sound, text }

    private static func content(_ codec: some StringProtocol) -> Content {
        if sound.contains(where: { codec.lowercased().hasPrefix($0.lowercased()) }) {
            return .sound
        }
        return text.contains { codec.hasPrefix($0) } ? .text : .picture
    }

    /// Returns false if no attribute of the track shows video.
    private static func hasPictures(_ track: Rendition) -> Bool {
        track.height != nil || codecs(of: track).contains { content($0) == .picture }
    }

    /// Returns true if all attributes of the track show audio.
    private static func isSoundAlone(_ track: Rendition) -> Bool {
        let codecs = codecs(of: track)
        return track.height == nil && !codecs.isEmpty
            && codecs.allSatisfy { content($0) == .sound }
    }

    private static func codecs(of track: Rendition) -> [Substring] {
        (track.codecs ?? "").split { $0 == "," || $0 == " " }
    }

    private func isOfCodecs(_ track: Rendition) -> Bool {
        guard let codecs else { return true }
        let named = codecs.flatMap { Self.families[$0.lowercased()] ?? [$0] }
        let bounded = Set(named.map { Self.content($0) })
        return Self.codecs(of: track).allSatisfy { codec in
            guard bounded.contains(Self.content(codec)) else { return true }
            return named.contains { codec.lowercased().hasPrefix($0.lowercased()) }
        }
    }

    // MARK: Messages

    private static func nothing(_ kind: String, _ there: [String]) -> Failure {
        var shown: [String] = []
        for text in there where shown.count <= maxShown && !shown.contains(text) {
            shown.append(text)
        }
        let rest = shown.count > maxShown ? " and others" : ""
        return Failure(
            .manifestNoTrack,
            "no \(kind) matches the selection; available: "
                + shown.prefix(maxShown).joined(separator: "; ") + rest)
    }

    private static let maxShown = 12

    /// Returns a track's attributes for messages.
    static func text(_ track: Rendition) -> String {
        attributes(track) ?? "one without attributes"
    }

    /// Returns a track's attributes, such as `1280x720 2400 kbit/s avc1.64001f`; nil for none.
    static func attributes(_ track: Rendition) -> String? {
        var words: [String] = []
        if let language = track.language { words.append(String(language.prefix(35))) }
        if let height = track.height {
            words.append(track.width.map { "\($0)x\(height)" } ?? "\(height) lines")
        }
        if let bits = track.bandwidth { words.append("\(Rendition.kilobits(bits)) kbit/s") }
        if let codecs = track.codecs { words.append(String(codecs.prefix(60))) }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }
}
