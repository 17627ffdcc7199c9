import API
import Model
import Storage

/// The sites that a worker stores to, and its reports on them. A value.
struct SiteTable {
    private(set) var storages: [SiteID: SiteStorage] = [:]
    /// Sites whose requested probe succeeded; not reported yet.
    private var sound: Set<SiteID> = []
    /// Sites whose free space is being read, which may hang, and results so far.
    private var looking: Set<SiteID> = []
    private var seen: [SiteID: Int64?] = [:]
    /// Free bytes of sites, as last read.
    private(set) var availableBytes: [SiteID: Int64] = [:]
    /// When the free space of each site was last asked for.
    private var lookedAt: [SiteID: HeldWork.Instant] = [:]
    /// Number of consecutive objects without space at a site, since a stored object or a probe.
    private var refused: [SiteID: Int] = [:]

    /// Number of consecutive objects without space after which a site counts as full.
    static let maxRefused = 100

    /// True if others wait for the next report.
    var hasUnreported: Bool { !sound.isEmpty }

    mutating func take(_ storage: SiteStorage, of site: SiteID) { storages[site] = storage }

    /// Records a requested probe that succeeded, and the free space by then; nil if unknown.
    mutating func probed(_ storage: SiteStorage, of site: SiteID, availableBytes: Int64?) {
        storages[site] = storage
        sound.insert(site)
        refused[site] = nil
        if let availableBytes {
            seen[site] = .some(availableBytes)
            self.availableBytes[site] = availableBytes
        }
    }

    /// Records a stored object.
    mutating func stored(at site: SiteID) { refused[site] = nil }

    /// Counts another object without space; returns true after too many in a row.
    mutating func refuses(_ site: SiteID) -> Bool {
        refused[site, default: 0] += 1
        return refused[site, default: 0] > Self.maxRefused
    }

    mutating func failed(_ site: SiteID) { sound.remove(site) }

    /// Puts back reports that reached no coordinator.
    mutating func untold(_ sites: Set<SiteID>) { sound.formUnion(sites) }

    /// Returns the storages of `sites` whose free space should be read now.
    mutating func dueForCheck(
        of sites: Set<SiteID>, now: HeldWork.Instant = .now
    ) -> [SiteID: SiteStorage] {
        let due = storages.filter { site, _ in
            sites.contains(site) && !looking.contains(site)
                && lookedAt[site].map { now - $0 >= .seconds(10) } ?? true
        }
        for site in due.keys { lookedAt[site] = now }
        looking.formUnion(due.keys)
        return due
    }

    mutating func looked(at site: SiteID, availableBytes: Int64?) {
        looking.remove(site)
        seen[site] = .some(availableBytes)
        self.availableBytes[site] = availableBytes
    }

    /// Returns the reports due: usable sites and free space.
    mutating func due() -> [SiteReport] {
        defer { (sound, seen) = ([], [:]) }
        return sound.union(seen.keys).map { site in
            SiteReport(
                site: site, availableBytes: seen[site] ?? nil, isSound: sound.contains(site))
        }
    }
}
