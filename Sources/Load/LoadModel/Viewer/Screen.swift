import Model

/// A viewer's playback: it waits at first, then plays, and stalls whenever the buffer runs empty
/// before the end.
///
/// Positions are seconds of the title from its start, summed over all passes, so the playhead
/// equals the played time.
struct Screen: Sendable {
    enum State: Sendable {
        /// Can move to playing.
        case starting
        /// Can move to stalled, seeking and ended.
        case playing
        /// Can move to playing.
        case stalled
        /// Can move to playing.
        case seeking
        case ended
    }

    /// A wait for the next frame, with its length so far in seconds.
    enum Wait: Sendable, Equatable {
        case none
        case startup(Double)
        case stall(Double)
    }

    struct Totals: Sendable {
        var playedSeconds = 0.0
        var stalledSeconds = 0.0
        /// Bits of the renditions played: bit rate times time.
        var playedBits = 0.0
        var stalls: Int64 = 0
        var lateSegments: Int64 = 0
        var switches: Int64 = 0
        var skips: Int64 = 0
        var seeks: Int64 = 0
    }

    /// A part of the buffer with one bit rate, from `fromSeconds` to the start of the next.
    private struct Run: Sendable {
        var fromSeconds: Double
        var bitsPerSecond: Double
    }

    private(set) var state = State.starting
    private(set) var playheadSeconds = 0.0
    /// Nil before the start.
    private var startupSeconds: Double?
    var totals = Totals()

    /// True if a request of its viewer failed permanently.
    private(set) var hasFailed = false
    /// True if its viewer left because it waited too long.
    private var hasAbandoned = false

    /// Due time of its viewer on the test's clock.
    private let plannedSeconds: Double
    private var clockSeconds: Double
    private var reported = Totals()
    private var stalledSinceSeconds: Double?
    private var seekingSinceSeconds: Double?
    private var runs: [Run] = []

    /// - Parameter plannedSeconds: due time of its viewer on the test's clock, from which the
    ///   start-up counts.
    init(plannedSeconds: Double) {
        self.plannedSeconds = plannedSeconds
        clockSeconds = plannedSeconds
    }

    /// End of the playable buffer. Audio and video are needed together, unless one of them has
    /// ended.
    static func playableToSeconds(
        video: Double, hasMoreVideo: Bool, audio: Double, hasMoreAudio: Bool
    ) -> Double {
        switch (hasMoreVideo, hasMoreAudio) {
        case (true, true): min(video, audio)
        case (true, false): video
        case (false, true): audio
        case (false, false): max(video, audio)
        }
    }

    /// Records the bit rate of the title from a position on.
    mutating func append(fromSeconds: Double, bitsPerSecond: Double) {
        guard runs.last?.bitsPerSecond != bitsPerSecond else { return }
        runs.append(Run(fromSeconds: fromSeconds, bitsPerSecond: bitsPerSecond))
    }

    /// Advances the time.
    ///
    /// - Parameters:
    ///   - playable: the position up to which the title can be played.
    ///   - isWhole: true if nothing more follows.
    mutating func advance(toSeconds now: Double, playableToSeconds playable: Double, isWhole: Bool)
    {
        let passed = now - clockSeconds
        guard passed > 0 else { return }
        clockSeconds = now
        switch state {
        case .starting, .seeking, .ended: break
        case .stalled: totals.stalledSeconds += passed
        case .playing:
            let left = max(playable - playheadSeconds, 0)
            let isAtEnd = passed >= left - Viewer.toleranceSeconds
            play(seconds: isAtEnd ? left : passed)
            guard isAtEnd else { return }
            if isWhole {
                state = .ended
            } else if passed > left + Viewer.toleranceSeconds {
                state = .stalled
                stalledSinceSeconds = now - (passed - left)
                totals.stalls += 1
                totals.stalledSeconds += passed - left
            }
        }
    }

    /// Counts a segment for which the playhead waits: it has arrived late.
    mutating func countIfLate(fromSeconds position: Double) {
        guard state == .stalled, position <= playheadSeconds + Viewer.toleranceSeconds else {
            return
        }
        totals.lateSegments += 1
    }

    /// Records that a request of its viewer failed for the last time.
    mutating func fail() { hasFailed = true }

    /// Returns true, once, if its viewer leaves because it has waited too long.
    mutating func abandons(_ traits: ViewerTraits) -> Bool {
        guard traits.abandons(wait) else { return false }
        hasAbandoned = true
        return true
    }

    private var wait: Wait {
        if state == .starting { return .startup(clockSeconds - plannedSeconds) }
        return stalledSinceSeconds.map { .stall(clockSeconds - $0) } ?? .none
    }

    /// Drops the buffer and waits for another position.
    mutating func seek() {
        state = .seeking
        seekingSinceSeconds = clockSeconds
        totals.seeks += 1
        runs.removeAll { $0.fromSeconds > playheadSeconds }
    }

