package import Model
package import WebURL

/// A dynamic MPD as a player at the live edge needs it (ISO/IEC 23009-1, 5.3.9.5.3 and Annex A).
///
/// Times of segments are seconds on the presentation's timeline, which begins at
/// `availabilityStartSeconds`.
package struct DASHEdge: Sendable {
    package struct Segment: Sendable {
        package var startSeconds: Double
        package var seconds: Double
        package var url: WebURL
        package var range: SegmentRange?
    }

    /// The available segments of a representation in one period.
    package struct Track: Sendable {
        package var rendition: Rendition
        package var period: Int
        /// Initialization sections and indexes.
        package var setup: [ManifestSegment] = []
        package var segments: [Segment] = []
        /// The BaseURLs above; nil if none has a service location.
        package var locations: BaseURLLevels?
        /// Forms of the references to `setup` and to `segments`, with the BaseURLs above.
        package var setupForm = ReferenceForm.relative
        package var segmentForm = ReferenceForm.relative
    }

    /// Segments that ended longer ago are not listed: players start at the edge.
    private static let maxDepthSeconds: Int64 = 600

    private var manifest: DASHManifest

    /// Parses an MPD of type `dynamic`, or of type `static`: one that has ended.
    ///
    /// Throws as `DASHManifest.parse` does.
    package init(_ bytes: [UInt8], url: WebURL) throws(Failure) {
        manifest = try DASHParser.parse(
            bytes, url: url, named: url, live: .snapshot(atSeconds: 0), policy: .lenient)
        let most = Self.maxDepthSeconds * 1_000_000_000
        manifest.timeShiftBufferDepth = min(manifest.timeShiftBufferDepth ?? most, most)
    }

    /// False for an MPD that has ended.
    package var isLive: Bool { manifest.isLive }
    /// In seconds since 1970.
    package var availabilityStartSeconds: Double { manifest.availabilityStart ?? 0 }
    /// Nil if the MPD does not change.
    package var minimumUpdateSeconds: Double? { manifest.minimumUpdate.map { Double($0) / 1e9 } }
    package var clocks: [DASHClock] { manifest.clocks }
    /// The URLs from which it is requested again; nil without a Location.
    package var reloads: BaseURLLevels? { manifest.reloads }
    /// publishTime, in seconds since 1970; nil without one.
    package var publishedSeconds: Double? { manifest.publishedSeconds }
    package var suggestedDelaySeconds: Double? { manifest.suggestedDelay.map { Double($0) / 1e9 } }

    /// True if segments become available without another MPD: their times are calculated.
    package var growsByTime: Bool { manifest.growsByTime }

    /// Returns the tracks with the segments that are available at a moment, in seconds since 1970.
    ///
    /// - Parameter isWanted: selects representations; others are not listed.
    package func tracks(
        atSeconds now: Double, _ isWanted: (Rendition) -> Bool
    ) throws(Failure) -> [Track] {
        var manifest = manifest
        manifest.live = .snapshot(atSeconds: now)
        _ = try manifest.segmentCount()
        let renditions = manifest.renditions
        var tracks: [Track] = []
        try manifest.forEachLister { (track, lister) throws(Failure) in
            guard isWanted(renditions[track.index]) else { return }
            let starts = try manifest.starts(of: track)
            var listed = Track(rendition: renditions[track.index], period: track.period)
            listed.locations = lister.locations
            let base = manifest.baseForm(of: track)
            let addressing = track.representation.addressing
            listed.setupForm = max(base, addressing.setupForm)
            listed.segmentForm = max(base, addressing.mediaForm)
            var cursor = Double(track.span.start) / 1e9
            try manifest.list(track, with: &lister, { _, _, _, _ in false }) {
                (segment) throws(Failure) in
                guard segment.role != .`init`, segment.role != .index else {
                    listed.setup.append(segment)
                    return
                }
                let index = listed.segments.count
                let start = index < starts.count ? starts[index] : cursor
                let seconds = max(segment.durationSeconds ?? 0, 0.001)
                cursor = start + seconds
                listed.segments.append(
                    Segment(
                        startSeconds: start, seconds: seconds, url: segment.reference.url,
                        range: segment.range))
            }
            if !listed.segments.isEmpty { tracks.append(listed) }
        }
        return tracks
    }
}

extension DASHManifest {
    /// Returns the starts of a template's segments on the presentation's timeline, in seconds;
    /// empty for other addressing, and for segment sequences.
    fileprivate func starts(of track: Track) throws(Failure) -> [Double] {
        let addressing = track.representation.addressing
        guard addressing.kind == .template else { return [] }
        let begin = Double(track.span.start) / 1e9
        var starts: [Double] = []
        try timeline(of: track).forEachRun { run in
            for index in 0..<run.count where run.sequence == 1 {
                let units = run.time + run.duration * index - addressing.presentationTimeOffset
                starts.append(begin + Double(units) / Double(addressing.timescale))
            }
            return true
        }
        return starts
    }
}
