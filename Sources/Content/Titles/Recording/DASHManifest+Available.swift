import Model

/// The recorded part of an MPD.
extension DASHManifest {
    /// Returns why the segments of a representation cannot be recorded; nil if they can.
    func unrecordable(_ track: Track) -> String? {
        let addressing = track.representation.addressing
        switch addressing.kind {
        case .none, .base: return "is one file, of which byte ranges are played"
        case .list: return "lists its segments one by one (SegmentList)"
        case .template: break
        }
        let media = addressing.media ?? ""
        guard addressing.timescale <= RecordingCursor.MPD.maxTimescale else {
            return "has a timescale of more than 32 bits"
        }
        if addressing.timeline == nil, addressing.duration == nil {
            return "has neither a SegmentTimeline nor a duration"
        }
        let hasSequences = addressing.timeline?.contains { $0.sequence > 1 } ?? false
        if hasSequences || media.contains("$SubNumber") {
            return "has sequences of segments (S@k)"
        }
        guard media.contains("$Number") || media.contains("$Time") else {
            return "has one URL for all segments"
        }
        for source in [addressing.initialization, addressing.bitstreamSwitching] {
            if let source, source.url == nil || source.range != nil {
                return "has an initialization section that is a byte range"
            }
        }
        return nil
    }

    /// The failure of a title with more representations than a recording follows.
    var tooManyTracks: Failure {
        failure(
            .manifestTooMany,
            "the periods of the MPD have more than \(RecordingCursor.MPD.maxTracks) "
                + "representations to record, or their names and templates more than "
                + "\(RecordingCursor.MPD.maxTrackBytes) bytes")
    }

    /// Calls `body` with the segments of a template that are available, until it returns false.
    ///
    /// - Parameter isClockLost: true to leave out segments that the clock adds.
    func forEachAvailableRun(
        of track: Track, isClockLost: Bool, _ body: (DASHTimeline.Run) throws(Failure) -> Bool
    ) throws(Failure) {
        let addressing = track.representation.addressing
        guard addressing.kind == .template, !(isClockLost && addressing.growsByTime) else {
            return
        }
        let edge = ClockEdge(self, track)
        try timeline(of: track).forEachRun { (run) throws(Failure) in
            guard run.duration > 0 else { return true }
            var run = run
            if let edge { run.count = edge.available(of: run) }
            return run.count > 0 ? try body(run) : true
        }
    }

    /// Returns true if segments of periods that are over are not taken yet.
    func holdsBack() throws(Failure) -> Bool {
        var holdsBack = false
        try forEachTrack { (track) throws(Failure) in
            guard !holdsBack, !track.span.isOpen, unrecordable(track) == nil,
                let edge = ClockEdge(self, track)
            else { return }
            try timeline(of: track).forEachRun { run in
                if run.duration > 0, edge.available(of: run) < run.count { holdsBack = true }
                return !holdsBack
            }
        }
        return holdsBack
    }
}

/// The live edge of a representation whose segments the clock adds, in units of its timescale.
///
/// A segment counts once it has been available for its own duration: clocks differ, and packagers
/// are late. In a window of less than three segments it is half of what is left of the window, so
/// that it is listed for as long.
private struct ClockEdge {
    private let latest: Int128
    /// End of the period, if it is over.
    private let end: Int128?
    /// Time from which on nothing is available.
    private let last: Int128?
    private let depth: Int128?

    /// Nil if the clock adds nothing.
    init?(_ manifest: DASHManifest, _ track: DASHManifest.Track) {
        let addressing = track.representation.addressing
        guard manifest.isLive, addressing.growsByTime, let now = manifest.snapshotTime else {
            return nil
        }
        func units(_ nanoseconds: Int64) -> Int128 {
            Int128(nanoseconds) * Int128(addressing.timescale) / 1_000_000_000
        }
        let offset = Int128(addressing.presentationTimeOffset)
        let last = manifest.availabilityEnd.flatMap { end in
            manifest.availabilityStart.map { start in
                let since = min(max((end - start) * 1e9, 0), 9e18)
                return units(max(0, Int64(since) - track.span.start)) + offset
            }
        }
        let moment = units(now - min(now, track.span.start)) + offset
        latest = min(moment, last ?? moment)
        self.last = last
        end = track.span.isOpen ? nil : track.span.length.map { units($0) + offset }
        depth = manifest.timeShiftBufferDepth.map(units)
    }

