import Model
import WebURL

/// Which periods of an MPD begin with a reading, and which of their tracks are recorded.
struct DASHPeriodChoice {
    let renditions: [Rendition]
    /// By period of the manifest, its index in the cursor's periods; nil for one that is not
    /// recorded.
    var known: [Int?]
    /// By representation, true if it is recorded in a period that begins.
    private(set) var wanted: [Bool] = []
    /// By representation, true if the title's selection takes it.
    private(set) var selected: [Bool] = []
    /// True if a new period lists more than can be followed.
    private(set) var isFull = false
    private let manifest: DASHManifest
    /// What is recorded before this reading.
    private let mpd: RecordingCursor.MPD
    private let isClockLost: Bool

    /// - Parameter spans: of the manifest's periods.
    init(
        _ manifest: DASHManifest, _ spans: [DASHManifest.Span], _ options: TitleOptions,
        after mpd: RecordingCursor.MPD, isClockLost: Bool
    ) throws(Failure) {
        self.manifest = manifest
        self.mpd = mpd
        self.isClockLost = isClockLost
        renditions = manifest.renditions
        let periods = mpd.periods
        known = zip(manifest.periods, spans).map { period, span in
            periods.firstIndex { $0.id == period.id && ($0.id != nil || $0.start == span.start) }
        }
        try choose(options)
    }

    private var isFirst: Bool { mpd.periodCount == 0 }

    /// Index of the first period of the cursor that is still listed; nil if none is.
    var firstKnown: Int? { known.compactMap { $0 }.min() }

    /// Selects the tracks of new periods, each separately. One without a track that fits is recorded
    /// whole, after the beginning.
    private mutating func choose(_ options: TitleOptions) throws(Failure) {
        for period in manifest.periods {
            let count = period.sets.reduce(0) { $0 + $1.representations.count }
            let all = Array(renditions[wanted.count..<(wanted.count + count)])
            do throws(Failure) {
                wanted += try options.tracks.wanted(all)
            } catch {
                if isFirst { throw error }
                wanted += all.map { _ in true }
            }
        }
        selected = wanted
        let listed = try newPeriodsWithSegments()
        let begins = try periodsThatFit(listed)
        try manifest.forEachTrack { (track) throws(Failure) in
            if !begins.contains(track.period) { wanted[track.index] = false }
        }
    }

    /// Returns those of the new periods that can be followed together with the listed ones. After
    /// the first one that cannot, none begins any more.
    private mutating func periodsThatFit(_ new: Set<Int>) throws(Failure) -> Set<Int> {
        guard !new.isEmpty else { return [] }
        var sizes: [Int: (tracks: Int, bytes: Int)] = [:]
        try manifest.forEachLister { (track, lister) throws(Failure) in
            guard new.contains(track.period), wanted[track.index] else { return }
            let representation = track.representation
            let bytes =
                representation.id.utf8.count + (representation.addressing.media ?? "").utf8.count
                + (lister.namingBase ?? lister.base).url.text.utf8.count
            let size = sizes[track.period] ?? (0, 0)
            sizes[track.period] = (size.tracks + 1, size.bytes + bytes)
        }
        let first = firstKnown ?? mpd.periods.count
        let tracks = mpd.periods[first...].flatMap(\.tracks)
        var sum = (tracks: tracks.count, bytes: tracks.reduce(0) { $0 + $1.bytes })
        var fitting: Set<Int> = []
        for period in new.sorted() {
            let size = sizes[period] ?? (0, 0)
            sum = (sum.tracks + size.tracks, sum.bytes + size.bytes)
            guard
                sum.tracks <= RecordingCursor.MPD.maxTracks,
                sum.bytes <= RecordingCursor.MPD.maxTrackBytes
            else {
                if isFirst { throw manifest.tooManyTracks }
                isFull = true
                break
            }
            fitting.insert(period)
        }
        return fitting
    }

    /// Returns the new periods of which something is available. Periods before the last recorded
    /// one are not new: a cache may list what has left the MPD.
    private mutating func newPeriodsWithSegments() throws(Failure) -> Set<Int> {
        var listed: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            guard known[track.period] == nil, wanted[track.index],
                track.span.start > mpd.lastStart ?? -1
            else { return }
            if let what = manifest.unrecordable(track) {
                wanted[track.index] = false
                guard isFirst else { return }
                throw manifest.failure(
                    .manifestUnsupported,
                    "\(manifest.name(of: track)) \(what), which cannot be recorded; use "
                        + "--live snapshot")
            }
            guard !listed.contains(track.period) else { return }
            try manifest.forEachAvailableRun(of: track, isClockLost: isClockLost) { _ in
                listed.insert(track.period)
                return false
            }
        }
        return listed
    }
}
