import Model
import Text
import WebURL

/// Cuts a live MPD into the pieces of the one that is stored in the end: around its periods, and
/// those of the periods that begin.
///
/// Templates are written out per representation, with an empty timeline. Base URLs of the MPD go
/// into its periods, and so do namespaces of a later one, because its root is not stored. Events of periods are removed, and so
/// is what belongs to live MPDs.
struct DASHRecordedMarkup {
    private static let names = [
        "MPD", "Period", "AdaptationSet", "Representation", "SegmentTemplate", "BaseURL",
        "EventStream", "UTCTiming", "LeapSecondInformation",
    ]
    private static let attributes =
        MarkupEditor.liveAttributes + ["type", "start", "duration"]

    private let manifest: DASHManifest
    private let begun: [DASHPassBuilder.Begun]
    /// The MPD with empty timelines, of the periods that begin, after an empty one.
    private let text: [UInt8]
    private let elements: MarkupScanner
    /// By representation of `text`, its track.
    private var tracks: [Int] = []
    /// Prefix of names of elements.
    private let prefix: String

    /// Converts a live MPD.
    ///
    /// - Parameters:
    ///   - bytes: the MPD in UTF-8.
    ///   - begun: periods that begin.
    ///   - isFirst: true for the reading whose root is stored.
    ///
    /// Throws `manifest.unsupported` and `.tooLarge`.
    init(
        _ bytes: [UInt8], _ manifest: DASHManifest, _ begun: [DASHPassBuilder.Begun],
        isFirst: Bool
    ) throws(Failure) {
        self.manifest = manifest
        self.begun = begun
        var editor = MarkupEditor(bytes, Self.names, attributes: Self.attributes)
        let periods = editor.all("Period")
        let representations = editor.all("Representation")
        guard let root = editor.all("MPD").first, periods.count == manifest.periods.count,
            representations.count == manifest.renditions.count
        else { throw Self.hasIgnoredParts(manifest) }
        editor.makeStatic(root, duration: "")
        prefix = editor.prefix(of: root)
        let empty = Array("<\(prefix)Period/>".utf8)
        if let first = periods.first {
            editor.insert(empty, before: first)
        } else {
            editor.insert(empty, into: root)
        }
        var wanted: [Bool] = []
        var first = 0
        for (number, period) in manifest.periods.enumerated() {
            let count = period.sets.reduce(0) { $0 + $1.representations.count }
            defer { first += count }
            guard let period = begun.first(where: { $0.index == number }) else { continue }
            editor.set(periods[number], "start", "")
            if !isFirst { editor.declareNamespaces(of: root, in: periods[number]) }
            editor.remove(periods[number], "duration")
            if let base = try Self.base(manifest, number) {
                let text = "<\(prefix)BaseURL>\(DASHLiveSnapshot.escaped(base))</\(prefix)BaseURL>"
                editor.insert(Array(text.utf8), into: periods[number], atStart: true)
            }
            for index in first..<(first + count) {
                let found = period.templates[index]
                wanted.append(found != nil)
                guard let found else { continue }
                tracks.append(found.track)
                let text = Self.template(found, prefix)
                editor.insert(text, into: representations[index])
            }
        }
        // After the insertions: what is inserted where something is removed comes first.
        let isNew = Set(begun.map { periods[$0.index] })
        for index in editor.elements.indices {
            let element = editor.elements[index]
            switch element.name {
            case "BaseURL" where element.parent == root || isNew.contains(element.parent),
                "SegmentTemplate", "EventStream", "UTCTiming", "LeapSecondInformation":
                editor.remove(index)
            case "Period" where !isNew.contains(index): editor.remove(index)
            default: break
            }
        }
        let plain = try editor.edits.applied(to: bytes, of: manifest.url)
        text =
            try DASHRewriter(
                plain, named: manifest.named, wanted: wanted, rules: manifest.keyRules
            ).body() ?? plain
        elements = MarkupScanner(
            text,
            [
                "MPD", "Period", "AdaptationSet", "Representation", "SegmentTemplate",
                "SegmentTimeline",
            ],
            attributes: [
                "mediaPresentationDuration", "start", "presentationTimeOffset", "startNumber",
            ])
        guard elements.count(where: { $0.name == "Representation" }) == tracks.count else {
            throw Self.hasIgnoredParts(manifest)
        }
    }

    private static func hasIgnoredParts(_ manifest: DASHManifest) -> Failure {
        manifest.failure(
            .manifestUnsupported, "a live MPD that has ignored parts cannot be recorded")
    }

    /// Returns the base of a period, by the title's URL; nil if it is the MPD's.
    private static func base(
        _ manifest: DASHManifest, _ number: Int
    ) throws(Failure) -> String? {
        let bases = [manifest.baseURLs.first, manifest.periods[number].baseURLs.first]
            .compactMap { $0 }
        guard !bases.isEmpty else { return nil }
        do throws(WebURLError) {
            var url = manifest.named
            for base in bases { url = try url.resolve(base.reference) }
            return url.text
        } catch {
            throw manifest.failure(
                error.rejection, "\(manifest.name(ofPeriod: number)): the BaseURL \(error.detail)")
        }
    }

