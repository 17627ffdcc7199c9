import Model

/// A worker's shares of the bandwidth of sites: for each site the one that it keeps to. A value.
struct SiteShareTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var bytesPerSecond: Int64
        var end: Instant
        /// When the coordinator is to be asked again, while there is work.
        var again: Instant?
        /// Since when the worker has held nothing of the site.
        var idleSince: Instant?
        /// It was given up; the coordinator may not know yet.
        var isOver = false
    }

    private var entries: [SiteID: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

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
            let again = share.againSeconds.flatMap { $0.isFinite ? min(max($0, 0), 60) : nil }
            entries[share.site] = Entry(
                number: number, bytesPerSecond: rate, end: end,
                again: again.map { now + .seconds($0) })
            return Grant(
                site: share.site, bytesPerSecond: rate,
                seconds: now.duration(to: end) / .seconds(1))
        }
    }

    /// The shares that are kept to, for the coordinator; nil for none.
    var used: [SiteShareUse]? {
        guard !entries.isEmpty else { return nil }
        let all = entries.map {
            SiteShareUse(site: $0, number: $1.number, isOver: $1.isOver ? true : nil)
        }
        return Array(all.sorted { $0.number < $1.number }.suffix(WireLimits.sitesPerHeartbeat))
    }

    /// Gives up shares of sites that nothing has been `held` of for a while; answers the sites of which that is
    /// new.
    mutating func giveUp(held: Set<SiteID>, now: Instant = .now) -> [SiteID] {
        var over: [SiteID] = []
        for (site, entry) in entries where !entry.isOver {
            if held.contains(site) {
                entries[site]?.idleSince = nil
            } else if let since = entry.idleSince {
                guard now - since >= idleBeforeOver else { continue }
                entries[site]?.isOver = true
                over.append(site)
            } else {
                entries[site]?.idleSince = now
            }
        }
        return over
    }

    /// Whether a share of a site that is `held` is to be asked for again.
    func needsRenewal(_ held: Set<SiteID>, now: Instant = .now) -> Bool {
        entries.contains { held.contains($0) && $1.again.map { $0 <= now } ?? false }
    }

    /// Forgets shares that a coordinator knows to be given up, unless others have come since; answers their sites.
    mutating func forget(_ uses: [SiteShareUse]) -> [SiteID] {
        uses.filter { use in
            guard use.isOver == true, let entry = entries[use.site],
                entry.number == use.number
            else { return false }
            entries[use.site] = nil
            return true
        }.map(\.site)
    }

    /// Forgets shares that ended a minute ago and were not renewed: there is no work of their sites.
    mutating func forget(now: Instant = .now) -> [SiteID] {
        let over = entries.filter { $0.value.end + .seconds(60) < now }.map(\.key)
        for site in over { entries[site] = nil }
        return over
    }
}
