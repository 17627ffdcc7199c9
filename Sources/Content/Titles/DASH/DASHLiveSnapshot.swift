import Model
import Text

/// Converts a live MPD to a `static` one with the segments available at a moment.
///
/// It begins with the first segment and ends with the last. Periods without segments are removed,
/// and so are tracks without segments in their period. Templates are written out with a timeline of
/// the available segments, per representation or once per set. Attributes for refreshing and for
/// clock synchronization are removed. Everything else stays as served; event streams keep their
/// times.
struct DASHLiveSnapshot {
    private static let names = [
        "MPD", "Period", "AdaptationSet", "Representation", "SegmentTemplate", "SegmentList",
        "EventStream",
        "UTCTiming", "LeapSecondInformation",
    ]
    private static let attributes =
        liveAttributes + ["type", "start", "duration", "timescale", "presentationTimeOffset"]
    /// Attributes of live MPDs only.
    private static let liveAttributes = [
        "mediaPresentationDuration", "minimumUpdatePeriod", "timeShiftBufferDepth",
        "suggestedPresentationDelay", "availabilityStartTime", "availabilityEndTime",
    ]

    private let bytes: [UInt8]
    let manifest: DASHManifest
    private let elements: MarkupScanner
    private var edits = ManifestEdits()
    /// Bytes of timelines so far.
    var written = 0
    let available: DASHAvailableSegments

    /// Converts a live MPD.
    ///
    /// - Parameters:
    ///   - bytes: an MPD in UTF-8.
    ///   - manifest: the snapshot parsed from it.
    ///
    /// Throws `manifest.empty` without segments, `.unsupported` and `.tooLarge`.
    init(_ bytes: [UInt8], _ manifest: DASHManifest) throws(Failure) {
        self.bytes = bytes
        self.manifest = manifest
        elements = MarkupScanner(bytes, Self.names, attributes: Self.attributes)
        available = try DASHAvailableSegments(manifest)
        let periods = elements.indices.filter { elements[$0].name == "Period" }
        let tracks = elements.indices.filter { elements[$0].name == "Representation" }
        guard periods.count == available.periods.count, tracks.count == available.tracks.count,
            let last = available.periods.lastIndex(where: { !$0.isEmpty })
        else {
            throw available.tracks.contains(true)
                ? unsupported("has ignored parts")
                : manifest.withoutSegments
        }
        try writePeriods(periods, last: last)
        try writeTracks(tracks)
        for element in elements
        where element.name.hasPrefix("UTC") || element.name.hasPrefix("Leap")
            || element.name == "SegmentTemplate"
        {
            edits.append(ManifestEdit(element.bytes))
        }
    }

    /// Returns the converted MPD. Throws `manifest.tooLarge`.
    func body() throws(Failure) -> [UInt8] { try edits.applied(to: bytes, of: manifest.url) }

    private func unsupported(_ what: String) -> Failure {
        manifest.failure(
            .manifestUnsupported, "a live MPD that \(what) cannot be captured")
    }

    // MARK: Periods

    private mutating func writePeriods(_ places: [Int], last: Int) throws(Failure) {
        let spans = try manifest.spans()
        // Wide enough for any written value; a later parse rejects values that are too large.
        var zero: Int128?
        var total: Int128?
        for (number, place) in places.enumerated() {
            guard !available.periods[number].isEmpty else {
                edits.append(ManifestEdit(elements[place].bytes))
                continue
            }
            let shift = Int128(available.shift(ofPeriod: number))
            let begin = zero ?? Int128(spans[number].start) + shift
            zero = begin
            let start = max(0, Int128(spans[number].start) - begin)
            set(place, "start", Self.duration(start))
            remove(place, "duration")
            if shift > 0 { moveEvents(ofPeriod: number, place) }
            if number == last {
                total = available.periods[number].end.map { start + Int128($0) - shift }
            }
        }
        guard let total, total > 0 else { throw unsupported("does not specify its length") }
        guard let root = elements.firstIndex(where: { $0.name == "MPD" }) else { return }
        for name in Self.liveAttributes { remove(root, name) }
        let length = Self.duration(total)
        if let type = elements[root].attribute("type"), type.upperBound < bytes.count {
            // The value has its own quotes.
            let quote = [bytes[type.upperBound]]
            let text = Array("static".utf8) + quote + Array(" mediaPresentationDuration=".utf8)
            edits.append(ManifestEdit(type, text + quote + Array(length.utf8)))
        }
    }

    /// Moves events with the media.
    private mutating func moveEvents(ofPeriod number: Int, _ period: Int) {
        for place in elements.indices
        where elements[place].name == "EventStream" && elements[place].parent == period {
            let timescale = max(1, value(place, "timescale") ?? 1)
            let offset = Int128(value(place, "presentationTimeOffset") ?? 0)
            let moved = offset + available.shift(ofPeriod: number, timescale: timescale)
            set(place, "presentationTimeOffset", "\(moved)")
        }
    }

