import Model
import WebURL

/// Builds what one reading of an MPD adds to its recording.
struct DASHPassBuilder {
    /// A period that begins with this reading.
    struct Begun {
        /// Index in the manifest.
        var place: Int
        /// Number in the recording.
        var number: Int
        var start: Int64
        var tracks: [RecordedPeriod.Track] = []
        /// By index of a representation in the manifest.
        var templates: [Int: Template] = [:]
    }

    /// The SegmentTemplate of a track as it is stored.
    struct Template {
        var track: Int
        var timescale: Int64
        var isNumbered: Bool
        /// Names of files.
        var attributes: [(name: String, value: String)]
    }

    private(set) var begun: [Begun] = []
    let manifest: DASHManifest
    private let spans: [DASHManifest.Span]
    /// By period of the manifest, its index in the cursor's periods; nil for one that is not
    /// recorded.
    private var known: [Int?]
    /// By representation, true if it is recorded in a period that begins.
    private var wanted: [Bool] = []
    private let isFirst: Bool
    private var cursor: RecordingCursor
    var mpd: RecordingCursor.MPD
    var objects: [ResolvedSegment] = []
    /// Indexes of objects by key.
    var places: [String: Int] = [:]
    private var entries: [RecordedEntry] = []
    var bytes = 0
    private var behindSeconds = 0.0
    /// Durations of segments that the reading lists, in seconds.
    private var shortestSeconds: Double?
    private var longestSeconds = 0.0

    init(
        _ manifest: DASHManifest, _ options: TitleOptions, after cursor: RecordingCursor?
    ) throws(Failure) {
        self.manifest = manifest
        self.cursor = cursor ?? RecordingCursor()
        mpd = cursor?.mpd ?? RecordingCursor.MPD()
        isFirst = mpd.periodCount == 0
        spans = try manifest.spans()
        let periods = mpd.periods
        known = zip(manifest.periods, spans).map { period, span in
            periods.firstIndex { $0.id == period.id && ($0.id != nil || $0.start == span.start) }
        }
        try choose(options)
    }

    private var isFull: Bool {
        entries.count >= RecordingPass.maxEntries || bytes >= RecordingPass.maxBytes
    }

    /// Selects the tracks of new periods, each separately. One without a track that fits is recorded
    /// whole, after the beginning.
    private mutating func choose(_ options: TitleOptions) throws(Failure) {
        let tracks = manifest.renditions
        for period in manifest.periods {
            let count = period.sets.reduce(0) { $0 + $1.representations.count }
            let all = Array(tracks[wanted.count..<(wanted.count + count)])
            do throws(Failure) {
                wanted += try options.tracks.wanted(all)
            } catch {
                if isFirst { throw error }
                wanted += all.map { _ in true }
            }
        }
        let listed = try newPeriodsWithSegments()
        try manifest.forEachTrack { (track) throws(Failure) in
            if !listed.contains(track.period) { wanted[track.place] = false }
        }
    }

    /// Returns the new periods of which something is available. Periods before the last recorded
    /// one are not new: a cache may list what has left the MPD.
    private mutating func newPeriodsWithSegments() throws(Failure) -> Set<Int> {
        var listed: Set<Int> = []
        try manifest.forEachTrack { (track) throws(Failure) in
            guard known[track.period] == nil, wanted[track.place],
                track.span.start > mpd.lastStart ?? -1
            else { return }
            if let what = manifest.unrecordable(track) {
                wanted[track.place] = false
                guard isFirst else { return }
                throw manifest.failure(
                    .manifestUnsupported,
                    "\(manifest.name(of: track)) \(what), which cannot be recorded; use "
                        + "--live snapshot")
            }
            guard !listed.contains(track.period) else { return }
            try manifest.forEachAvailableRun(of: track) { _ in
                listed.insert(track.period)
                return false
            }
        }
        return listed
    }

    // MARK: Tracks

    mutating func addAll() throws(Failure) {
        var ids: [String: Int] = [:]
        var period = -1
        try manifest.forEachLister { (track, lister) throws(Failure) in
            if track.period != period { ids = [:] }
            period = track.period
            let id = track.representation.id
            ids[id, default: 0] += 1
            let name = ids[id] == 1 ? id : "\(id)#\(ids[id] ?? 0)"
            // All tracks of a period begin together.
            if wanted[track.place], !isFull || begun.last?.place == track.period {
                try begin(track, name, &lister)
            }
            guard let place = known[track.period],
                let index = mpd.periods[place].tracks.firstIndex(where: { $0.id == name })
            else { return }
            try add(track, &lister, to: index, of: place)
        }
        // Older periods will not be listed again.
        if let first = known.compactMap({ $0 }).min() { mpd.periods.removeFirst(first) }
        if !isFull, !mpd.hasEnded { mpd.hasEnded = isOver }
    }

