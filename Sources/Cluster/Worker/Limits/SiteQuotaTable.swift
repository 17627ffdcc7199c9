import API
import Model

/// A worker's quotas of sites' bandwidth, one per site. A value.
struct SiteQuotaTable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var number: Int64
        var bytesPerSecond: Int64
        var end: Instant
        /// Time of the next request to the coordinator, while there is work.
        var again: Instant?
        /// Start of the time without jobs of the site.
        var idleSince: Instant?
        /// True if the quota was returned; the coordinator may not know yet.
        var isOver = false
    }

    private var entries: [SiteID: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// A rate to apply for some seconds; nil bytes per second for no limit.
    struct Grant: Equatable {
        var site: SiteID
        var bytesPerSecond: Int64?
        var seconds: Double
    }

    /// Applies an answer whose request was sent at `askedAt`. Answers may arrive out of order: a
    /// lower number than the last one is ignored.
    mutating func take(
        _ shares: [SiteQuota], askedAt: Instant, now: Instant = .now
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

    /// The uses of quotas, for the coordinator; nil for none.
    var used: [SiteQuotaUse]? {
        guard !entries.isEmpty else { return nil }
        let all = entries.map {
            SiteQuotaUse(site: $0, number: $1.number, isOver: $1.isOver ? true : nil)
        }
        return Array(all.sorted { $0.number < $1.number }.suffix(WireLimits.sitesPerHeartbeat))
    }

    /// Returns quotas of sites that have had no jobs for a while; answers with the newly idle
    /// sites.
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

    /// Returns true if the quota of a site with jobs should be requested again.
    func needsRenewal(_ held: Set<SiteID>, now: Instant = .now) -> Bool {
        entries.contains { held.contains($0) && $1.again.map { $0 <= now } ?? false }
    }

    /// Removes quotas that a coordinator knows as returned, unless newer ones arrived; answers with
    /// their sites.
    mutating func forget(_ uses: [SiteQuotaUse]) -> [SiteID] {
        uses.filter { use in
            guard use.isOver == true, let entry = entries[use.site],
                entry.number == use.number
            else { return false }
            entries[use.site] = nil
            return true
        }.map(\.site)
    }

    /// Removes quotas that ended a minute ago without renewal: their sites have no jobs.
    mutating func forget(now: Instant = .now) -> [SiteID] {
        let over = entries.filter { $0.value.end + .seconds(60) < now }.map(\.key)
        for site in over { entries[site] = nil }
        return over
    }
}
