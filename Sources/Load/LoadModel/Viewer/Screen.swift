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

    private var clockSeconds: Double
    private var reported = Totals()
    private var stalledSinceSeconds: Double?
    private var seekingSinceSeconds: Double?
    private var runs: [Run] = []

    init(clockSeconds: Double) { self.clockSeconds = clockSeconds }

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

    /// The current wait of a viewer that was due at `plannedSeconds`.
    func wait(plannedSeconds: Double) -> Wait {
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

    /// Starts playback, or resumes it after a stall or a seek.
    mutating func play(plannedSeconds: Double, into interval: inout LoadInterval) {
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
        interval.counts.playedSeconds += totals.playedSeconds - reported.playedSeconds
        interval.counts.stalledSeconds += totals.stalledSeconds - reported.stalledSeconds
        interval.counts.playedBits += totals.playedBits - reported.playedBits
        interval.counts.stalls += totals.stalls - reported.stalls
        interval.counts.lateSegments += totals.lateSegments - reported.lateSegments
        interval.counts.switches += totals.switches - reported.switches
        interval.counts.liveSkips += totals.skips - reported.skips
        interval.counts.seeks += totals.seeks - reported.seeks
        reported = totals
    }

    /// The totals of its viewer, which has ended.
    func totals(hasFailed: Bool, hasAbandoned: Bool) -> ViewerTotals {
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

    /// How a viewer ends.
    struct Ending {
        var plannedSeconds: Double
        var atSeconds: Double
        var hasFailed: Bool
        /// True if it left because it waited too long.
        var hasAbandoned: Bool
        var isCutOff: Bool
        var usualStartupSeconds: Double
    }

    /// Counts the viewer as ended, and adds its figures.
    mutating func end(_ ending: Ending, into interval: inout LoadInterval) {
        interval.counts.viewersEnded += 1
        if ending.hasFailed, !ending.isCutOff { interval.counts.viewersFailed += 1 }
        if ending.hasAbandoned { interval.counts.viewersAbandoned += 1 }
        if ending.isCutOff || ending.hasAbandoned, state == .starting {
            interval.counts.viewersNotStarted += 1
            let waited = ending.atSeconds - ending.plannedSeconds
            if waited > ending.usualStartupSeconds { recordStartup(waited, into: &interval) }
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