    /// Begins a track, and its period with the first one.
    private mutating func begin(
        _ track: DASHManifest.Track, _ id: String, _ lister: inout DASHManifest.Lister
    ) throws(Failure) {
        let place: Int
        if let begun = known[track.period] {
            place = begun
        } else {
            place = mpd.periods.count
            known[track.period] = place
            mpd.periods.append(
                RecordingCursor.MPD.Period(
                    id: manifest.periods[track.period].id, start: track.span.start,
                    previousEnd: mpd.end))
            begun.append(
                Begun(place: track.period, number: mpd.periodCount, start: track.span.start))
            mpd.periodCount += 1
            mpd.lastStart = track.span.start
        }
        let tracks = mpd.periods.reduce(1) { $0 + $1.tracks.count }
        guard tracks <= RecordingCursor.MPD.maxTracks else {
            throw manifest.failure(
                .manifestTooMany,
                "the periods of the MPD have more than \(RecordingCursor.MPD.maxTracks) "
                    + "representations to record")
        }
        let period = begun[begun.count - 1].number
        let addressing = track.representation.addressing
        var media = try template(of: track, lister)
        var attributes: [(name: String, value: String)] = []
        // Players read initialization sections before segments.
        for (name, template) in addressing.once {
            let found = try once(template, named: name, period, track, &lister)
            attributes.append((name, found.stored))
            add(found.object)
        }
        var recorded = RecordingCursor.MPD.Track(id: id, number: mpd.trackCount, name: "")
        recorded.name = Self.hash(try key(of: media, &lister))
        var stored = addressing.media ?? ""
        if try isUsed(recorded.name, by: track, media.hasNumber, in: place, period) {
            let mark = "t\(recorded.number)"
            recorded.mark = mark
            stored = RecordedName.marked(media.written, mark)
            media = try template(of: track, lister, mark: mark)
            recorded.name = Self.hash(try key(of: media, &lister))
        }
        attributes.append(("media", stored))
        mpd.trackCount += 1
        mpd.periods[place].tracks.append(recorded)
        begun[begun.count - 1].tracks.append(
            RecordedPeriod.Track(
                number: recorded.number, timescale: addressing.timescale,
                offset: addressing.presentationTimeOffset, isNumbered: media.hasNumber))
        begun[begun.count - 1].templates[track.place] = Template(
            track: recorded.number, timescale: addressing.timescale,
            isNumbered: media.hasNumber, attributes: attributes)
    }

    /// Returns true if files of a track may have names that others have.
    private func isUsed(
        _ name: String, by track: DASHManifest.Track, _ hasNumber: Bool, in place: Int,
        _ period: Int
    ) throws(Failure) -> Bool {
        if mpd.periods[place].tracks.contains(where: { $0.name == name }) { return true }
        guard let next = mpd.names[name] else {
            return period > 0 && mpd.names.count >= RecordingCursor.MPD.maxNames
        }
        var first: Int64?
        try manifest.forEachAvailableRun(of: track) { run in
            first = hasNumber ? run.number : run.time
            return false
        }
        return first.map { $0 < next } ?? true
    }

