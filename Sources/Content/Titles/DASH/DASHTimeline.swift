import Model

/// Segments that a template addresses by number or time, as runs of equal ones (5.3.9.5, 5.3.9.6).
struct DASHTimeline {
    /// Consecutive segments of one length.
    struct Run: Hashable {
        /// Time of the first segment, in units of the timescale.
        var time: Int64
        /// Duration of each segment; 0 if unknown.
        var duration: Int64
        /// Number of the first segment.
        var number: Int64
        /// Number of segments, or of segment sequences.
        var count: Int64
        /// Segments per sequence; 1 without sequences.
        var sequence: Int64 = 1
    }

    let addressing: DASHManifest.Addressing
    let span: DASHManifest.Span
    /// Makes a failure from a description.
    let failure: (String) -> Failure

    /// Calls `body` with each run until it returns false.
    func forEachRun(_ body: (Run) throws(Failure) -> Bool) throws(Failure) {
        if let entries = addressing.timeline {
            try forEachRun(of: entries, body)
        } else {
            let run = try only()
            if run.count > 0 { _ = try body(run) }
        }
    }

    /// Returns the run without a timeline: all segments have one duration, or there is only one.
    private func only() throws(Failure) -> Run {
        let first = addressing.startNumber
        let offset = addressing.presentationTimeOffset
        let listed = addressing.endNumber.map { max(0, $0 - first + 1) }
        guard let duration = addressing.duration else {
            return try checked(
                Run(time: offset, duration: 0, number: first, count: listed ?? 1))
        }
        guard let length = span.length else {
            guard let listed else {
                throw failure(
                    "neither its period's length nor its last segment's number is specified")
            }
            return try checked(
                Run(time: offset, duration: duration, number: first, count: listed))
        }
        let units = Int128(length) * Int128(addressing.timescale)
        let count = DASHManifest.segments(
            of: duration, in: units - Int128(addressing.eptDelta) * 1_000_000_000,
            timescale: addressing.timescale, isOpen: span.isOpen)
        // Segments before the window, at most all segments.
        let past =
            Int128(span.windowStart) * Int128(addressing.timescale)
            / (Int128(duration) * 1_000_000_000)
        let skipped = min(Int64(clamping: past), count)
        let run = Run(
            time: offset, duration: duration, number: first, count: min(count, listed ?? count))
        return try checked(run).dropping(skipped)
    }

    private func forEachRun(
        of entries: DASHManifest.Timeline, _ body: (Run) throws(Failure) -> Bool
    ) throws(Failure) {
        var time: Int64 = 0
        var number = addressing.startNumber
        for (index, entry) in entries.enumerated() {
            if entry.time >= 0 { time = entry.time }
            if entry.number >= 0 { number = entry.number }
            var run = Run(
                time: time, duration: entry.duration, number: number,
                count: Int64(entry.repeats) + 1, sequence: Int64(entry.sequence))
            if entry.repeats < 0 {
                run.count = try repeats(run, upTo: index + 1, of: entries)
            }
            if let last = addressing.endNumber {
                run.count = min(run.count, max(0, last - number + 1))
                if run.count == 0 { return }
            }
            run = try checked(run)
            if run.count > 0, try !body(run) { return }
            time = run.time + run.duration * run.count
            number = run.number + run.count
        }
    }

    /// Returns the number of segments up to the next entry, or else up to the period's end.
    private func repeats(
        _ run: Run, upTo index: Int, of entries: DASHManifest.Timeline
    ) throws(Failure) -> Int64 {
        let length: Int128
        if index < entries.count {
            guard entries[index].time > run.time else {
                throw failure("its timeline repeats up to an entry that has no later time (t)")
            }
            length = Int128(entries[index].time - run.time) * 1_000_000_000
        } else {
            guard let end = span.length else {
                throw failure("its timeline repeats up to the period's end, which is not specified")
            }
            let begun = Int128(run.time) - Int128(addressing.presentationTimeOffset)
            length = Int128(end) * Int128(addressing.timescale) - begun * 1_000_000_000
        }
        return DASHManifest.segments(
            of: run.duration, in: length, timescale: addressing.timescale,
            isOpen: span.isOpen && index == entries.count)
    }

    /// Throws for a run whose numbers or times exceed the calculation's range.
    private func checked(_ run: Run) throws(Failure) -> Run {
        let (length, isLong) = run.duration.multipliedReportingOverflow(by: run.count)
        let (_, isLate) = run.time.addingReportingOverflow(length)
        let (_, isHigh) = run.number.addingReportingOverflow(run.count)
        // Far above the allowed number, and far below an overflow in products.
        guard !isLong, !isLate, !isHigh, run.count < 1 << 40 else {
            var failure = failure("it has more segments than can be counted")
            failure.code = .manifestTooMany
            throw failure
        }
        return run
    }
}

extension DASHTimeline.Run {
    /// Returns the run without its first segments.
    func dropping(_ skipped: Int64) -> DASHTimeline.Run {
        let skipped = min(skipped, count)
        var run = self
        run.time += duration * skipped
        run.number += skipped
        run.count -= skipped
        return run
    }
}
