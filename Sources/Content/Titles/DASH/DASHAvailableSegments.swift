import Model

/// The segments of a live MPD that are available at a moment.
struct DASHAvailableSegments {
    /// The available part of a period, in nanoseconds from its start; nil if unknown.
    struct Extent {
        var begin: Int64?
        var end: Int64?
        var isEmpty = true
    }

    /// The available part of each period.
    private(set) var periods: [Extent]
    /// For each representation, true if it has segments.
    private(set) var tracks: [Bool] = []

    init(_ manifest: DASHManifest) throws(Failure) {
        periods = Array(repeating: Extent(), count: manifest.periods.count)
        try manifest.forEachTrack { (track) throws(Failure) in try measure(track, of: manifest) }
    }

    private mutating func measure(
        _ track: DASHManifest.Track, of manifest: DASHManifest
    ) throws(Failure) {
        let addressing = track.representation.addressing
        let length = track.span.isOpen ? nil : track.span.length
        var begin: Int64?
        var end: Int64?
        switch addressing.kind {
        case .template:
            try manifest.timeline(of: track).forEachRun { run in
                begin = begin ?? Self.nanoseconds(run.time, addressing)
                let last = run.time + run.duration * run.count
                end = run.duration > 0 ? Self.nanoseconds(last, addressing) : length
                return true
            }
        case .list where addressing.timeline?.isEmpty == false:
            (begin, end) = Self.times(ofList: addressing)
        case .list:
            begin = 0
            end = addressing.duration.map { duration in
                Int64(
                    clamping: Int128(duration) * Int128(addressing.list.count) * 1_000_000_000
                        / Int128(addressing.timescale))
            }
        case .none, .base: (begin, end) = (0, length)
        }
        tracks.append(begin != nil)
        guard let begin else { return }
        let known = periods[track.period]
        periods[track.period] = Extent(
            begin: min(known.begin ?? begin, begin),
            end: end.map { min(max(known.end ?? $0, $0), length ?? .max) } ?? known.end,
            isEmpty: false)
    }

    /// Returns the start of the first segment of a list with a timeline, and the end of the last
    /// one. Timeline entries apply to segments in order, the last entry to all remaining ones
    /// (5.3.9.3, 5.3.9.6).
    private static func times(
        ofList addressing: DASHManifest.Addressing
    ) -> (begin: Int64, end: Int64) {
        let entries = addressing.timeline ?? DASHManifest.Timeline()
        var left = Int128(addressing.list.count)
        var begin: Int64?
        var time: Int128 = 0
        for (index, entry) in entries.enumerated() where left > 0 {
            if entry.time >= 0 { time = Int128(entry.time) }
            begin = begin ?? Int64(clamping: time)
            let isLast = index == entries.count - 1
            let count = isLast || entry.repeats < 0 ? left : min(left, Int128(entry.repeats) + 1)
            time += count * Int128(entry.duration)
            left -= count
        }
        return (
            nanoseconds(begin ?? 0, addressing), nanoseconds(Int64(clamping: time), addressing)
        )
    }

    /// Converts a media time to nanoseconds from its period's start.
    private static func nanoseconds(
        _ time: Int64, _ addressing: DASHManifest.Addressing
    ) -> Int64 {
        let units = Int128(time) - Int128(addressing.presentationTimeOffset)
        return Int64(clamping: units * 1_000_000_000 / Int128(addressing.timescale))
    }

    /// Returns the time removed at the start of a period; 0 except for the first one left.
    func shift(ofPeriod index: Int) -> Int64 {
        guard index == periods.firstIndex(where: { !$0.isEmpty }) else { return 0 }
        return max(0, periods[index].begin ?? 0)
    }

    /// Returns the same in units of a timescale, rounded.
    func shift(ofPeriod index: Int, timescale: Int64) -> Int128 {
        let units = Int128(shift(ofPeriod: index)) * Int128(timescale)
        return (units + 500_000_000) / 1_000_000_000
    }
}