    private static func duration(_ nanoseconds: Int128) -> String {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest > 0 else { return "PT\(seconds)S" }
        var digits = "\(1_000_000_000 + rest)".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "PT\(seconds).\(digits)S"
    }

    // MARK: Attributes

    private func value(_ place: Int, _ name: String) -> Int64? {
        elements[place].attribute(name).flatMap {
            Int64(String(decoding: bytes[$0], as: UTF8.self))
        }
    }

    private mutating func set(_ place: Int, _ name: String, _ value: String) {
        if let range = elements[place].attribute(name) {
            edits.append(ManifestEdit(range, Array(value.utf8)))
        } else {
            let end = elements[place].nameEnd
            edits.append(ManifestEdit(end..<end, Array(" \(name)=\"\(value)\"".utf8)))
        }
    }

    private mutating func remove(_ place: Int, _ name: String) {
        guard let value = elements[place].attribute(name) else { return }
        var start = value.lowerBound - 1
        // Back over the equals sign, blanks, and the name with its prefix.
        while start > 0, bytes[start - 1] <= ASCII.space || bytes[start - 1] == ASCII.equals {
            start -= 1
        }
        while start > 0, bytes[start - 1] > ASCII.space { start -= 1 }
        edits.append(ManifestEdit(start..<min(value.upperBound + 1, bytes.count)))
    }

    // MARK: Templates

    private mutating func writeTracks(_ places: [Int]) throws(Failure) {
        var left: [Int: Int] = [:]
        for (number, place) in places.enumerated() {
            left[elements[place].parent, default: 0] += available.tracks[number] ? 1 : 0
            if !available.tracks[number] { edits.append(ManifestEdit(elements[place].bytes)) }
        }
        for (place, count) in left where count == 0 {
            edits.append(ManifestEdit(elements[place].bytes))
        }
        try moveLists(places)
        let shared = try setsOfOneTemplate(places)
        var finished: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            guard available.tracks[track.place], track.representation.addressing.kind == .template
            else {
                return
            }
            // Check the size so far before more is written.
            try edits.check(upTo: 0, of: manifest.url)
            let element = elements[places[track.place]]
            let name = Array(bytes[(element.bytes.lowerBound + 1)..<element.nameEnd])
            let prefix = name.lastIndex(of: ASCII.colon).map { name[...$0] } ?? []
            let isShared = shared.contains(element.parent)
            if isShared, !finished.insert(element.parent).inserted { return }
            let text = try template(of: track, String(decoding: prefix, as: UTF8.self))
            if isShared {
                let start = element.bytes.lowerBound
                return edits.append(ManifestEdit(start..<start, text))
            }
            if element.content.lowerBound < element.bytes.upperBound {
                let end = element.content.upperBound
                edits.append(ManifestEdit(end..<end, text))
            } else {
                let end = element.bytes.upperBound
                let close = Array("</".utf8) + name + [0x3E]
                edits.append(ManifestEdit((end - 2)..<end, [0x3E] + text + close))
            }
        }
    }

    /// Lists and their timelines stay unchanged, except for an offset if the first period is cut.
    private mutating func moveLists(_ places: [Int]) throws(Failure) {
        var lists: [Int: Int] = [:]
        for place in elements.indices where elements[place].name == "SegmentList" {
            lists[elements[place].parent] = place
        }
        var moved: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            let addressing = track.representation.addressing
            guard addressing.kind == .list, available.shift(ofPeriod: track.period) > 0 else {
                return
            }
            // An attribute above several representations applies to all of them.
            var holder = places[track.place]
            while holder >= 0, lists[holder] == nil { holder = elements[holder].parent }
            guard holder >= 0, let list = lists[holder], moved.insert(list).inserted else { return }
            let offset =
                Int128(addressing.presentationTimeOffset)
                + available.shift(ofPeriod: track.period, timescale: addressing.timescale)
            set(list, "presentationTimeOffset", "\(offset)")
        }
    }

    /// Returns the sets whose tracks have equal addressing: a day of a live title may have a
    /// megabyte of segments.
    private func setsOfOneTemplate(_ places: [Int]) throws(Failure) -> Set<Int> {
        var first: [Int: DASHManifest.Addressing] = [:]
        var others: Set<Int> = []
        try manifest.forEachTrack { track in
            guard available.tracks[track.place] else { return }
            let set = elements[places[track.place]].parent
            let addressing = track.representation.addressing
            if addressing.kind != .template || addressing != first[set] ?? addressing {
                others.insert(set)
            }
            first[set] = first[set] ?? addressing
        }
        return Set(first.keys).subtracting(others)
    }
}
