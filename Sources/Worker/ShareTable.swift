import Model

/// A worker's shares of origins' limits on its own clock: how long each still holds, and when it has
/// to be renewed. A value.
struct ShareTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var askedAt: Instant
        var end: Instant
    }

    private var entries: [String: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// What one share comes to: limits that hold for so many seconds from now.
    struct Grant {
        var origin: String
        var limits: OriginShare
        var seconds: Double
    }

    /// Takes what an answer says whose request was sent at `askedAt`. A share is used for a little
    /// less than it lasts: by its end its connections have to be closed at the other end too.
    mutating func take(
        _ shares: [OriginShare], askedAt: Instant, now: Instant = .now
    ) -> [Grant] {
        shares.compactMap { share in
            guard let origin = originName(of: share.origin) else { return nil }
            let given = share.seconds.isFinite ? min(max(share.seconds, 0), 86_400) : 0
            let end = askedAt + .seconds(given - min(given / 10, 0.25))
            let isLimited =
                share.connections != nil || share.requestsPerSecond != nil
                || share.bytesPerSecond != nil
            entries[origin] = isLimited && end > now ? Entry(askedAt: askedAt, end: end) : nil
            return Grant(
                origin: origin, limits: share, seconds: now.duration(to: end) / .seconds(1))
        }
    }

    /// Whether a share that is used has lasted for a third of its time.
    mutating func needsRenewal(_ used: some Sequence<String>, now: Instant = .now) -> Bool {
        entries = entries.filter { $0.value.end > now }
        return used.contains { origin in
            guard let entry = entries[origin] else { return false }
            return now - entry.askedAt > (entry.end - entry.askedAt) / 3
        }
    }
}
