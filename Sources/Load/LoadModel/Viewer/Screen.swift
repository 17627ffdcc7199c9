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
        /// Can move to stalled and ended.
        case playing
        /// Can move to playing.
        case stalled
        case ended
    }

    struct Totals: Sendable {
        var playedSeconds = 0.0
        var stalledSeconds = 0.0
        /// Bits of the renditions played: bit rate times time.
        var playedBits = 0.0
        var stalls: Int64 = 0
        var lateSegments: Int64 = 0
        var switches: Int64 = 0
    }

    /// A part of the buffer with one bit rate, from `fromSeconds` to the start of the next.
    private struct Run: Sendable {
        var fromSeconds: Double
        var bitsPerSecond: Double
    }

    private(set) var state = State.starting
    private(set) var playheadSeconds = 0.0
    var totals = Totals()

    private var clockSeconds: Double
    private var reported = Totals()
    private var stalledSinceSeconds: Double?
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
        case .starting, .ended: break
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

    /// Starts playback, or resumes it after a stall.
    mutating func play(plannedSeconds: Double, into interval: inout LoadInterval) {
        if let since = stalledSinceSeconds {
            interval.record(Self.microseconds(clockSeconds - since), .stall)
            stalledSinceSeconds = nil
        } else if state == .starting {
            recordStartup(clockSeconds - plannedSeconds, into: &interval)
        }
        state = .playing
    }

    /// Records a start-up time, also that of a viewer that is cut off.
    func recordStartup(_ seconds: Double, into interval: inout LoadInterval) {
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
        reported = totals
    }

    /// Adds the viewer's own figures if it played.
    mutating func finish(into interval: inout LoadInterval) {
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