    /// Returns the time for which segments are not taken although they are available.
    private func hold(of duration: Int128) -> Int128 {
        // Nothing can be fetched later.
        if let last, latest + duration >= last { return 0 }
        guard let depth else { return duration }
        return min(duration, max(0, depth - duration) / 2)
    }

    /// Returns the number of segments at the beginning of a run that are taken.
    func available(of run: DASHTimeline.Run) -> Int64 {
        let duration = Int128(run.duration)
        let moment = latest - hold(of: duration)
        // The last segment of a period may be shorter.
        if let end, moment >= end { return run.count }
        let count = (moment - Int128(run.time)) / duration
        return min(run.count, Int64(clamping: max(0, count)))
    }
}

extension DASHManifest.Addressing {
    /// The templates of its objects that are needed once, by their attributes.
    var once: [(name: String, template: String)] {
        let all = [
            ("initialization", initializationTemplate, initialization),
            ("bitstreamSwitching", bitstreamSwitchingTemplate, bitstreamSwitching),
        ]
        return all.compactMap { name, template, source in
            if let template { return (name, template) }
            // A template has two dollars for one.
            let parts = source?.url?.split(separator: "$", omittingEmptySubsequences: false)
            return parts.map { (name, $0.joined(separator: "$$")) }
        }
    }
}

extension DASHTimeline.Run {
    /// Returns the number of segments at its beginning that are recorded.
    ///
    /// - Parameter next: position of the first segment that is not, in the units of the run; nil
    ///   for a track without any.
    func known(below next: Int64?, isNumbered: Bool) -> Int64 {
        guard let next else { return 0 }
        if isNumbered {
            return Int64(clamping: min(max(Int128(next) - Int128(number), 0), Int128(count)))
        }
        // A time may be rounded in another way when it is listed again.
        let passed = Int128(next) - Int128(duration) / 2 - Int128(time)
        guard passed > 0 else { return 0 }
        let known = (passed + Int128(duration) - 1) / Int128(duration)
        return Int64(clamping: min(known, Int128(count)))
    }
}

/// Converts times of a representation to those of its track, which keeps the units with which it
/// began: a later reading may have another timescale or offset.
struct TrackUnits {
    private struct Units: Equatable {
        var timescale: Int64
        var offset: Int64
        /// In nanoseconds on the MPD's timeline.
        var start: Int64

        func time(_ time: Int64, from other: Units) -> Int64 {
            guard self != other else { return time }
            // Each product fits: timescales have 32 bits.
            let units = Self.rounded(
                (Int128(time) - Int128(other.offset)) * Int128(timescale),
                Int128(other.timescale))
            let moved = Self.rounded(
                (Int128(other.start) - Int128(start)) * Int128(timescale), 1_000_000_000)
            return Int64(clamping: units + moved + Int128(offset))
        }

        private static func rounded(_ value: Int128, _ divisor: Int128) -> Int128 {
            value < 0 ? -((divisor / 2 - value) / divisor) : (value + divisor / 2) / divisor
        }
    }

    private let listed: Units
    private let stored: Units

    init(
        _ track: DASHManifest.Track, _ recorded: RecordingCursor.MPD.Track,
        of period: RecordingCursor.MPD.Period
    ) {
        let addressing = track.representation.addressing
        listed = Units(
            timescale: addressing.timescale, offset: addressing.presentationTimeOffset,
            start: track.span.start)
        stored = Units(
            timescale: recorded.timescale, offset: recorded.offset, start: period.start)
    }

    /// Returns a stored time in the units of the reading.
    func listed(_ time: Int64) -> Int64 { listed.time(time, from: stored) }

    /// Returns the times of the first segment of a run as they are stored; nil beyond the limits of
    /// positions.
    func times(of run: DASHTimeline.Run) -> RecordedTimes? {
        let (end, isLate) = run.time.addingReportingOverflow(run.duration)
        guard !isLate else { return nil }
        let begin = stored.time(run.time, from: listed)
        let last = stored.time(end, from: listed)
        let positions = 0..<RecordingCursor.MPD.maxPosition
        guard positions.contains(begin), positions.contains(last), positions.contains(run.number)
        else { return nil }
        return RecordedTimes(time: begin, duration: max(last - begin, 1))
    }
}
