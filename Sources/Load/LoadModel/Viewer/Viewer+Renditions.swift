/// Changes of the rendition, which is chosen before every segment.
extension Viewer {
    /// Changes the rendition if the throughput requires it.
    mutating func choose() {
        let best = traits.best(of: title.video, audio: title.audio, settings, estimate)
        guard let best, best != track else { return }
        let segments = title.video[best].segments
        if segments.count != title.video[track].segments.count {
            guard index(in: segments, after: video.bufferedToSeconds) != nil else { return }
            video = placed(video, in: segments)
        }
        track = best
        video.readyPart = nil
        screen.totals.switches += 1
    }

    /// Returns a track's progress at the segment of another rendition that follows the buffer, or at
    /// its end.
    func placed(_ progress: Progress, in segments: [MediaTitle.Segment]) -> Progress {
        var progress = progress
        let next = index(in: segments, after: progress.bufferedToSeconds)
        progress.segment = next?.segment ?? segments.count
        if let next { progress.cursorSeconds = next.startSeconds }
        return progress
    }

    /// Returns the segment that follows a time; nil after the last one.
    private func index(
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