    /// Adds what a representation lists beyond what is recorded of it.
    private mutating func add(
        _ track: DASHManifest.Track, _ lister: inout DASHManifest.Lister, to index: Int,
        of place: Int
    ) throws(Failure) {
        let addressing = track.representation.addressing
        var recorded = mpd.periods[place].tracks[index]
        let media = try template(of: track, lister, mark: recorded.mark)
        let timescale = Double(addressing.timescale)
        var left: Int128 = 0
        try manifest.forEachAvailableRun(of: track) { (run) throws(Failure) in
            let seconds = min(Double(run.duration) / timescale, Self.maxSeconds)
            shortestSeconds = min(shortestSeconds ?? seconds, seconds)
            longestSeconds = max(longestSeconds, seconds)
            var run = run.dropping(recorded.known(of: run, isNumbered: media.hasNumber))
            while run.count > 0, !isFull {
                guard let object = add(try resolved(lister.first(of: run, media))) else {
                    return false
                }
                let missed = self.missed(
                    before: run, recorded, mpd.periods[place], addressing, media.hasNumber)
                var entry = RecordedEntry(
                    playlist: recorded.number, sequence: media.hasNumber ? run.number : run.time,
                    seconds: seconds, setup: nil,
                    tags: RecordedTimes(time: run.time, duration: run.duration).text, uri: "")
                entry.object = object
                entry.missed = missed
                let end = run.time + run.duration
                if run.time != recorded.end || run.duration != recorded.duration || missed > 0 {
                    mpd.bytes += RecordingCursor.MPD.bytesOfRun
                }
                recorded.next = media.hasNumber ? run.number + 1 : end
                recorded.end = end
                recorded.duration = run.duration
                entries.append(entry)
                run = run.dropping(1)
            }
            left += Int128(run.count) * Int128(run.duration)
            return true
        }
        mpd.periods[place].tracks[index] = recorded
        behindSeconds = max(behindSeconds, min(Double(left) / timescale, Self.maxSeconds))
        guard let next = recorded.next else { return }
        let end = Self.nanoseconds(recorded.end, addressing) + Int128(track.span.start)
        mpd.end = max(mpd.end ?? 0, Int64(clamping: end))
        remember(recorded.name, max(mpd.names[recorded.name] ?? 0, next))
    }

    /// Returns the number of segments before a run that were not listed when it was read.
    private func missed(
        before run: DASHTimeline.Run, _ track: RecordingCursor.MPD.Track,
        _ period: RecordingCursor.MPD.Period, _ addressing: DASHManifest.Addressing,
        _ isNumbered: Bool
    ) -> Int64 {
        var units: Int128 = 0
        if let next = track.next {
            if isNumbered { return max(0, run.number - next) }
            units = Int128(run.time) - Int128(track.end)
        } else if let end = period.previousEnd {
            // The end of the period before, or the beginning of this one.
            let start = Self.nanoseconds(run.time, addressing) + Int128(period.start)
            units = (start - Int128(end)) * Int128(addressing.timescale) / 1_000_000_000
        }
        let rounded = (units + Int128(run.duration) / 2) / Int128(run.duration)
        return Int64(clamping: max(0, min(rounded, Self.maxMissed)))
    }

    /// Limit of durations in seconds.
    private static let maxSeconds = 1e6
    /// Limit of a gap, far below an overflow in sums.
    private static let maxMissed: Int128 = 1 << 40

    private static func nanoseconds(
        _ time: Int64, _ addressing: DASHManifest.Addressing
    ) -> Int128 {
        (Int128(time) - Int128(addressing.presentationTimeOffset)) * 1_000_000_000
            / Int128(addressing.timescale)
    }

    // MARK: The end

    /// True if the MPD is static, or its presentation has ended, and everything was listed since.
    private var isOver: Bool {
        guard manifest.isLive, case .snapshot(let seconds) = manifest.live else { return true }
        if let end = manifest.availabilityEnd, seconds >= end { return true }
        guard let now = manifest.snapshotTime, let last = spans.last else { return false }
        let period = manifest.periods.last?.duration
        let end =
            manifest.duration.map { Double($0) }
            ?? (manifest.minimumUpdate == nil
                ? period.map { Double(last.start) + Double($0) } : nil)
        guard let end else { return false }
        let update = Double(manifest.minimumUpdate ?? 0)
        return Double(now) >= end + max(longestSeconds * 1e9, update)
    }

    /// The time until the next reload: the minimumUpdatePeriod, or the duration of a segment if they
    /// are added by the clock. At least half of a segment, so that an encoder's pause does not end the
    /// recording.
    private var waitSeconds: Double {
        let update = manifest.minimumUpdate.map { Double($0) / 1e9 }
        guard let shortest = shortestSeconds else { return update ?? Self.emptySeconds }
        let wait = manifest.growsByTime ? min(update ?? shortest, shortest) : update ?? shortest
        return max(wait, shortest / 2)
    }

    /// Time between reloads of an MPD without segments.
    private static let emptySeconds = 5.0

    func pass() -> RecordingPass {
        let limits = RecordingPass.reloadSeconds
        var cursor = cursor
        cursor.entries += entries.count
        cursor.mpd = mpd
        return RecordingPass(
            update: RecordingUpdate(
                cursor: cursor, entries: entries,
                reloadSeconds: isFull
                    ? 0 : min(max(waitSeconds, limits.lowerBound), limits.upperBound),
                behindSeconds: isFull ? behindSeconds : 0),
            objects: objects)
    }
}
