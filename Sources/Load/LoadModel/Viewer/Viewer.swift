/// A viewer of a title as its requests show it: chooses the next object and its time, and simulates
/// playback.
///
/// The playhead is virtual and uses the test's clock. The manifest comes first, then the objects
/// that the chosen rendition and the audio need, then segments, one request at a time. With
/// separate audio, the track with less in the buffer comes first; with `parallelRequests`, each
/// has a lane. If a segment needs another
/// initialization section or another key, that is requested before it; each is requested once and
/// kept. A buffer of `bufferSeconds` pauses requests (Shaka's `bufferingGoal`, hls.js's
/// `maxBufferLength`). Playback is in `Viewer+Playing.swift`, the choice of renditions in
/// `Viewer+Renditions.swift`.
///
/// A failed request is retried as `RequestTries` has it; then the viewer has failed.
///
/// A value, confined to the loop that drives it. A segment of the same rendition allocates nothing.
package struct Viewer: PlayingViewer, Sendable {
    package enum Action: Sendable, Equatable {
        /// Request this object of the plan now.
        case fetch(object: Int)
        /// Request nothing until then, on the test's clock.
        case wait(untilSeconds: Double)
        /// The viewer has ended; call `finish`.
        case end
    }

    /// The progress of one track.
    struct Progress: Sendable {
        /// The next segment, and its start.
        var segment = 0
        var cursorSeconds = 0.0
        /// End of the buffered time.
        var bufferedToSeconds = 0.0
        /// The part of the track whose objects are all fetched; nil if unknown.
        var readyPart: Int32?
    }

    /// Tolerance for sums of durations.
    static let toleranceSeconds = 1e-6

    private(set) var title: MediaTitle
    let settings: ViewerSettings
    var traits: ViewerTraits
    /// Maximum watched seconds of the title, all passes together.
    let limitSeconds: Double

    /// The rendition being fetched.
    var track: Int
    /// Fetched objects that tracks need beside segments.
    private var fetched = FetchedNeeds()
    var video = Progress()
    var audio = Progress()
    /// Start of the current pass of a looping title.
    var passStartSeconds = 0.0
    var estimate = ThroughputEstimate()
    var screen: Screen
    private var requests = ViewerRequests()
    /// Position of the playhead at its next seek.
    var nextSeekSeconds = Double.infinity
    private var isOver = false

    /// Creates a viewer.
    ///
    /// - Parameter plannedSeconds: due time on the test's clock; its start-up time counts from
    ///   then.
    package init(
        title: MediaTitle, settings: ViewerSettings, traits: ViewerTraits = ViewerTraits(),
        plannedSeconds: Double
    ) {
        self.title = title
        self.settings = settings
        self.traits = traits
        limitSeconds = min(settings.watchSeconds ?? .infinity, traits.watchSeconds)
        track = traits.first(of: title.video, settings)
        screen = Screen(plannedSeconds: plannedSeconds)
        nextSeekSeconds = self.traits.nextSeekSeconds()
    }

    package var lanes: Int { settings.parallelRequests && title.audio != nil ? 2 : 1 }

    package func readsBody(_ lane: ViewerLane) -> Bool { false }

    /// Returns the next action, at first, after a wait, and after `received`.
    package mutating func next(_ lane: ViewerLane = .video, atSeconds now: Double) -> Action {
        guard !isOver else { return .end }
        play(toSeconds: now)
        if let resumes = requests[lane].resumesSeconds {
            guard now >= resumes else { return .wait(untilSeconds: resumes) }
            requests[lane].resumesSeconds = nil
        }
        if requests.isIdle { seekIfDue() }
        if requests[lane].object == nil {
            if let full = fullUntilSeconds(lane, now) {
                requests[lane].resumesSeconds = full
                return .wait(untilSeconds: full)
            }
            requests[lane].object = nextRequest(lane)
        }
        if let request = requests[lane].object { return .fetch(object: object(of: request)) }
        // The other lane has more.
        guard !hasMore else { return .wait(untilSeconds: .infinity) }
        // All segments are fetched: only playback is left.
        guard screen.state == .playing else {
            isOver = true
            return .end
        }
        let end = now + max(playableToSeconds - screen.playheadSeconds, 0)
        return .wait(untilSeconds: min(end, seekSeconds(now)))
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

    /// Adds the last requested object of a lane.
    ///
    /// - Parameter tookSeconds: from sending the request to its last byte.
    package mutating func received(
        _ lane: ViewerLane = .video, bytes: Int64, body: [UInt8] = [], tookSeconds: Double,
        atSeconds now: Double, into interval: inout LoadInterval
    ) {
        guard let request = requests[lane].object else { return }
        let isOld = requests[lane].isOfOldPathway
        requests[lane] = ViewerRequests.Current()
        play(toSeconds: now)
        switch request {
        case .manifest: fetched.hasManifest = true
        case .need(let object):
            if !isOld, let number = title.number(of: object) { fetched.insert(number) }
        case .segment, .audioSegment:
            estimate.add(bytes: bytes, tookSeconds: tookSeconds)
            take(isAudio: request == .audioSegment, bytes: bytes, into: &interval)
            screen.playAgain(
                playableToSeconds: playableToSeconds, withSeconds: settings.startupSeconds,
                isWhole: !hasMore, into: &interval)
        }
    }

    /// Returns the action after a failed request of a lane.
    package mutating func failed(_ lane: ViewerLane = .video, atSeconds now: Double) -> Action {
        guard requests[lane].object != nil, !isOver else { return .end }
        play(toSeconds: now)
        guard let again = requests.failed(lane, atSeconds: now) else {
            screen.fail()
            isOver = true
            return .end
        }
        return .wait(untilSeconds: again)
    }

    package var throughput: Double? { estimate.bitsPerSecond }

    package func isLastTry(_ lane: ViewerLane) -> Bool { requests.isLastTry(lane) }

    package mutating func retry(_ lane: ViewerLane) { requests.retry(lane) }

    /// Continues on another pathway: its playlists, sections and keys are requested there.
    package mutating func change(to other: MediaTitle, failed: ViewerLane?) {
        let before = (title.video[track], title.audio)
        title = other
        track = other.video.lastIndex { $0.bitsPerSecond <= before.0.bitsPerSecond } ?? 0
        if other.video[track].segments.count != before.0.segments.count {
            video = placed(video, in: other.video[track].segments)
        }
        if let sound = other.audio, sound.segments.count != before.1?.segments.count {
            audio = placed(audio, in: sound.segments)
        }
        fetched.forgetObjects()
        video.readyPart = nil
        audio.readyPart = nil
        requests.changePathway(failed: failed)
    }

    /// Adds played and stalled time since the last call; called once a second and at the end.
    package mutating func account(toSeconds now: Double, into interval: inout LoadInterval) {
        if !isOver { play(toSeconds: now) }
        screen.report(into: &interval)
    }

    /// Adds the remaining time and the viewer's own figures, once, and counts it as ended; its
    /// owner counts the start.
    ///
    /// Playback figures include only viewers that played; one that failed earlier counts only as
    /// failed. A stall in progress counts with its length so far. So does a start-up that has taken
    /// longer than usual; a shorter one does not show its full length.
    ///
    /// - Parameters:
    ///   - isCutOff: true if the test ended first, which is not a failure.
    ///   - usualStartupSeconds: of viewers that began to play; 0 if none did.
    package mutating func finish(
        atSeconds now: Double, isCutOff: Bool, usualStartupSeconds: Double = 0,
        into interval: inout LoadInterval
    ) {
        account(toSeconds: now, into: &interval)
        isOver = true
        screen.end(
            atSeconds: now, isCutOff: isCutOff, usualStartupSeconds: usualStartupSeconds,
            into: &interval)
    }

    // MARK: Next request

    /// Returns the time at which a full buffer has space again; nil if it has space.
    private func fullUntilSeconds(_ lane: ViewerLane, _ now: Double) -> Double? {
        guard screen.state == .playing, hasMore else { return nil }
        let goal = max(settings.bufferSeconds, settings.startupSeconds)
        var ahead = aheadSeconds
        if lanes > 1 {
            let progress = lane == .video ? video : audio
            ahead = progress.bufferedToSeconds - screen.playheadSeconds
        }
        let spare = ahead - goal
        return spare > Self.toleranceSeconds ? min(now + spare, seekSeconds(now)) : nil
    }

    private mutating func nextRequest(_ lane: ViewerLane) -> ViewerRequests.Object? {
        guard fetched.hasManifest else { return lane == .video ? .manifest : nil }
        if lanes > 1 {
            guard lane == .video else { return hasMoreAudio ? audioRequest() : nil }
            return hasMoreVideo ? videoRequest() : nil
        }
        if !fetched.isSetUp {
            if let need = missingVideo() ?? missingAudio() { return .need(need) }
            fetched.isSetUp = true
        }
        switch (hasMoreVideo, hasMoreAudio) {
        case (false, false): return nil
        case (false, true): return audioRequest()
        case (true, true) where audio.bufferedToSeconds < video.bufferedToSeconds:
            return audioRequest()
        default: return videoRequest()
        }
    }

    private mutating func videoRequest() -> ViewerRequests.Object {
        choose()
        return missingVideo().map(ViewerRequests.Object.need) ?? .segment
    }

    private mutating func audioRequest() -> ViewerRequests.Object {
        missingAudio().map(ViewerRequests.Object.need) ?? .audioSegment
    }

    /// Returns the first missing object that the next video segment needs.
    private mutating func missingVideo() -> Int32? {
        fetched.missing(of: title.video[track], in: title, &video)
    }

    private mutating func missingAudio() -> Int32? {
        guard let track = title.audio else { return nil }
        return fetched.missing(of: track, in: title, &audio)
    }

    private func object(of request: ViewerRequests.Object) -> Int {
        switch request {
        case .manifest: Int(title.manifest)
        case .need(let object): Int(object)
        case .segment: Int(title.video[track].segments[video.segment].object)
        case .audioSegment: Int(title.audio?.segments[audio.segment].object ?? title.manifest)
        }
    }
}
