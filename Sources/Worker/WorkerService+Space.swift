import CoordinatorClient
import Model
import Runtime
import Storage
import Synchronization
import Transfer

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

extension WorkerService {
    /// Opens a site for the jobs of a grant, as `space` asks for: tries first whether it can be
    /// written, where it could not. What the worker has begun itself is taken off what the quota leaves.
    /// Blocks.
    func open(
        _ site: SiteID, at url: String, _ space: SiteSpace?, _ ended: [SiteID: Int64]
    ) throws(Failure) -> DirectoryStorage {
        let storage = try storage(at: url)
        storage.setBounds(
            floorBytes: max(space?.floorBytes ?? 0, 0),
            quotaLeftBytes: space?.quotaLeftBytes.map {
                max($0 - held.untoldBytes(at: site, since: ended), 0)
            })
        let isTried = space?.isTried == true
        if isTried { try storage.probe() }
        sitesInUse.withLock { $0.take(storage, of: site, isSound: isTried) }
        return storage
    }

    /// Removes files in parts that nobody goes on with, before anything else asks for their room.
    func removeAbandoned(_ grant: LeaseGrant) async {
        for space in grant.siteSpace ?? [] {
            guard let abandoned = space.abandoned, let url = grant.sites[space.site.description]
            else { continue }
            await blocking.run {
                guard let storage = try? self.storage(at: url) else { return }
                for assembly in abandoned { storage.removeAssembly(id: assembly) }
            }
        }
    }

    /// Those jobs that there is room for, as far as their lengths are known; the others fail before an
    /// origin is asked.
    func withRoom(
        _ jobs: [Job], _ lease: LeaseID, _ storage: DirectoryStorage
    ) async -> [Job] {
        guard jobs.contains(where: { $0.length != nil && $0.assembly == nil }) else { return jobs }
        let failures = await blocking.run {
            jobs.map { job -> Failure? in
                guard let length = job.length, job.assembly == nil else { return nil }
                do throws(Failure) { try storage.checkSpace(for: length) } catch { return error }
                return nil
            }
        }
        for (job, failure) in zip(jobs, failures) {
            if let failure { fail(job, lease, failure) }
        }
        return zip(jobs, failures).filter { $0.1 == nil }.map(\.0)
    }

    /// What a transfer's failure means for its site: that is full, or has no room for just this object.
    func judged(
        _ failure: Failure, of job: Job, _ lease: LeaseID, _ storage: DirectoryStorage,
        _ transfer: Transfer
    ) async -> Failure {
        guard failure.code == "storage.full" else { return failure }
        let expected = held.expectedBytes(of: job.id, lease) ?? job.length
        let bytes = max(expected ?? 0, transfer.receivedBytes)
        return await blocking.run {
            storage.judge(failure, bytes: bytes, isLengthKnown: expected != nil)
        }
    }

    /// What a heartbeat says of sites; nil for nothing. Never waits for a site: one that hangs must not
    /// cost the leases of the others.
    func sightings() -> [SiteSighting]? {
        guard !held.isEmpty || sitesInUse.withLock({ $0.hasNews }) else { return nil }
        // Others have their directories closed, so that they can be unmounted.
        let heldSites = held.sites
        for (site, storage) in sitesInUse.withLock({ $0.toLookAt(of: heldSites) }) {
            Task {
                let bytes = await self.blocking.run { try? storage.availableBytes() }
                self.sitesInUse.withLock { $0.looked(at: site, availableBytes: bytes) }
            }
        }
        let due = sitesInUse.withLock { $0.due() }
        guard !due.isEmpty else { return nil }
        return Array(
            due.sorted { $0.isSound && !$1.isSound }.prefix(WireLimits.sitesPerHeartbeat))
    }

    /// A heartbeat with these did not arrive.
    func untold(_ sightings: [SiteSighting]?) {
        let sound = Set((sightings ?? []).filter(\.isSound).map(\.site))
        if !sound.isEmpty { sitesInUse.withLock { $0.untold(sound) } }
    }

    /// A site that has no room for anything that is wanted there is full.
    func ofSite(_ failure: Failure, _ site: SiteID) -> Failure {
        guard failure.code == "storage.noRoom",
            let storage = sitesInUse.withLock({ $0.refuses(site) ? $0.storages[site] : nil })
        else { return failure }
        return Failure(
            storage.refusedByQuota ? "storage.quota" : "storage.full",
            "many objects in a row have no room: \(failure.message)")
    }

    /// Takes note of what keeps a site from being written: what has not begun for it is given back, and
    /// the log says so, once a minute.
    func noteSiteFault(_ failure: Failure, at site: SiteID) {
        guard case .siteFault = failure.code.row.retry else { return }
        sitesInUse.withLock { $0.failed(site) }
        noteUnusable(failure, site)
        engine.cancelUnbegun(held.queuedTransfers(of: site))
        let now = HeldWork.Instant.now
        let isDue = siteFaultNotedAt.withLock { last in
            if let last, now - last < .seconds(60) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        log.warning(
            "a site cannot be written; its work waits",
            ["code": failure.code, "error": failure.message, "hint": failure.code.row.hint])
    }
}