    private static func template(
        _ track: DASHPassBuilder.Template, _ prefix: String
    ) -> [UInt8] {
        var text = "<\(prefix)SegmentTemplate timescale=\"\(track.timescale)\""
        text += " presentationTimeOffset=\"\""
        for (name, value) in track.attributes {
            text += " \(name)=\"\(DASHLiveSnapshot.escaped(value))\""
        }
        if track.isNumbered { text += " startNumber=\"\"" }
        text += "><\(prefix)SegmentTimeline></\(prefix)SegmentTimeline></\(prefix)SegmentTemplate>"
        return Array(text.utf8)
    }

    // MARK: Pieces

    /// The MPD around its periods.
    var root: [RecordedPiece] {
        var cutter = Cutter(text, from: 0)
        for index in elements.indices where elements[index].parent <= 0 {
            let element = elements[index]
            if element.name == "MPD" {
                cutter.cut(attribute: element.attribute("mediaPresentationDuration"), .duration)
            } else if element.name == "Period" {
                let isFirst = cutter.pieces.last?.value != .periods
                cutter.cut(element.bytes, isFirst ? .periods : nil, keeps: isFirst)
            }
        }
        return cutter.finished(at: text.count)
    }

    /// The periods that begin.
    var periods: [RecordedPeriod] {
        var number = 0
        // The first one stands for those of other readings.
        let periods = elements.indices.filter { elements[$0].name == "Period" }.dropFirst()
        return zip(begun, periods).map { begun, index in
            RecordedPeriod(
                number: begun.number, start: begun.start, prefix: prefix, tracks: begun.tracks,
                pieces: pieces(ofPeriod: index, &number))
        }
    }

    private func pieces(ofPeriod period: Int, _ number: inout Int) -> [RecordedPiece] {
        let whole = elements[period].bytes
        var cutter = Cutter(text, from: whole.lowerBound)
        var set = 0
        var setEnd: Int?
        var trackEnd: Int?
        func close(before start: Int) {
            if let end = trackEnd, end <= start {
                cutter.leaveTrack(end)
                trackEnd = nil
            }
            if let end = setEnd, end <= start {
                cutter.leaveSet(end)
                setEnd = nil
            }
        }
        for index in elements.indices where index >= period {
            let element = elements[index]
            guard element.bytes.lowerBound < whole.upperBound else { break }
            close(before: element.bytes.lowerBound)
            switch element.name {
            case "Period":
                cutter.cut(attribute: element.attribute("start"), .start)
            case "AdaptationSet":
                cutter.enter(element.bytes.lowerBound, set: set)
                set += 1
                setEnd = element.bytes.upperBound
            case "Representation":
                cutter.enter(element.bytes.lowerBound, track: tracks[number])
                number += 1
                trackEnd = element.bytes.upperBound
            case "SegmentTemplate":
                cutter.cut(attribute: element.attribute("presentationTimeOffset"), .offset)
                cutter.cut(attribute: element.attribute("startNumber"), .number)
            case "SegmentTimeline":
                let start = element.content.lowerBound
                cutter.cut(start..<start, .timeline)
            default: break
            }
        }
        close(before: whole.upperBound)
        return cutter.finished(at: whole.upperBound)
    }
}

/// Cuts a text at the positions of values.
private struct Cutter {
    private(set) var pieces: [RecordedPiece] = []
    private let text: [UInt8]
    private var index: Int
    private var set: Int?
    private var track: Int?

    init(_ text: [UInt8], from index: Int) {
        self.text = text
        self.index = index
    }

    /// Ends a piece at a range, which a value replaces.
    mutating func cut(_ range: Range<Int>, _ value: RecordedPiece.Value?, keeps: Bool = true) {
        let words = String(decoding: text[index..<max(index, range.lowerBound)], as: UTF8.self)
        if keeps, !words.isEmpty || value != nil {
            pieces.append(RecordedPiece(text: words, set: set, track: track, value: value))
        }
        index = range.upperBound
    }

    /// The same at the value of an attribute, if there is one.
    mutating func cut(attribute range: Range<Int>?, _ value: RecordedPiece.Value) {
        if let range { cut(range, value) }
    }

    mutating func enter(_ start: Int, set: Int) {
        cut(start..<start, nil)
        self.set = set
    }

    mutating func enter(_ start: Int, track: Int) {
        cut(start..<start, nil)
        self.track = track
    }

    mutating func leaveTrack(_ end: Int) {
        cut(end..<end, nil)
        track = nil
    }

    mutating func leaveSet(_ end: Int) {
        cut(end..<end, nil)
        set = nil
    }

    mutating func finished(at end: Int) -> [RecordedPiece] {
        cut(end..<end, nil)
        return pieces
    }
}
