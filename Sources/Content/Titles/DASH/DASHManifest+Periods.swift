import Model

/// Calculates the times of periods (5.3.2.1) and the number of segments of a length.
extension DASHManifest {
    /// A period on the presentation's timeline, in nanoseconds.
    struct Span {
        var start: Int64
        /// Nil if unknown.
        var length: Int64?
        /// True if it ends at the live edge, where an incomplete segment is not available.
        var isOpen = false
        /// Start of the available part, from the period's start.
        var windowStart: Int64 = 0
    }

    /// Returns the times of all periods in order.
    ///
    /// Throws `manifest.malformed` for a period without a known start, or that ends before it
    /// begins.
    func spans() throws(Failure) -> [Span] {
        let starts = try starts()
        let now = snapshotTime
        var spans: [Span] = []
        for (index, start) in starts.enumerated() {
            var span = Span(start: start)
            span.length =
                index + 1 < starts.count ? starts[index + 1] - start : lengthOfLast(starts).length
            if let length = span.length, length < 0 {
                throw failure(
                    .manifestMalformed, "\(name(ofPeriod: index)) ends before it begins")
            }
            if let now { Self.cut(&span, to: now, depth: timeShiftBufferDepth) }
            spans.append(span)
        }
        return spans
    }

    private func starts() throws(Failure) -> [Int64] {
        var starts: [Int64] = []
        for (index, period) in periods.enumerated() {
            if let start = period.start {
                starts.append(start)
            } else if index == 0 {
                starts.append(0)
            } else if let duration = periods[index - 1].duration {
                // Both are below 2^63 / 2: see XMLTime.
                let (sum, isLarge) = starts[index - 1].addingReportingOverflow(duration)
                guard !isLarge else { throw failure(.manifestMalformed, "a time is too large") }
                starts.append(sum)
            } else {
                throw failure(
                    .manifestMalformed,
                    "\(name(ofPeriod: index)) has no start, and the one before it no duration")
            }
        }
        return starts
    }

    /// Returns the length of the last period, nil if unknown. `isFromFirst` is true if it is
    /// counted from the first period's start, because the presentation would end before the period
    /// begins.
    private func lengthOfLast(_ starts: [Int64]) -> (length: Int64?, isFromFirst: Bool) {
        let own = periods.last?.duration
        if let own, own > 0 || findings.isStrict { return (own, false) }
        guard let duration, let first = starts.first, let last = starts.last else {
            return (own, false)
        }
        let length = duration - last
        let isOver = length < 0 || length == 0 && starts.count == 1
        guard isOver, !findings.isStrict else { return (length, false) }
        return (duration - (last - first), true)
    }

    /// Records times that break rules.
    mutating func warnOfTimes() throws(Failure) {
        guard !findings.isStrict, let last = periods.last else { return }
        if last.duration == 0 {
            findings.warn(.dashDuration, line: last.line) { "the duration of a period is 0" }
        }
        if lengthOfLast(try starts()).isFromFirst {
            findings.warn(.dashPeriod, line: last.line) {
                "the last period starts when the presentation is over"
            }
        }
    }

    /// Time of the snapshot on the presentation's timeline; nil for a title that is not live.
    var snapshotTime: Int64? {
        guard isLive, case .snapshot(let seconds) = live, let availabilityStart else { return nil }
        let since = (seconds - availabilityStart) * 1e9
        return since.isFinite ? Int64(min(max(since, 0), 9e18)) : 0
    }

    /// The failure of a live title without segments at its snapshot time.
    var withoutSegments: Failure {
        var what = "the live title has no segment yet"
        if case .snapshot(let seconds) = live, let availabilityStart, availabilityStart > seconds {
            let rest = min((availabilityStart - seconds).rounded(.up), 1e12)
            what += ": it starts in \(Int64(rest)) s"
        }
        return failure(.manifestEmpty, what)
    }

    private static func cut(_ span: inout Span, to now: Int64, depth: Int64?) {
        let past = max(0, now - span.start)
        if span.length ?? .max > past {
            span.length = past
            span.isOpen = true
        }
        if let depth { span.windowStart = max(0, past - depth) }
    }

    func name(ofPeriod index: Int) -> String {
        periods[index].id.map { "the period \(Redaction.shown($0))" } ?? "period \(index + 1)"
    }

    /// Returns the number of segments of `duration` units that begin within `length`, which is in
    /// nanoseconds times the timescale; saturating.
    ///
    /// A remainder is a separate segment, unless it is below a millisecond and a tenth of a
    /// segment: then it comes from rounded times.
    static func segments(
        of duration: Int64, in length: Int128, timescale: Int64, isOpen: Bool
    ) -> Int64 {
        guard length > 0 else { return 0 }
        let each = Int128(duration) * 1_000_000_000
        let (whole, rest) = length.quotientAndRemainder(dividingBy: each)
        let isRounded = rest * 10 < each && rest < Int128(timescale) * 1_000_000
        let count = whole + (rest > 0 && !isRounded && !isOpen ? 1 : 0)
        return Int64(clamping: count)
    }
}

/// Segments that become available by the clock (5.3.9.5.3).
extension DASHManifest {
    /// True if segments are added without another MPD: their times are calculated.
    var growsByTime: Bool {
        isLive
            && periods.contains { period in
                period.sets.contains { set in
                    set.representations.contains { $0.addressing.growsByTime }
                }
            }
    }
}

extension DASHManifest.Addressing {
    var growsByTime: Bool {
        guard kind == .template else { return false }
        guard let timeline else { return duration != nil }
        return timeline.last?.repeats ?? 0 < 0
    }
}
