import Model

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
        MarkupEditor.liveAttributes
        + ["type", "start", "duration", "timescale", "presentationTimeOffset"]

    let manifest: DASHManifest
    private var editor: MarkupEditor
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
        self.manifest = manifest
        editor = MarkupEditor(bytes, Self.names, attributes: Self.attributes)
        available = try DASHAvailableSegments(manifest)
        let periods = editor.all("Period")
        let tracks = editor.all("Representation")
        guard periods.count == available.periods.count, tracks.count == available.tracks.count,
            let last = available.periods.lastIndex(where: { !$0.isEmpty })
        else {
            throw available.tracks.contains(true)
                ? unsupported("has ignored parts")
                : manifest.withoutSegments
        }
        try writePeriods(periods, last: last)
        try writeTracks(tracks)
        for index in elements.indices
        where elements[index].name.hasPrefix("UTC") || elements[index].name.hasPrefix("Leap")
            || elements[index].name == "SegmentTemplate"
        {
            editor.remove(index)
        }
    }

    private var elements: MarkupScanner { editor.elements }

    /// Returns the converted MPD. Throws `manifest.tooLarge`.
    func body() throws(Failure) -> [UInt8] {
        try editor.edits.applied(to: editor.bytes, of: manifest.url)
    }

    private func unsupported(_ what: String) -> Failure {
        manifest.failure(
            .manifestUnsupported, "a live MPD that \(what) cannot be captured")
    }

    // MARK: Periods

    private mutating func writePeriods(_ indexes: [Int], last: Int) throws(Failure) {
        let spans = try manifest.spans()
        // Wide enough for any written value; a later parse rejects values that are too large.
        var zero: Int128?
        var total: Int128?
        for (number, index) in indexes.enumerated() {
            guard !available.periods[number].isEmpty else {
                editor.remove(index)
                continue
            }
            let shift = Int128(available.shift(ofPeriod: number))
            let begin = zero ?? Int128(spans[number].start) + shift
            zero = begin
            let start = max(0, Int128(spans[number].start) - begin)
            editor.set(index, "start", XMLDuration.text(nanoseconds: start))
            editor.remove(index, "duration")
            if shift > 0 { moveEvents(ofPeriod: number, index) }
            if number == last {
                total = available.periods[number].end.map { start + Int128($0) - shift }
            }
        }
        guard let total, total > 0 else { throw unsupported("does not specify its length") }
        guard let root = elements.firstIndex(where: { $0.name == "MPD" }) else { return }
        editor.makeStatic(root, duration: XMLDuration.text(nanoseconds: total))
    }

    /// Moves events with the media.
    private mutating func moveEvents(ofPeriod number: Int, _ period: Int) {
        for index in elements.indices
        where elements[index].name == "EventStream" && elements[index].parent == period {
            let timescale = max(1, editor.number(index, "timescale") ?? 1)
            let offset = Int128(editor.number(index, "presentationTimeOffset") ?? 0)
            let moved = offset + available.shift(ofPeriod: number, timescale: timescale)
            editor.set(index, "presentationTimeOffset", "\(moved)")
        }
    }

    // MARK: Templates

    private mutating func writeTracks(_ indexes: [Int]) throws(Failure) {
        var left: [Int: Int] = [:]
        for (number, index) in indexes.enumerated() {
            left[elements[index].parent, default: 0] += available.tracks[number] ? 1 : 0
            if !available.tracks[number] { editor.remove(index) }
        }
        for (index, count) in left where count == 0 { editor.remove(index) }
        try moveLists(indexes)
        let shared = try setsOfOneTemplate(indexes)
        var finished: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            guard available.tracks[track.index], track.representation.addressing.kind == .template
            else {
                return
            }
            // Check the size so far before more is written.
            try editor.edits.check(upTo: 0, of: manifest.url)
            let index = indexes[track.index]
            let parent = elements[index].parent
            let isShared = shared.contains(parent)
            if isShared, !finished.insert(parent).inserted { return }
            let text = try template(of: track, editor.prefix(of: index))
            if isShared {
                editor.insert(text, before: index)
            } else {
                editor.insert(text, into: index)
            }
        }
    }

    /// Lists and their timelines stay unchanged, except for an offset if the first period is cut.
    private mutating func moveLists(_ indexes: [Int]) throws(Failure) {
        var lists: [Int: Int] = [:]
        for index in elements.indices where elements[index].name == "SegmentList" {
            lists[elements[index].parent] = index
        }
        var moved: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            let addressing = track.representation.addressing
            guard addressing.kind == .list, available.shift(ofPeriod: track.period) > 0 else {
                return
            }
            // An attribute above several representations applies to all of them.
            var holder = indexes[track.index]
            while holder >= 0, lists[holder] == nil { holder = elements[holder].parent }
            guard holder >= 0, let list = lists[holder], moved.insert(list).inserted else { return }
            let offset =
                Int128(addressing.presentationTimeOffset)
                + available.shift(ofPeriod: track.period, timescale: addressing.timescale)
            editor.set(list, "presentationTimeOffset", "\(offset)")
        }
    }

    /// Returns the sets whose tracks have equal addressing: a day of a live title may have a
    /// megabyte of segments.
    private func setsOfOneTemplate(_ indexes: [Int]) throws(Failure) -> Set<Int> {
        var first: [Int: DASHManifest.Addressing] = [:]
        var others: Set<Int> = []
        try manifest.forEachTrack { track in
            guard available.tracks[track.index] else { return }
            let set = elements[indexes[track.index]].parent
            let addressing = track.representation.addressing
            if addressing.kind != .template || addressing != first[set] ?? addressing {
                others.insert(set)
            }
            first[set] = first[set] ?? addressing
        }
        return Set(first.keys).subtracting(others)
    }
}
