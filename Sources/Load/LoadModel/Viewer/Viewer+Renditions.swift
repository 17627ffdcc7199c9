/// Chooses a rendition before every segment, as hls.js does: the highest whose bit rate, with the
/// audio's, is at most `safety` of the estimated throughput; otherwise the lowest.
extension Viewer {
    /// Returns the first rendition.
    static func first(
        of title: MediaTitle, _ settings: ViewerSettings, _ traits: ViewerTraits
    ) -> Int {
        guard let most = settings.fixedBitsPerSecond ?? settings.startBitsPerSecond else {
            return 0
        }
        return highest(of: title, traits, within: Double(most))
    }

    /// Changes the rendition if the throughput requires it.
    mutating func choose() {
        guard settings.fixedBitsPerSecond == nil, title.video.count > 1,
            let throughput = estimate.bitsPerSecond
        else { return }
        let audio = Double(title.audio?.bitsPerSecond ?? 0)
        let best = Self.highest(of: title, traits, within: throughput * settings.safety - audio)
        guard best != track else { return }
        let segments = title.video[best].segments
        if segments.count != title.video[track].segments.count {
            guard place(in: segments, after: video.bufferedToSeconds) != nil else { return }
            video = placed(video, in: segments)
        }
        track = best
        video.readyPart = nil
        screen.totals.switches += 1
    }

    private static func highest(
        of title: MediaTitle, _ traits: ViewerTraits, within bitsPerSecond: Double
    ) -> Int {
        title.video.lastIndex {
            traits.plays($0.bitsPerSecond, height: $0.height, within: bitsPerSecond)
        } ?? 0
    }

    /// Returns a track's progress at the segment of another rendition that follows the buffer, or at
    /// its end.
    func placed(_ progress: Progress, in segments: [MediaTitle.Segment]) -> Progress {
        var progress = progress
        let next = place(in: segments, after: progress.bufferedToSeconds)
        progress.segment = next?.segment ?? segments.count
        if let next { progress.cursorSeconds = next.startSeconds }
        return progress
    }

    /// Returns the segment that follows a time; nil after the last one.
    private func place(
        in segments: [MediaTitle.Segment], after seconds: Double
    ) -> (segment: Int, startSeconds: Double)? {
        var start = passStartSeconds
        for (index, segment) in segments.enumerated() {
            let end = start + segment.seconds
            if end > seconds + Self.toleranceSeconds { return (index, start) }
            start = end
        }
        return nil
    }
}
