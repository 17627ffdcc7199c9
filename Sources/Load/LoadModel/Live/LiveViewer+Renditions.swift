/// Changes between renditions and between pathways.
extension LiveViewer {
    /// Changes the rendition if the throughput requires it.
    mutating func choose() {
        guard video.view != nil,
            let best = traits.best(
                of: title.source.video, audio: title.source.audio, settings, estimate),
            best != rung
        else { return }
        rung = best
        video.change(to: title.video[best], isDASH: title.source.form == .dash)
        screen.totals.switches += 1
    }

    // MARK: Pathways

    mutating func endOldRequest(_ lane: ViewerLane) {
        self[lane].request = nil
        self[lane].tries = RequestTries()
        self[lane].oldUnit = nil
        self[lane].isOfOldPathway = false
    }

    package var throughput: Double? { estimate.bitsPerSecond }

    package func isLastTry(_ lane: ViewerLane) -> Bool {
        self[lane].request != nil && self[lane].tries.isLast
    }

    package mutating func retry(_ lane: ViewerLane) {
        if self[lane].isOfOldPathway { endOldRequest(lane) }
        self[lane].tries = RequestTries()
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
