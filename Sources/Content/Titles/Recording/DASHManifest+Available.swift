import Model

/// What of an MPD is recorded.
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

    /// Calls `body` with the segments of a template that are available, until it returns false.
    ///
    /// A segment that the clock adds counts once it has been available for its own duration:
    /// clocks differ, and packagers are late.
    func forEachAvailableRun(
        of track: Track, _ body: (DASHTimeline.Run) throws(Failure) -> Bool
    ) throws(Failure) {
        let addressing = track.representation.addressing
        guard addressing.kind == .template else { return }
        var latest: Int128?
        if isLive, addressing.growsByTime, let now = snapshotTime {
            latest =
                Int128(now - min(now, track.span.start)) * Int128(addressing.timescale)
                / 1_000_000_000 + Int128(addressing.presentationTimeOffset)
        }
        try timeline(of: track).forEachRun { (run) throws(Failure) in
            guard run.duration > 0 else { return true }
            guard let latest else { return try body(run) }
            let duration = Int128(run.duration)
            var run = run
            let count = (latest - duration - Int128(run.time)) / duration
            run.count = min(run.count, Int64(clamping: max(0, count)))
            return run.count > 0 ? try body(run) : true
        }
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

extension RecordingCursor.MPD.Track {
    /// Returns the number of segments at the beginning of a run that are recorded.
    func known(of run: DASHTimeline.Run, isNumbered: Bool) -> Int64 {
        guard let next else { return 0 }
        if isNumbered { return min(max(next - run.number, 0), run.count) }
        // A time may be rounded in another way when it is listed again.
        let duration = Int128(run.duration)
        let passed = Int128(next) - duration / 2 - Int128(run.time)
        guard passed > 0 else { return 0 }
        return Int64(clamping: min((passed + duration - 1) / duration, Int128(run.count)))
    }
}
