/// One who plays a title, as far as requests tell: what to ask for when, and what that comes to on the screen.
///
/// The playhead is virtual and the clock the test's. The manifest comes first, then what the chosen rendition
/// and the audio need before their first segments, then segments, one request at a time; with audio of its
/// own, whichever of both has less in the buffer. A segment that needs another initialization section, or
/// another key, has that asked for before it; each of these comes once, and is kept. While the buffer holds
/// `bufferSeconds` nothing is asked for (Shaka's `bufferingGoal`, hls.js's `maxBufferLength`). Playing is in
/// `Viewer+Playing.swift`, the choice of renditions in `Viewer+Renditions.swift`.
///
/// A request that failed is made again 0.5 s later, and 1 s after that; then the viewer has failed.
///
/// A value, confined to the loop that drives it. Nothing is allocated for a segment of the same rendition.
package struct Viewer: Sendable {
    package enum Action: Sendable, Equatable {
        /// Ask for this object of the plan now.
        case fetch(object: Int)
        /// Nothing is to be asked for until then, on the test's clock.
        case wait(untilSeconds: Double)
        /// It is over; call `finish`.
        case end
    }

    /// The targets of the command line.
    enum Request: Sendable, Equatable {
        case manifest
        /// What a segment needs: playlist, initialization section, key, index.
        case need(Int32)
        case segment
        case audioSegment
    }

    /// One track's way through the title.
    struct Reel: Sendable {
        /// The next segment, and where it begins.
        var segment = 0
        var cursorSeconds = 0.0
        /// Up to where there is something to play.
        var bufferedToSeconds = 0.0
        /// The part of the track of which all that it needs is there; nil where that is not known.
        var readyPart: Int32?
    }

    static let retrySeconds = [0.5, 1.0]
    /// What sums of durations may be off by.
    static let toleranceSeconds = 1e-6

    let title: MediaTitle
    let settings: ViewerSettings
    let plannedSeconds: Double
    /// Seconds of the title, all passes together, that are watched at most.
    let limitSeconds: Double

    var hasManifest = false
    /// The rendition being fetched.
    var track: Int
    /// What is there of all that tracks need beside segments.
    private var fetched = FetchedNeeds()
    /// Whether picture and sound have what their first segments need.
    private var isSetUp = false
    var video = Reel()
    var audio = Reel()
    /// Where this pass of a title that loops began.
    var passStartSeconds = 0.0
    var estimate = ThroughputEstimate()
    var screen: Screen

    private var request: Request?
    private var failures = 0
    /// When a failed request is made again, or a full buffer has room.
    private var resumesSeconds: Double?
    /// Whether a request failed for good.
    package private(set) var hasFailed = false
    private var isOver = false

    /// - Parameter plannedSeconds: when it was due on the test's clock; its start-up counts from then.
    package init(title: MediaTitle, settings: ViewerSettings, plannedSeconds: Double) {
        self.title = title
        self.settings = settings
        self.plannedSeconds = plannedSeconds
        limitSeconds = settings.watchSeconds ?? .infinity
        track = Self.first(of: title, settings)
        screen = Screen(clockSeconds: plannedSeconds)
    }

    /// What to do at first, after a wait, and after `received`.
    package mutating func next(atSeconds now: Double) -> Action {
        guard !isOver else { return .end }
        play(toSeconds: now)
        if let resumes = resumesSeconds {
            guard now >= resumes else { return .wait(untilSeconds: resumes) }
            resumesSeconds = nil
        } else if request == nil, let full = fullUntilSeconds(now) {
            resumesSeconds = full
            return .wait(untilSeconds: full)
        }
        if request == nil { request = nextRequest() }
        if let request { return .fetch(object: object(of: request)) }
        // All is there: what is left is to play it.
        guard screen.state == .playing else {
            isOver = true
            return .end
        }
        return .wait(untilSeconds: now + max(playableToSeconds - screen.playheadSeconds, 0))
    }

    /// Takes the object that was asked for last.
    ///
    /// - Parameter tookSeconds: from sending the request to its last byte.
    package mutating func received(
        bytes: Int64, tookSeconds: Double, atSeconds now: Double, into interval: inout LoadInterval
    ) {
        guard let request else { return }
        self.request = nil
        failures = 0
        play(toSeconds: now)
        switch request {
        case .manifest: hasManifest = true
        case .need(let object): fetched.insert(title.number(of: object))
        case .segment, .audioSegment:
            estimate.add(bytes: bytes, tookSeconds: tookSeconds)
            take(isAudio: request == .audioSegment, bytes: bytes, into: &interval)
            playAgain(atSeconds: now, into: &interval)
        }
    }

    /// Says what becomes of a request that failed.
    package mutating func failed(atSeconds now: Double) -> Action {
        guard request != nil, !isOver else { return .end }
        play(toSeconds: now)
        guard failures < Self.retrySeconds.count else {
            hasFailed = true
            isOver = true
            return .end
        }
        let again = now + Self.retrySeconds[failures]
        failures += 1
        resumesSeconds = again
        return .wait(untilSeconds: again)
    }

    /// Adds what was played and waited for since the last call: once a second, and at the end.
    package mutating func account(toSeconds now: Double, into interval: inout LoadInterval) {
        if !isOver { play(toSeconds: now) }
        screen.report(into: &interval)
    }

    /// Adds the rest and the viewer's own figures, once, and counts it among those that ended; who began it counts
    /// it among those that started.
    ///
    /// Figures of playing are those of viewers that played: one that failed before is counted as failed
    /// alone. A stall that lasts counts with its length so far, and so does a start-up that has taken longer
    /// than is usual: a shorter one says nothing of how long it would have been.
    ///
    /// - Parameters:
    ///   - isCutOff: the test ended first, which is no failure.
    ///   - usualStartupSeconds: of viewers that began to play; 0 where none did.
    package mutating func finish(
        atSeconds now: Double, isCutOff: Bool, usualStartupSeconds: Double = 0,
        into interval: inout LoadInterval
    ) {
        account(toSeconds: now, into: &interval)
        isOver = true
        interval.counts.viewersEnded += 1
        if hasFailed, !isCutOff { interval.counts.viewersFailed += 1 }
        if isCutOff, screen.state == .starting {
            interval.counts.viewersNotStarted += 1
            let waited = now - plannedSeconds
            if waited > usualStartupSeconds { screen.recordStartup(waited, into: &interval) }
        }
        screen.finish(into: &interval)
    }

    // MARK: What comes next

    /// When the buffer has room again; nil while it has.
    private func fullUntilSeconds(_ now: Double) -> Double? {
        guard screen.state == .playing, hasMore else { return nil }
        let goal = max(settings.bufferSeconds, settings.startupSeconds)
        let spare = aheadSeconds - goal
        return spare > 0 ? now + spare : nil
    }

    private mutating func nextRequest() -> Request? {
        guard hasManifest else { return .manifest }
        if !isSetUp {
            if let need = missingVideo() ?? missingAudio() { return .need(need) }
            isSetUp = true
        }
        switch (hasMoreVideo, hasMoreAudio) {
        case (false, false): return nil
        case (false, true): return audioRequest()
        case (true, true) where audio.bufferedToSeconds < video.bufferedToSeconds:
            return audioRequest()
        default:
            choose()
            return missingVideo().map(Request.need) ?? .segment
        }
    }

    private mutating func audioRequest() -> Request {
        missingAudio().map(Request.need) ?? .audioSegment
    }

    /// The first object that the picture's next segment needs and that is not there.
    private mutating func missingVideo() -> Int32? {
        fetched.missing(of: title.video[track], in: title, &video)
    }

    private mutating func missingAudio() -> Int32? {
        guard let track = title.audio else { return nil }
        return fetched.missing(of: track, in: title, &audio)
    }

    private func object(of request: Request) -> Int {
        switch request {
        case .manifest: Int(title.manifest)
        case .need(let object): Int(object)
        case .segment: Int(title.video[track].segments[video.segment].object)
        case .audioSegment: Int(title.audio?.segments[audio.segment].object ?? title.manifest)
        }
    }
}