    /// Starts playback, or resumes it after a stall or a seek, if the buffer suffices: a number of
    /// seconds, or all that there is. Returns true if it does.
    @discardableResult mutating func playAgain(
        playableToSeconds playable: Double, withSeconds enough: Double, isWhole: Bool,
        into interval: inout LoadInterval
    ) -> Bool {
        guard state != .playing, state != .ended else { return false }
        let ahead = playable - playheadSeconds
        guard ahead > 0, ahead >= enough - Viewer.toleranceSeconds || isWhole else { return false }
        if let since = stalledSinceSeconds {
            interval.record(Self.microseconds(clockSeconds - since), .stall)
            stalledSinceSeconds = nil
        } else if let since = seekingSinceSeconds {
            interval.record(Self.microseconds(clockSeconds - since), .seek)
            seekingSinceSeconds = nil
        } else if state == .starting {
            recordStartup(clockSeconds - plannedSeconds, into: &interval)
        }
        state = .playing
        return true
    }

    /// Records a start-up time, also that of a viewer that is cut off.
    private mutating func recordStartup(
        _ seconds: Double, into interval: inout LoadInterval
    ) {
        startupSeconds = seconds
        interval.record(Self.microseconds(seconds), .startup)
    }

    /// Adds the changes since the last call.
    mutating func report(into interval: inout LoadInterval) {
        interval.counts.playback.playedSeconds += totals.playedSeconds - reported.playedSeconds
        interval.counts.playback.stalledSeconds += totals.stalledSeconds - reported.stalledSeconds
        interval.counts.playback.playedBits += totals.playedBits - reported.playedBits
        interval.counts.playback.stalls += totals.stalls - reported.stalls
        interval.counts.playback.lateSegments += totals.lateSegments - reported.lateSegments
        interval.counts.playback.switches += totals.switches - reported.switches
        interval.counts.live.skips += totals.skips - reported.skips
        interval.counts.playback.seeks += totals.seeks - reported.seeks
        reported = totals
    }

    /// The totals of its viewer, which has ended.
    var viewerTotals: ViewerTotals {
        var all = ViewerTotals()
        all.viewers = 1
        all.failed = hasFailed ? 1 : 0
        all.abandoned = hasAbandoned ? 1 : 0
        if let startupSeconds {
            all.startups = 1
            all.startupSeconds = startupSeconds
            all.longestStartupSeconds = startupSeconds
        }
        all.stalls = totals.stalls
        all.playedSeconds = totals.playedSeconds
        all.stalledSeconds = totals.stalledSeconds
        all.playedBits = totals.playedBits
        return all
    }

    /// Counts the viewer as ended, and adds its figures.
    ///
    /// - Parameters:
    ///   - isCutOff: true if the test ended first, which is not a failure.
    ///   - usualStartupSeconds: of viewers that began to play; 0 if none did.
    mutating func end(
        atSeconds now: Double, isCutOff: Bool, usualStartupSeconds: Double,
        into interval: inout LoadInterval
    ) {
        interval.counts.viewers.ended += 1
        if hasFailed, !isCutOff { interval.counts.viewers.failed += 1 }
        if hasAbandoned { interval.counts.viewers.abandoned += 1 }
        if isCutOff || hasAbandoned, state == .starting {
            interval.counts.viewers.notStarted += 1
            let waited = now - plannedSeconds
            if waited > usualStartupSeconds { recordStartup(waited, into: &interval) }
        }
        finish(into: &interval)
    }

    /// Adds the viewer's own figures if it played.
    private mutating func finish(into interval: inout LoadInterval) {
        if let since = stalledSinceSeconds {
            interval.record(Self.microseconds(clockSeconds - since), .stall)
            stalledSinceSeconds = nil
        }
        guard state != .starting else { return }
        let (played, stalled) = (totals.playedSeconds, totals.stalledSeconds)
        interval.record(totals.stalls, .viewerStalls)
        interval.record(totals.lateSegments, .viewerLateSegments)
        interval.record(totals.switches, .viewerSwitches)
        if played + stalled > 0 {
            let ratio = stalled / (stalled + played) * 1_000_000
            interval.record(Int64(saturating: ratio.rounded()), .viewerRebuffering)
        }
        let rate = played > 0 ? totals.playedBits / played / 1_000 : 0
        // A rendition with an absurd bit rate still counts.
        if rate > 0 {
            interval.record(Int64(saturating: min(rate.rounded(), 1e12)), .viewerBitRate)
        }
    }

    private mutating func play(seconds: Double) {
        totals.playedSeconds += seconds
        let end = playheadSeconds + seconds
        while let run = runs.first {
            let next = runs.count > 1 ? runs[1].fromSeconds : .infinity
            let until = min(next, end)
            totals.playedBits += max(until - playheadSeconds, 0) * run.bitsPerSecond
            playheadSeconds = max(until, playheadSeconds)
            guard next <= end else { break }
            runs.removeFirst()
        }
        playheadSeconds = end
    }

    private static func microseconds(_ seconds: Double) -> Int64 {
        Int64((min(seconds, 1e9) * 1_000_000).rounded())
    }
}
