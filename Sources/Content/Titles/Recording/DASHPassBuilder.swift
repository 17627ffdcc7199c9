import Model
import WebURL

/// Builds what one reading of an MPD adds to its recording.
struct DASHPassBuilder {
    /// A period that begins with this reading.
    struct Begun {
        /// Index in the manifest.
        var index: Int
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
    private(set) var choice: DASHPeriodChoice
    /// Names of representations that have joined a period, and are not recorded.
    var joined: [String] = []
    /// True if segments that the clock adds are left to a later reading.
    private let isClockLost: Bool
    private var cursor: RecordingCursor
    var mpd: RecordingCursor.MPD
    var objects = RecordedObjects()
    private var entries: [RecordedEntry] = []
    private var durations = ListedDurations()

    init(
        _ manifest: DASHManifest, _ options: TitleOptions, after cursor: RecordingCursor?,
        isClockLost: Bool
    ) throws(Failure) {
        self.manifest = manifest
        self.isClockLost = isClockLost
        self.cursor = cursor ?? RecordingCursor()
        mpd = cursor?.mpd ?? RecordingCursor.MPD()
        spans = try manifest.spans()
        choice = try DASHPeriodChoice(
            manifest, spans, options, after: mpd, isClockLost: isClockLost)
        mpd.isFull = choice.isFull
    }

    private var isFull: Bool {
        entries.count >= RecordingPass.maxEntries || objects.bytes >= RecordingPass.maxBytes
    }

    // MARK: Tracks

    mutating func addAll() throws(Failure) {
        var ids: [String: Int] = [:]
        var period = -1
        /// Tracks of the period before the first one that is recorded, with their names.
        var before: [(track: DASHManifest.Track, name: String)] = []
        try manifest.forEachLister { (track, lister) throws(Failure) in
            if track.period != period { (ids, before) = ([:], []) }
            period = track.period
            let id = track.representation.id
            ids[id, default: 0] += 1
            let name = ids[id] == 1 ? id : "\(id)#\(ids[id] ?? 0)"
            // All tracks of a period begin together.
            if choice.wanted[track.index], !isFull || begun.last?.index == track.period {
                try begin(track, name, &lister)
            }
            guard let position = choice.known[track.period] else {
                return before.append((track, name))
            }
            for (track, name) in before { leaveOut(track, name, of: position) }
            before = []
            if let index = mpd.periods[position].tracks.firstIndex(where: { $0.id == name }) {
                try add(track, &lister, to: index, of: position)
            } else {
                leaveOut(track, name, of: position)
            }
        }
        // Older periods will not be listed again.
        if let first = choice.firstKnown { mpd.periods.removeFirst(first) }
        // What is left of the listed periods is recorded first.
        if isFull { mpd.isFull = false }
        if !isFull, !mpd.isFull, !mpd.hasEnded { mpd.hasEnded = try isOver() }
    }

    /// Begins a track, and its period with the first one.
    private mutating func begin(
        _ track: DASHManifest.Track, _ id: String, _ lister: inout DASHManifest.Lister
    ) throws(Failure) {
        let index: Int
        if let begun = choice.known[track.period] {
            index = begun
        } else {
            index = mpd.periods.count
            // Nothing is missing before it if the end of the period before it was listed.
            let isBeforeListed = track.period > 0 && choice.known[track.period - 1] != nil
            let previousEnd = mpd.end.map { isBeforeListed ? max($0, track.span.start) : $0 }
            choice.known[track.period] = index
            mpd.periods.append(
                RecordingCursor.MPD.Period(
                    id: manifest.periods[track.period].id, start: track.span.start,
                    previousEnd: previousEnd))
            begun.append(
                Begun(index: track.period, number: mpd.periodCount, start: track.span.start))
            mpd.periodCount += 1
            mpd.lastStart = track.span.start
        }
        let period = begun[begun.count - 1].number
        let addressing = track.representation.addressing
        var media = try template(of: track, lister)
        var attributes: [(name: String, value: String)] = []
        // Players read initialization sections before segments.
        for (name, template) in addressing.once {
            let found = try once(template, named: name, period, track, &lister)
            attributes.append((name, found.stored))
            objects.add(found.object)
        }
        var recorded = RecordingCursor.MPD.Track(id: id, number: mpd.trackCount, name: "")
        recorded.base = (lister.namingBase ?? lister.base).url.text
        recorded.media = addressing.media ?? ""
        recorded.isNumbered = media.hasNumber
        recorded.bandwidth = track.representation.bandwidth
        recorded.timescale = addressing.timescale
        recorded.offset = addressing.presentationTimeOffset
        recorded.name = Self.hash(try key(of: media, &lister))
        if try isUsed(recorded.name, by: track, media.hasNumber, in: index, period) {
            recorded.media = RecordedName.marked(
                media.written, as: .template, "t\(recorded.number)")
            media = try template(of: track, lister, stored: recorded.stored)
            recorded.name = Self.hash(try key(of: media, &lister))
        }
        attributes.append(("media", recorded.media))
        mpd.trackCount += 1
        mpd.periods[index].tracks.append(recorded)
        begun[begun.count - 1].tracks.append(
            RecordedPeriod.Track(
                number: recorded.number, timescale: addressing.timescale,
                offset: addressing.presentationTimeOffset, isNumbered: media.hasNumber))
        begun[begun.count - 1].templates[track.index] = Template(
            track: recorded.number, timescale: addressing.timescale,
            isNumbered: media.hasNumber, attributes: attributes)
    }

