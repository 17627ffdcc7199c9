package import Model
import Titles

/// A viewer of a live title: starts at a distance from the live edge, requests the manifest again
/// as it changes, and segments or parts as they become available.
///
/// It starts at the last segment that is `HOLD-BACK` from the end of the playlist, by default three
/// target durations; with parts, at the last independent part that is `PART-HOLD-BACK` from it (RFC
/// 8216bis, 6.3.3); in DASH, `suggestedPresentationDelay` behind the availability of segments, by
/// default three segments. It does not change its speed, so a stall adds to its latency.
///
/// Video and separate audio have a request each. Requests, renditions and playback are those of
/// `Viewer`; `+Reloads` decides when manifests are requested again, `+Renditions` what is played.
///
/// A value, confined to the loop that drives it. A segment that another viewer has met allocates
/// nothing.
package struct LiveViewer: PlayingViewer {
    var title: LiveTitle
    let settings: ViewerSettings
    let traits: ViewerTraits
    /// Maximum watched seconds.
    let limitSeconds: Double

    var reading: LiveReading
    var video: LiveProgress
    var audio: LiveProgress?
    /// Index of the rendition.
    var rung: Int
    var estimate = ThroughputEstimate()
    var screen: Screen
    private var start = Start()

    private var isOver = false

    /// Creates a viewer.
    ///
    /// - Parameter plannedSeconds: due time on the test's clock.
    package init(
        title: LiveTitle, settings: ViewerSettings, traits: ViewerTraits = ViewerTraits(),
        plannedSeconds: Double
    ) {
        self.title = title
        self.settings = settings
        self.traits = traits
        limitSeconds = min(settings.watchSeconds ?? .infinity, traits.watchSeconds)
        reading = LiveReading(title.source)
        rung = traits.first(of: title.source.video, settings)
        video = LiveProgress(title.video[rung])
        audio = title.audio.map { LiveProgress($0) }
        screen = Screen(plannedSeconds: plannedSeconds)
    }

    /// Number of its parallel requests.
    package var lanes: Int { audio == nil ? 1 : 2 }

    subscript(lane: ViewerLane) -> LiveProgress {
        get { lane == .video ? video : audio ?? video }
        set {
            if lane == .video { video = newValue } else { audio = newValue }
        }
    }

    /// True if a body is needed as text: of a playlist or MPD.
    package func readsBody(_ lane: ViewerLane) -> Bool {
        switch self[lane].request {
        case .manifest: title.source.form == .dash
        case .playlist, .clock: true
        default: false
        }
    }

    // MARK: Actions

    /// The multivariant playlist, or the MPD where it is requested now.
    private var manifestObject: Int32? { reading.manifest?.reload ?? title.source.manifest }

    /// Returns the next action of a lane without a current request.
    package mutating func next(_ lane: ViewerLane, atSeconds now: Double) -> Viewer.Action {
        guard !isOver else { return .end }
        play(toSeconds: now)
        if screen.state == .ended {
            isOver = true
            return .end
        }
        if let resumes = self[lane].resumesSeconds {
            guard now >= resumes else { return .wait(untilSeconds: resumes) }
            self[lane].resumesSeconds = nil
        }
        // A failed request is repeated, unless its object has left the list since.
        if let object = self[lane].object(ofManifest: manifestObject) {
            return .fetch(object: object)
        }
        self[lane].request = nil
        switch step(lane, now) {
        case .wait(let until): return .wait(untilSeconds: until)
        case .send(let request):
            self[lane].request = request
        }
        guard let object = self[lane].object(ofManifest: manifestObject) else {
            self[lane].request = nil
            return .wait(untilSeconds: now + RequestTries.delaysSeconds[0])
        }
        return .fetch(object: object)
    }

    /// Adds the last requested object of a lane.
    ///
    /// - Parameters:
    ///   - body: of a manifest; empty for others.
    ///   - tookSeconds: from sending the request to its last byte.
    ///
    /// Throws `manifest.…` for a manifest that cannot be read; call `failed` then.
    package mutating func received(
        _ lane: ViewerLane, bytes: Int64, body: [UInt8], tookSeconds: Double, atSeconds now: Double,
        into interval: inout LoadInterval
    ) throws(Failure) {
        guard let request = self[lane].request else { return }
        play(toSeconds: now)
        guard !self[lane].isOfOldPathway else {
            // What it lists or needs is requested again on the new pathway.
            if let unit = self[lane].oldUnit {
                estimate.add(bytes: bytes, tookSeconds: tookSeconds)
                take(unit, lane, bytes, now, into: &interval)
                self[lane].needs = []
            }
            return endOldRequest(lane)
        }
        switch request {
        case .manifest: try takeManifest(body, tookSeconds, now, into: &interval)
        case .playlist(_, let blocks):
            try takePlaylist(lane, body, blocks, tookSeconds, now, into: &interval)
        case .clock: takeClock(body, tookSeconds, now)
        case .need(let object): self[lane].needs.append(object)
        case .unit:
            estimate.add(bytes: bytes, tookSeconds: tookSeconds)
            if let unit = self[lane].unit { take(unit, lane, bytes, now, into: &interval) }
        }
        self[lane].request = nil
        self[lane].tries = RequestTries()
    }

    /// Uses a clock's answer, or tries the next one if it is none or wrong.
    private mutating func takeClock(_ body: [UInt8], _ tookSeconds: Double, _ now: Double) {
        let epoch = DASHClock.seconds(String(decoding: body.prefix(100), as: UTF8.self))
        // Half of the time that it took is the way back.
        reading.takeClock(epoch.map { $0 + tookSeconds / 2 }, of: title, atSeconds: now)
    }

    /// Returns the action after a failed request of a lane.
    package mutating func failed(_ lane: ViewerLane, atSeconds now: Double) -> Viewer.Action {
        guard self[lane].request != nil, !isOver else { return .end }
        play(toSeconds: now)
        if self[lane].isOfOldPathway {
            endOldRequest(lane)
            return next(lane, atSeconds: now)
        }
        // As players do, by the next clock then, and by their own in the end.
        if case .clock = self[lane].request {
            reading.takeClock(nil, of: title, atSeconds: now)
            self[lane].request = nil
            return next(lane, atSeconds: now)
        }
        guard let again = self[lane].tries.failed(atSeconds: now) else {
            screen.fail()
            isOver = true
            return .end
        }
        self[lane].resumesSeconds = again
        // The position that it waited for may be listed by then.
        if case .playlist(_, blocks: true) = self[lane].request { self[lane].request = nil }
        return .wait(untilSeconds: again)
    }

    package var totals: ViewerTotals { screen.viewerTotals }

    /// True if a request failed permanently.
    package var hasFailed: Bool { screen.hasFailed }

    /// Returns true, once, if it leaves because it has waited too long.
    package mutating func abandons(atSeconds now: Double) -> Bool {
        guard !isOver else { return false }
        play(toSeconds: now)
        return screen.abandons(traits)
    }

    /// Adds played and stalled time since the last call, and the current latency; called once a
    /// second and at the end.
    package mutating func account(toSeconds now: Double, into interval: inout LoadInterval) {
        if !isOver { play(toSeconds: now) }
        if screen.state == .playing || screen.state == .stalled, let latency = latency(now) {
            interval.record(Self.microseconds(latency), .liveLatency)
        }
        screen.report(into: &interval)
    }

    /// Ends it as `Viewer.finish` does.
    package mutating func finish(
        atSeconds now: Double, isCutOff: Bool, usualStartupSeconds: Double = 0,
        into interval: inout LoadInterval
    ) {
        account(toSeconds: now, into: &interval)
        isOver = true
        if let first = start.latencySeconds, let latency = latency(now) {
            interval.record(Self.microseconds(latency - first), .viewerDrift)
        }
        screen.end(
            atSeconds: now, isCutOff: isCutOff, usualStartupSeconds: usualStartupSeconds,
            into: &interval)
    }

    /// The start of its playback.
    private struct Start {
        /// Time since 1970, later by what was skipped since.
        var epochSeconds: Double?
        /// The latency at that time.
        var latencySeconds: Double?
    }

    // MARK: Requests

    private enum Step {
        case send(LiveProgress.Request)
        case wait(Double)
    }

    private mutating func step(_ lane: ViewerLane, _ now: Double) -> Step {
        guard reading.hasManifest, title.source.form == .hls || reading.manifest != nil else {
            return lane == .video ? .send(.manifest) : .wait(.infinity)
        }
        if let clock = reading.nextClock(of: title) {
            return lane == .video ? .send(.clock(clock)) : .wait(.infinity)
        }
        if let reload = dueReload(lane, now) { return .send(reload) }
        if title.source.form == .dash { updateView(lane, now) }
        guard isWanted(self[lane]) else { return .wait(endSeconds(now)) }
        if let full = fullUntilSeconds(lane, now) {
            return .wait(min(full, self[lane].reloadSeconds))
        }
        schedule(lane, now)
        if lane == .video, self[lane].cursor?.part == 0 {
            choose()
            if let reload = dueReload(lane, now) { return .send(reload) }
            if self[lane].view == nil { updateView(lane, now) }
        }
        // A gap passes without a request.
        while let unit = self[lane].unit, unit.object < 0 { pass(unit, lane) }
        guard let unit = self[lane].unit else {
            if self[lane].isAtEnd { return .wait(endSeconds(now)) }
            return awaitNext(lane, now)
        }
        if let need = unit.needs.first(where: { !self[lane].needs.contains($0) }) {
            return .send(.need(need))
        }
        return .send(.unit)
    }

    private func awaitNext(_ lane: ViewerLane, _ now: Double) -> Step {
        if let reload = blockingReload(lane) { return .send(reload) }
        return .wait(
            min(self[lane].reloadSeconds, reading.manifest?.listsAgainSeconds ?? .infinity))
    }

    /// Sets the first position, or a later one if the next segment is no longer listed.
    private mutating func schedule(_ lane: ViewerLane, _ now: Double) {
        guard let view = self[lane].view else { return }
        let track = self[lane].track
        if let cursor = self[lane].cursor, cursor.number >= view.numbers.lowerBound { return }
        let edge: Double? = title.source.form == .dash ? edgeOfTimeline(track, now) : nil
        guard let first = track.start(view, edgeSeconds: edge) else { return }
        if let last = self[lane].cursor {
            screen.totals.skips += 1
            if lane == .video, let passed = track.startSeconds(first),
                let before = track.startSeconds(last)
            {
                start.epochSeconds? += passed - before
            }
        }
        self[lane].cursor = first
        guard lane == .video, start.epochSeconds == nil, let epoch = track.epochSeconds,
            let seconds = track.startSeconds(first)
        else { return }
        start.epochSeconds = epoch + seconds
    }

    private func edgeOfTimeline(_ track: LiveTrack, _ now: Double) -> Double? {
        track.epochSeconds.map { title.epoch(now) - $0 }
    }

    private mutating func updateView(_ lane: ViewerLane, _ now: Double) {
        guard let manifest = reading.manifest else { return }
        self[lane].view = title.view(of: self[lane].track, manifest, atSeconds: now)
    }

    // MARK: Buffer

    private func isWanted(_ progress: LiveProgress) -> Bool {
        progress.bufferedToSeconds < limitSeconds - Viewer.toleranceSeconds
    }

    private func hasMore(_ progress: LiveProgress) -> Bool {
        isWanted(progress) && !progress.isAtEnd
    }

    var hasMore: Bool { hasMore(video) || (audio.map(hasMore) ?? false) }

    /// End of the playable buffer; of the lanes that have more, or of all.
    private var playableToSeconds: Double {
        let buffered = Screen.playableToSeconds(
            video: video.bufferedToSeconds, hasMoreVideo: hasMore(video),
            audio: audio?.bufferedToSeconds ?? 0, hasMoreAudio: audio.map(hasMore) ?? false)
        return min(buffered, limitSeconds)
    }

    private func endSeconds(_ now: Double) -> Double {
        guard screen.state == .playing else { return .infinity }
        return now + max(playableToSeconds - screen.playheadSeconds, 0) + Viewer.toleranceSeconds
    }

    private func fullUntilSeconds(_ lane: ViewerLane, _ now: Double) -> Double? {
        guard screen.state == .playing else { return nil }
        let goal = max(settings.bufferSeconds, startupSeconds)
        let spare = self[lane].bufferedToSeconds - screen.playheadSeconds - goal
        return spare > Viewer.toleranceSeconds ? now + spare : nil
    }

    /// Buffer at which playback starts: near the edge there is not more than the hold-back less one
    /// segment or part.
    private var startupSeconds: Double {
        guard let view = video.view else { return settings.startupSeconds }
        let unit = view.partTargetSeconds > 0 ? view.partTargetSeconds : view.targetSeconds
        return min(settings.startupSeconds, max(view.holdBackSeconds - unit, unit / 2))
    }

    private mutating func play(toSeconds now: Double) {
        screen.advance(
            toSeconds: now, playableToSeconds: playableToSeconds, isWhole: !hasMore)
    }

    private mutating func pass(_ unit: LiveUnit, _ lane: ViewerLane) {
        self[lane].bufferedToSeconds += unit.seconds
        self[lane].cursor = unit.next
    }

    private mutating func take(
        _ unit: LiveUnit, _ lane: ViewerLane, _ bytes: Int64, _ now: Double,
        into interval: inout LoadInterval
    ) {
        interval.counts.playback.segments += 1
        let progress = self[lane]
        screen.countIfLate(fromSeconds: progress.bufferedToSeconds)
        if lane == .video {
            let stated = Double(progress.track.source.bitsPerSecond)
            screen.append(
                fromSeconds: progress.bufferedToSeconds,
                bitsPerSecond: stated > 0
                    ? stated : Double(bytes) * 8 / max(unit.seconds, 0.001))
        }
        if !unit.needs.isEmpty { self[lane].needs = unit.needs }
        pass(unit, lane)
        playAgain(now, into: &interval)
    }

    private mutating func playAgain(_ now: Double, into interval: inout LoadInterval) {
        let plays = screen.playAgain(
            playableToSeconds: playableToSeconds, withSeconds: startupSeconds, isWhole: !hasMore,
            into: &interval)
        if plays, start.latencySeconds == nil { start.latencySeconds = latency(now) }
    }

    /// Returns the time since the playhead's position was live; nil before the start.
    func latency(_ now: Double) -> Double? {
        start.epochSeconds.map { title.epoch(now) - $0 - screen.playheadSeconds }
    }

    static func microseconds(_ seconds: Double) -> Int64 {
        Int64((min(max(seconds, 0), 1e9) * 1_000_000).rounded())
    }
}
