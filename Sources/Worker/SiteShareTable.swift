import Model

/// A worker's shares of the bandwidth of sites: for each site the one that it keeps to. A value.
struct SiteShareTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var bytesPerSecond: Int64
        var end: Instant
    }

    private var entries: [SiteID: Entry] = [:]

    /// What is to be kept to from now on, for so many seconds; nil bytes a second for no bound.
    struct Grant: Equatable {
        var site: SiteID
        var bytesPerSecond: Int64?
        var seconds: Double
    }

    /// Takes what an answer says whose request was sent at `askedAt`. Answers may overtake each other:
    /// a share with a lower number than the last one is ignored.
    mutating func take(
        _ shares: [SiteShare], askedAt: Instant, now: Instant = .now
    ) -> [Grant] {
        shares.compactMap { share in
            let seconds = share.seconds.isFinite ? min(max(share.seconds, 0), 86_400) : 0
            guard let number = share.number else {
                entries[share.site] = nil
                return Grant(site: share.site, bytesPerSecond: nil, seconds: seconds)
            }
            var end = askedAt + .seconds(seconds)
            if let known = entries[share.site] {
                guard number >= known.number else { return nil }
                if number == known.number { end = max(end, known.end) }
            }
            let rate = max(share.bytesPerSecond, 0)
            entries[share.site] = Entry(number: number, bytesPerSecond: rate, end: end)
            return Grant(
                site: share.site, bytesPerSecond: rate,
                seconds: now.duration(to: end) / .seconds(1))
        }
    }

    /// The shares that are kept to, for the coordinator; nil for none.
    var used: [SiteShareUse]? {
        guard !entries.isEmpty else { return nil }
        let all = entries.map { SiteShareUse(site: $0, number: $1.number) }
        return Array(all.sorted { $0.number < $1.number }.suffix(WireLimits.sitesPerHeartbeat))
    }

    /// Forgets shares that ended a minute ago and were not renewed: there is no work of their sites.
    mutating func forget(now: Instant = .now) -> [SiteID] {
        let over = entries.filter { $0.value.end + .seconds(60) < now }.map(\.key)
        for site in over { entries[site] = nil }
        return over
    }
}
