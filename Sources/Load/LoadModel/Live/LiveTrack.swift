/// The newest segments of a live track, as a loop knows them from all answers so far.
///
/// All viewers of a loop share it, so an answer that another viewer has read before is not parsed
/// again. Confined to its loop.
package final class LiveTrack {
    struct Part {
        var object: Int32
        var seconds: Double
        var isIndependent: Bool
    }

    struct Segment {
        /// Start on the track's own timeline.
        var startSeconds: Double
        var seconds: Double
        /// -1 for a gap, and for a segment that is only known by its number.
        var object: Int32 = -1
        var parts: [Part] = []
        var needs: [Int32] = []
        /// False while only its parts are listed.
        var isWhole = true
    }

    /// Maximum number of segments that are kept; viewers start at the edge.
    static let maxSegments = 512
    /// Maximum number of segments that are taken of the first answer: the last ones.
    static let maxAtFirst = 128

    let source: LiveSource.Track
    let objects: LiveObjects
    /// Variables of the multivariant playlist; nil without one.
    let variables: [String: String]?
    /// Number of the first kept segment.
    private(set) var first: Int64 = 0
    private(set) var segments: [Segment] = []
    /// Seconds since 1970 of the start of its timeline: given by the manifest, or the earliest one
    /// by which its segments were listed when they ended.
    private(set) var epochSeconds: Double?
    /// True if the manifest specifies it.
    private var hasExactEpoch = false

    // State of `LiveTrack+HLS`.

    var recent = RecentAnswers<LiveView>()
    /// Initialization sections and keys by URL and range.
    var needObjects: [LiveNeed: Int32] = [:]
    /// Requests of blocking reloads, the last ones.
    var reloads: [(cursor: LiveCursor, skips: Bool, object: Int32)] = []

    init(
        _ source: LiveSource.Track, _ objects: LiveObjects, variables: [String: String]? = nil
    ) {
        self.source = source
        self.variables = variables
        self.objects = objects
    }

    var end: Int64 { first + Int64(segments.count) }
    var endSeconds: Double { segments.last.map { $0.startSeconds + $0.seconds } ?? 0 }

    subscript(number: Int64) -> Segment? {
        guard number >= first, number < end else { return nil }
        return segments[Int(number - first)]
    }

    // MARK: Adding

    /// Adds or completes a segment. Unknown numbers before it become segments without an object.
    ///
    /// One that is not kept loses its object.
    func put(_ number: Int64, _ segment: Segment, fillSeconds: Double) {
        if segments.isEmpty || number - end > Int64(Self.maxSegments) {
            for segment in segments { remove(segment) }
            segments = []
            first = number
        }
        guard number >= first else { return objects.remove(segment.object) }
        while end < number {
            segments.append(Segment(startSeconds: endSeconds, seconds: fillSeconds))
        }
        guard number < end else {
            var segment = segment
            if segment.startSeconds < 0 { segment.startSeconds = endSeconds }
            segments.append(segment)
            return trim()
        }
        let index = Int(number - first)
        guard !segments[index].isWhole, segment.isWhole else {
            return objects.remove(segment.object)
        }
        segments[index].seconds = segment.seconds
        segments[index].object = segment.object
        segments[index].needs = segment.needs
        segments[index].isWhole = true
    }

    /// Adds the next part of a segment; any other part loses its object.
    func put(part: Part, index: Int, of number: Int64, needs: [Int32]) {
        if segments.isEmpty { first = number }
        if number == end {
            segments.append(
                Segment(startSeconds: endSeconds, seconds: 0, needs: needs, isWhole: false))
            trim()
        }
        let position = Int(number - first)
        guard segments.indices.contains(position), segments[position].parts.count == index else {
            return objects.remove(part.object)
        }
        segments[position].parts.append(part)
        if !segments[position].isWhole { segments[position].seconds += part.seconds }
    }

    private func trim() {
        guard segments.count > 2 * Self.maxSegments else { return }
        for segment in segments.prefix(Self.maxSegments) { remove(segment) }
        segments.removeFirst(Self.maxSegments)
        first += Int64(Self.maxSegments)
    }

    private func remove(_ segment: Segment) {
        objects.remove(segment.object)
        for part in segment.parts { objects.remove(part.object) }
    }

    /// Sets the start of its timeline, in seconds since 1970.
    ///
    /// - Parameter isExact: false for an estimate: a segment ended at the latest when it was
    ///   listed. The earliest estimate counts.
    func setEpoch(_ seconds: Double, isExact: Bool) {
        if isExact {
            (epochSeconds, hasExactEpoch) = (seconds, true)
        } else if !hasExactEpoch {
            epochSeconds = min(epochSeconds ?? seconds, seconds)
        }
    }

    // MARK: Playing

    /// Returns the position to start at: the last one that is at least the hold-back from the edge.
    ///
    /// - Parameter edgeSeconds: the live edge on the track's timeline; nil for the end of the list.
    func start(_ view: LiveView, edgeSeconds: Double?) -> LiveCursor? {
        let last = view.nextParts > 0 ? view.numbers.upperBound : view.numbers.upperBound - 1
        guard let newest = self[last] else { return nil }
        var edge = newest.startSeconds + newest.seconds
        if view.nextParts > 0 {
            edge = newest.startSeconds
            for part in newest.parts.prefix(view.nextParts) { edge += part.seconds }
        }
        let wanted = (edgeSeconds ?? edge) - view.holdBackSeconds + Viewer.toleranceSeconds
        var number = last
        let lowest = max(view.numbers.lowerBound, first)
        while number >= lowest, let segment = self[number] {
            if segment.startSeconds <= wanted || number == lowest {
                return LiveCursor(
                    number: number, part: part(of: segment, number, before: wanted, view))
            }
            number -= 1
        }
        return nil
    }

    /// Returns the last independent part that starts before a time.
    private func part(
        of segment: Segment, _ number: Int64, before wanted: Double, _ view: LiveView
    ) -> Int {
        guard view.partTargetSeconds > 0, number >= view.firstWithParts else { return 0 }
        let count = number == view.numbers.upperBound ? view.nextParts : segment.parts.count
        var start = segment.startSeconds
        var best = 0
        for (index, part) in segment.parts.prefix(count).enumerated() {
            if part.isIndependent, start <= wanted { best = index }
            start += part.seconds
        }
        return best
    }

    /// Returns the start of a position on the timeline.
    func startSeconds(_ cursor: LiveCursor) -> Double? {
        guard let segment = self[cursor.number] else { return nil }
        return segment.parts.prefix(cursor.part).reduce(segment.startSeconds) { $0 + $1.seconds }
    }

    /// Returns the segment or part at a position; nil if it is not listed yet.
    func unit(_ cursor: LiveCursor, _ view: LiveView) -> LiveUnit? {
        guard let segment = self[cursor.number] else { return nil }
        let following = LiveCursor(number: cursor.number + 1)
        if cursor.number < view.numbers.upperBound {
            guard segment.isWhole else { return nil }
            let listed = cursor.number >= view.firstWithParts ? segment.parts.count : 0
            guard cursor.part > 0, listed > 0 else {
                // Parts that are no longer listed: the rest comes with the whole segment.
                let past = segment.parts.prefix(cursor.part).reduce(0) { $0 + $1.seconds }
                return LiveUnit(
                    object: segment.object, seconds: max(segment.seconds - past, 0),
                    needs: segment.needs, next: following)
            }
            guard cursor.part < listed else { return unit(following, view) }
            return unit(ofPart: cursor, segment)
        }
        guard cursor.number == view.numbers.upperBound, cursor.part < view.nextParts else {
            return nil
        }
        return unit(ofPart: cursor, segment)
    }

    private func unit(ofPart cursor: LiveCursor, _ segment: Segment) -> LiveUnit? {
        guard cursor.part < segment.parts.count else { return nil }
        let part = segment.parts[cursor.part]
        return LiveUnit(
            object: part.object, seconds: part.seconds, needs: segment.needs,
            next: LiveCursor(number: cursor.number, part: cursor.part + 1))
    }
}

/// The last bodies that were read, by their hash, with what was found in them.
struct RecentAnswers<Found> {
    private static var most: Int { 16 }

    private var entries: [(hash: Int, found: Found)] = []
    private var oldest = 0

    /// Returns the hash of a body, keyed by the process.
    static func hash(_ body: [UInt8]) -> Int {
        var hasher = Hasher()
        body.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    func find(_ hash: Int) -> Found? { entries.first { $0.hash == hash }?.found }

    mutating func insert(_ hash: Int, _ found: Found) {
        if entries.count < Self.most {
            entries.append((hash, found))
        } else {
            entries[oldest] = (hash, found)
            oldest = (oldest + 1) % Self.most
        }
    }
}
