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
        if title.video[best].segments.count != title.video[track].segments.count {
            guard let place = place(inTrack: best) else { return }
            video.segment = place.segment
            video.cursorSeconds = place.startSeconds
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

    /// Returns the segment of another rendition that follows the buffer; nil if that rendition has
    /// ended.
    private func place(inTrack track: Int) -> (segment: Int, startSeconds: Double)? {
        var start = passStartSeconds
        for (index, segment) in title.video[track].segments.enumerated() {
            let end = start + segment.seconds
            if end > video.bufferedToSeconds + Self.toleranceSeconds { return (index, start) }
            start = end
        }
        return nil
    }
}