    /// Returns true if files of a track may have names that others have.
    private func isUsed(
        _ name: String, by track: DASHManifest.Track, _ hasNumber: Bool, in index: Int,
        _ period: Int
    ) throws(Failure) -> Bool {
        if mpd.periods[index].tracks.contains(where: { $0.name == name }) { return true }
        guard let next = mpd.names[name] else {
            return period > 0 && mpd.names.count >= RecordingCursor.MPD.maxNames
        }
        var first: Int64?
        try manifest.forEachAvailableRun(of: track, isClockLost: isClockLost) { run in
            first = hasNumber ? run.number : run.time
            return false
        }
        return first.map { $0 < next } ?? true
    }

    /// Adds what a representation lists beyond what is recorded of it.
    private mutating func add(
        _ track: DASHManifest.Track, _ lister: inout DASHManifest.Lister, to index: Int,
        of position: Int
    ) throws(Failure) {
        let period = mpd.periods[position]
        var recorded = period.tracks[index]
        guard manifest.unrecordable(track) == nil else { return }
        try useBase(of: recorded, in: &lister)
        let media = try template(of: track, lister, stored: recorded.stored)
        // Without numbers in names, numbers begin with the listed window.
        guard media.hasNumber || !recorded.isNumbered else { return }
        let units = TrackUnits(track, recorded, of: period)
        let timescale = Double(track.representation.addressing.timescale)
        var left: Int128 = 0
        try manifest.forEachAvailableRun(of: track, isClockLost: isClockLost) {
            (run) throws(Failure) in
            let seconds = min(Double(run.duration) / timescale, Self.maxSeconds)
            durations.add(seconds)
            let next = recorded.isNumbered ? recorded.next : recorded.next.map(units.listed)
            var run = run.dropping(run.known(below: next, isNumbered: recorded.isNumbered))
            while run.count > 0, !isFull {
                guard let times = units.times(of: run),
                    let object = objects.add(
                        try resolved(lister.first(of: run, media, storedTime: times.time)))
                else { return false }
                let sequence = recorded.isNumbered ? run.number : times.time
                let missed = Self.missed(before: sequence, times, recorded, period)
                var entry = RecordedEntry(
                    playlist: recorded.number, sequence: sequence, seconds: seconds, setup: nil,
                    tags: times.text, uri: "")
                entry.object = object
                entry.missed = missed
                let end = times.time + times.duration
                if times.time != recorded.end || times.duration != recorded.duration || missed > 0 {
                    mpd.bytes += RecordingCursor.MPD.bytesOfRun
                }
                recorded.next = recorded.isNumbered ? sequence + 1 : end
                recorded.end = end
                recorded.duration = times.duration
                entries.append(entry)
                run = run.dropping(1)
            }
            left += Int128(run.count) * Int128(run.duration)
            return true
        }
        mpd.periods[position].tracks[index] = recorded
        durations.add(left: min(Double(left) / timescale, Self.maxSeconds))
        guard let next = recorded.next else { return }
        let end = recorded.nanoseconds(recorded.end) + Int128(period.start)
        mpd.end = max(mpd.end ?? 0, Int64(clamping: end))
        remember(recorded.name, max(mpd.names[recorded.name] ?? 0, next))
    }

    /// Returns the number of segments before one that were not listed when it was read.
    private static func missed(
        before sequence: Int64, _ times: RecordedTimes, _ track: RecordingCursor.MPD.Track,
        _ period: RecordingCursor.MPD.Period
    ) -> Int64 {
        var units: Int128 = 0
        if let next = track.next {
            if track.isNumbered {
                return Int64(clamping: min(max(0, Int128(sequence) - Int128(next)), maxMissed))
            }
            units = Int128(times.time) - Int128(track.end)
        } else if let end = period.previousEnd {
            // The end of the period before, or the beginning of this one.
            let start = track.nanoseconds(times.time) + Int128(period.start)
            units = (start - Int128(end)) * Int128(track.timescale) / 1_000_000_000
        }
        let rounded = (units + Int128(times.duration) / 2) / Int128(times.duration)
        return Int64(clamping: max(0, min(rounded, maxMissed)))
    }

    /// Limit of durations in seconds.
    private static let maxSeconds = 1e6
    /// Limit of a gap, far below an overflow in sums.
    private static let maxMissed: Int128 = 1 << 40

    // MARK: The end

    /// Returns true if the MPD is static, or its presentation has ended, and everything was listed
    /// since.
    private func isOver() throws(Failure) -> Bool {
        guard manifest.isLive, case .snapshot(let seconds) = manifest.live else { return true }
        if isClockLost { return false }
        if let end = manifest.availabilityEnd, seconds >= end { return true }
        guard let now = manifest.snapshotTime, let last = spans.last else { return false }
        let period = manifest.periods.last?.duration
        let end =
            manifest.duration.map { Double($0) }
            ?? (manifest.minimumUpdate == nil
                ? period.map { Double(last.start) + Double($0) } : nil)
        guard let end else { return false }
        let update = Double(manifest.minimumUpdate ?? 0)
        guard Double(now) >= end + max(durations.longest * 1e9, update) else { return false }
        return try !manifest.holdsBack()
    }

    func pass() -> RecordingPass {
        let limits = RecordingPass.reloadSeconds
        var cursor = cursor
        cursor.entries += entries.count
        cursor.mpd = mpd
        var update = RecordingUpdate(
            cursor: cursor, entries: entries,
            reloadSeconds: isFull
                ? 0
                : min(
                    max(durations.waitSeconds(manifest), limits.lowerBound), limits.upperBound),
            behindSeconds: isFull ? durations.left : 0)
        update.name(joined: joined)
        return RecordingPass(update: update, objects: objects.all)
    }
}
