/// When a scheduler acts by itself: reviews of origins, and samples of their speed. A value, which its scheduler's
/// lock protects; its times are seconds of one monotonic clock.
struct ReviewSchedule {
    /// Time of the next tick, as far as requested.
    private var tickAt = Double.infinity
    /// Origins with a `reviewAt`.
    private var origins: [OriginState] = []
    private var sampledAt = 0.0

    /// Time between two samples.
    static let sampleSeconds = 0.1

    // MARK: Ticks

    /// Returns true if the next tick must come earlier than requested so far, at `time`.
    mutating func advanceTick(to time: Double) -> Bool {
        guard time < tickAt else { return false }
        tickAt = time
        return true
    }

    /// Begins a tick: from now on the next one must be requested. Removes and returns the origins whose review is due.
    mutating func beginTick(now: Double) -> [OriginState] {
        tickAt = .infinity
        let due = origins.filter { ($0.reviewAt ?? 0) <= now }
        origins.removeAll { ($0.reviewAt ?? 0) <= now }
        for origin in due { origin.reviewAt = nil }
        return due
    }

    // MARK: Reviews

    /// Adds a review of an origin, at the given time or earlier.
    mutating func add(_ origin: OriginState, at time: Double) {
        if origin.reviewAt == nil { origins.append(origin) }
        origin.reviewAt = min(origin.reviewAt ?? .infinity, time)
    }

    /// Time of the next review; nil without any.
    var nextReviewAt: Double? { origins.compactMap(\.reviewAt).min() }

    // MARK: Samples

    var nextSampleAt: Double { sampledAt + Self.sampleSeconds }

    /// Begins sampling when the first transfer starts.
    mutating func beginSampling(now: Double) { sampledAt = now }

    /// Returns the seconds since the last sample, if the next one is due.
    mutating func takeSample(now: Double) -> Double? {
        let seconds = now - sampledAt
        guard seconds >= Self.sampleSeconds * 0.9 else { return nil }
        sampledAt = now
        return seconds
    }
}
