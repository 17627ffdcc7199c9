import Model

/// Clocks of live MPDs that did not answer, and the time until which they are not requested again:
/// each failure in a row doubles it. A value; the time is passed in.
struct FailedClocks: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Time without requests after each failure in a row.
    private static let pause = Backoff(firstSeconds: 30, maxSeconds: 600)
    /// Maximum number of clocks; more than that are forgotten.
    private static let maxClocks = 1_000

    private struct Entry {
        var failures: Int
        var until: Instant
    }

    private var entries: [String: Entry] = [:]

    /// Counts a failure of the clock at `url`, unless it is paused: titles that were read at the
    /// same time see the same outage.
    mutating func fail(_ url: String, at now: Instant) {
        if let entry = entries[url], entry.until > now { return }
        if entries.count >= Self.maxClocks, entries[url] == nil { entries = [:] }
        let failures = (entries[url]?.failures ?? 0) + 1
        entries[url] = Entry(failures: failures, until: now + Self.pause.ceiling(attempt: failures))
    }

    /// Forgets the failures of a clock that has answered.
    mutating func succeed(_ url: String) { entries[url] = nil }

    /// Returns the URLs that are not to be requested yet.
    func paused(at now: Instant) -> Set<String> {
        Set(entries.filter { $0.value.until > now }.keys)
    }
}
