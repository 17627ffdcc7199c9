/// Changes between renditions and between pathways.
extension LiveViewer {
    /// Changes the rendition if the throughput requires it.
    mutating func choose() {
        guard settings.fixedBitsPerSecond == nil, title.video.count > 1, video.view != nil,
            let throughput = estimate.bitsPerSecond
        else { return }
        let sound = Double(title.audio?.source.bitsPerSecond ?? 0)
        let best = Self.highest(
            of: title, traits, within: throughput * settings.safety - sound)
        guard best != rung else { return }
        rung = best
        video.change(to: title.video[best], isDASH: title.source.form == .dash)
        screen.totals.switches += 1
    }

    static func highest(
        of title: LiveTitle, _ traits: ViewerTraits, within bitsPerSecond: Double
    ) -> Int {
        title.video.lastIndex {
            traits.plays($0.source.bitsPerSecond, height: $0.source.height, within: bitsPerSecond)
        } ?? 0
    }

    // MARK: Pathways

    mutating func endOldRequest(_ lane: ViewerLane) {
        self[lane].request = nil
        self[lane].failures = 0
        self[lane].oldUnit = nil
        self[lane].isOfOldPathway = false
    }

    package var throughput: Double? { estimate.bitsPerSecond }

    package func isLastTry(_ lane: ViewerLane) -> Bool {
        self[lane].request != nil && self[lane].failures >= Viewer.retrySeconds.count
    }

    package mutating func retry(_ lane: ViewerLane) {
        if self[lane].isOfOldPathway { endOldRequest(lane) }
        self[lane].failures = 0
        self[lane].resumesSeconds = nil
    }

    /// Continues on another pathway of HLS: numbers of segments are the same there.
    package mutating func change(to other: LiveTitle, failed: ViewerLane?) {
        let bits = video.track.source.bitsPerSecond
        title = other
        rung = other.video.lastIndex { $0.source.bitsPerSecond <= bits } ?? 0
        video.change(
            toPathway: other.video[rung], ends: failed == .video || video.resumesSeconds != nil)
        guard let sound = audio, let track = other.audio else { return }
        audio?.change(toPathway: track, ends: failed == .audio || sound.resumesSeconds != nil)
    }
}
