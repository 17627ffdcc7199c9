import Model
import Text

/// The tracks of a multivariant playlist, with their locations in its bytes.
///
/// For a playlist that `HLSPlaylist.parse` has accepted, so it is well formed.
struct HLSTracks {
    struct Entry {
        var rendition: Rendition
        /// NAME of an alternative rendition or a variant; nil for none.
        var name: String?
        /// Whole lines of the tag and its URI.
        var bytes: Range<Int>
        /// Line numbers in the playlist, from 1.
        var lines: ClosedRange<Int32>
        /// Attributes that name groups, to be removed with their group.
        var groups: [(name: String, attribute: Range<Int>)] = []
    }

    /// Maximum number of tracks that are read; later ones stay unchanged.
    static let maximumEntries = 10_000

    private(set) var entries: [Entry] = []
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        var line: Int32 = 0
        /// Index in `entries` of the EXT-X-STREAM-INF whose URI has not come yet.
        var pending: Int?
        while start < bytes.count, entries.count < Self.maximumEntries || pending != nil {
            let end = bytes[start...].firstIndex(of: ASCII.lineFeed) ?? bytes.count
            line += 1
            let next = min(end + 1, bytes.count)
            let text = ASCII.trimmed(bytes, start..<end)
            if !text.isEmpty, bytes[text.lowerBound] != ASCII.hash, let index = pending {
                entries[index].bytes = entries[index].bytes.lowerBound..<next
                entries[index].rendition.id = String(decoding: bytes[text], as: UTF8.self)
                entries[index].lines = entries[index].lines.lowerBound...line
                pending = nil
            } else if let entry = tag(text, whole: start..<next, line: line) {
                if ASCII.hasPrefix(bytes, text, "#EXT-X-STREAM-INF") {
                    // A tag without a URI is not a track.
                    if let index = pending { entries.remove(at: index) }
                    pending = entries.count
                }
                entries.append(entry)
            }
            start = next
        }
    }

    private func tag(_ text: Range<Int>, whole: Range<Int>, line: Int32) -> Entry? {
        guard ASCII.hasPrefix(bytes, text, "#EXT-X-"),
            let colon = text.first(where: { bytes[$0] == ASCII.colon })
        else { return nil }
        var rendition = Rendition(id: "", kind: .other)
        let value = (colon + 1)..<text.upperBound
        guard let attributes = try? HLSAttributes(bytes, value) else { return nil }
        switch String(decoding: bytes[text.lowerBound..<colon], as: UTF8.self) {
        case "#EXT-X-STREAM-INF": rendition.kind = .video
        case "#EXT-X-I-FRAME-STREAM-INF":
            rendition.kind = .video
            rendition.isTrickMode = true
        case "#EXT-X-IMAGE-STREAM-INF": rendition.kind = .image
        case "#EXT-X-MEDIA":
            if attributes.has("TYPE", "AUDIO") {
                rendition.kind = .audio
            } else if attributes.has("TYPE", "SUBTITLES") {
                rendition.kind = .subtitles
            } else if attributes.has("TYPE", "VIDEO") {
                rendition.kind = .video
            } else {
                // Closed captions are part of the video.
                return nil
            }
        default: return nil
        }
        if let uri = self.text(attributes["URI"]) { rendition.id = uri }
        var entry = Entry(rendition: rendition, bytes: whole, lines: line...line)
        fill(&entry, attributes)
        return entry
    }

    private func fill(_ entry: inout Entry, _ attributes: HLSAttributes) {
        entry.rendition.bandwidth = number(attributes["BANDWIDTH"])
        if let size = text(attributes["RESOLUTION"]) {
            let numbers = size.split { $0 == "x" || $0 == "X" }.map {
                Self.number(Array($0.utf8)[...])
            }
            if numbers.count == 2 {
                (entry.rendition.width, entry.rendition.height) = (numbers[0], numbers[1])
            }
        }
        entry.rendition.codecs = text(attributes["CODECS"])
        entry.name = text(attributes["NAME"])
        guard entry.rendition.kind == .image || attributes["GROUP-ID"] == nil else {
            entry.rendition.language = text(attributes["LANGUAGE"])
            entry.rendition.group = text(attributes["GROUP-ID"]).map {
                "\(entry.rendition.kind.rawValue):\($0)"
            }
            return
        }
        for (name, kind) in Self.groupAttributes {
            guard let attribute = attributes[name], let group = text(attribute) else {
                continue
            }
            entry.rendition.groups.insert("\(kind):\(group)")
            entry.groups.append(
                ("\(kind):\(group)", attribute.name.lowerBound..<attribute.end))
        }
    }

    private static let groupAttributes: [(StaticString, String)] = [
        ("AUDIO", Rendition.Kind.audio.rawValue), ("VIDEO", Rendition.Kind.video.rawValue),
        ("SUBTITLES", Rendition.Kind.subtitles.rawValue),
    ]

    private func text(_ attribute: HLSAttributes.Attribute?) -> String? {
        attribute.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    private func number(_ attribute: HLSAttributes.Attribute?) -> Int64? {
        attribute.flatMap { Self.number(bytes[$0.value]) }
    }

    /// Parses up to 18 decimal digits, so that calculations do not overflow.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard (1...18).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    // MARK: Choosing

    /// The result of a selection for a playlist.
    struct Choice {
        /// Lines whose playlists are not selected.
        var droppedLines: Set<Int32> = []
        /// Removals from the playlist, in ascending order.
        var edits = ManifestEdits()
        /// Tracks that would be selected, but list a lost file.
        var leftOut: [LeftOutRendition] = []
    }

    /// - Parameter files: by line lost files that tracks list.
    func choice(
        _ selection: TrackSelection, without files: [Int32: LeftOutRendition] = [:],
        of losses: TitleLosses? = nil
    ) throws(Failure) -> Choice {
        var choice = Choice()
        let tracks = entries.map(\.rendition)
        let wanted: [Bool]
        if let losses, !files.isEmpty {
            (wanted, choice.leftOut) = try selection.wanted(
                tracks,
                without: entries.map { $0.lines.lazy.compactMap { files[$0] }.first }, of: losses,
                names: entries.map { $0.name ?? TrackSelection.text($0.rendition) })
        } else {
            wanted = try selection.wanted(tracks)
        }
        let groups = Set(zip(entries, wanted).compactMap { $1 ? $0.rendition.group : nil })
        let known = Set(entries.compactMap(\.rendition.group))
        for (entry, isWanted) in zip(entries, wanted) {
            guard isWanted else {
                choice.droppedLines.formUnion(entry.lines)
                choice.edits.append(ManifestEdit(entry.bytes))
                continue
            }
            // References to a removed group are removed.
            let ordered = entry.groups.sorted {
                $0.attribute.lowerBound < $1.attribute.lowerBound
            }
            for group in ordered
            where known.contains(group.name) && !groups.contains(group.name) {
                choice.edits.append(
                    ManifestEdit(withComma(group.attribute, choice.edits.lastRange)))
            }
        }
        return choice
    }

    /// Returns an attribute with the comma that separates it: the one before it, or the one after
    /// it for the first remaining attribute.
    private func withComma(_ attribute: Range<Int>, _ before: Range<Int>?) -> Range<Int> {
        let (start, end) = (attribute.lowerBound, attribute.upperBound)
        let isFirst = bytes[start - 1] != ASCII.comma || before?.upperBound == start
        if !isFirst { return (start - 1)..<end }
        return start..<(end < bytes.count && bytes[end] == ASCII.comma ? end + 1 : end)
    }
}
