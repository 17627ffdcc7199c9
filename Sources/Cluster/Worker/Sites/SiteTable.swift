import Model
import Storage

/// The sites that a worker stores to, and what it says of them. A value.
struct SiteTable {
    private(set) var storages: [SiteID: DirectoryStorage] = [:]
    /// Tried because a lease asked for it, and found well; not yet told.
    private var sound: Set<SiteID> = []
    /// Sites whose room is being looked at, which may take for ever, and what was found since.
    private var looking: Set<SiteID> = []
    private var seen: [SiteID: Int64?] = [:]
    private var lookedAt: HeldWork.Instant?
    /// How many objects had no room at a site since one was stored there, or the site was tried.
    private var refused: [SiteID: Int] = [:]

    /// So many objects in a row without room: the site is as good as full, and is asked less often.
    static let mostRefused = 100

    /// Somebody waits for what is to be told.
    var hasNews: Bool { !sound.isEmpty }

    mutating func take(_ storage: DirectoryStorage, of site: SiteID, isSound: Bool) {
        storages[site] = storage
        if isSound {
            sound.insert(site)
            refused[site] = nil
        }
    }

    /// An object was stored.
    mutating func stored(at site: SiteID) { refused[site] = nil }

    /// Another object has no room; true when none of many had.
    mutating func refuses(_ site: SiteID) -> Bool {
        refused[site, default: 0] += 1
        return refused[site, default: 0] > Self.mostRefused
    }

    mutating func failed(_ site: SiteID) { sound.remove(site) }

    /// Told to no coordinator after all.
    mutating func untold(_ sites: Set<SiteID>) { sound.formUnion(sites) }

    /// Those of `sites` to look at now.
    mutating func toLookAt(
        of sites: Set<SiteID>, now: HeldWork.Instant = .now
    ) -> [SiteID: DirectoryStorage] {
        guard lookedAt.map({ now - $0 >= .seconds(10) }) ?? true else { return [:] }
        lookedAt = now
        let due = storages.filter { sites.contains($0.key) && !looking.contains($0.key) }
        looking.formUnion(due.keys)
        return due
    }

    mutating func looked(at site: SiteID, availableBytes: Int64?) {
        looking.remove(site)
        seen[site] = .some(availableBytes)
    }

    /// What is to be told now: what was found well, and what is free.
    mutating func due() -> [SiteSighting] {
        defer { (sound, seen) = ([], [:]) }
        return sound.union(seen.keys).map { site in
            SiteSighting(
                site: site, availableBytes: seen[site] ?? nil, isSound: sound.contains(site))
        }
    }
}
