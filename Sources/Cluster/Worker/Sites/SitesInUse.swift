import Model
import Storage
import Synchronization
import Transfer

/// The sites that this worker stores to, how much room they have, and what heartbeats report of them. Safe from any
/// thread.
final class SitesInUse: Sendable {
    private let storages: SiteStorages
    private let held: HeldWork
    private let blocking: BlockingCalls
    private let table = Mutex(SiteTable())

    init(storages: SiteStorages, held: HeldWork, blocking: BlockingCalls) {
        self.storages = storages
        self.held = held
        self.blocking = blocking
    }

    /// Opens a site for jobs of a grant that was asked for when `ended` was what had been stored, as the grant asks
    /// for: tries first whether it can be written, where it could not. What the worker has begun itself is taken
    /// off what the quota leaves.
    func open(
        _ site: SiteID, _ grant: LeaseGrant, ended: [SiteID: Int64]
    ) async throws(Failure) -> DirectoryStorage {
        let url = grant.sites[site.description] ?? ""
        let space = grant.siteSpace?.first { $0.site == site }
        // Opening a site proves that it can be written; the disk may be slow.
        return try await blocking.run { () -> Result<DirectoryStorage, Failure> in
            Result { () throws(Failure) in try self.open(site, at: url, space, ended) }
        }.get()
    }

    private func open(
        _ site: SiteID, at url: String, _ space: SiteSpace?, _ ended: [SiteID: Int64]
    ) throws(Failure) -> DirectoryStorage {
        let storage = try storages.storage(at: url)
        storage.setBounds(
            floorBytes: max(space?.floorBytes ?? 0, 0),
            quotaLeftBytes: space?.quotaLeftBytes.map {
                max($0 - held.untoldBytes(at: site, since: ended), 0)
            })
        let isTried = space?.isTried == true
        if isTried { try storage.probe() }
        table.withLock { $0.take(storage, of: site, isSound: isTried) }
        return storage
    }

    /// Removes files in parts that nobody resumes, before anything else asks for their room.
    func removeAbandoned(_ grant: LeaseGrant) async {
        for space in grant.siteSpace ?? [] {
            guard let abandoned = space.abandoned, let url = grant.sites[space.site.description]
            else { continue }
            await blocking.run {
                guard let storage = try? self.storages.storage(at: url) else { return }
                for assembly in abandoned { storage.removeAssembly(id: assembly) }
            }
        }
    }

    /// Objects were stored at these sites.
    func stored(at sites: Set<SiteID>) {
        table.withLock { table in for site in sites { table.stored(at: site) } }
    }

    /// A site's test file could be written.
    func probed(_ site: SiteID, _ storage: DirectoryStorage) {
        table.withLock { $0.take(storage, of: site, isSound: true) }
    }

    /// Something keeps a site from being written.
    func failed(_ site: SiteID) { table.withLock { $0.failed(site) } }

    // MARK: Room

    /// What a transfer's failure means for its site: that is full, or has no room for just this object.
    func judge(
        _ failure: Failure, of work: Assignment, _ transfer: Transfer
    ) async -> Failure {
        guard failure.code == "storage.full" else { return failure }
        let expected = held.expectedBytes(of: work.leased) ?? work.job.length
        let bytes = max(expected ?? 0, transfer.receivedBytes)
        return await blocking.run {
            work.storage.judge(failure, bytes: bytes, isLengthKnown: expected != nil)
        }
    }

    /// A site that has no room for anything that is wanted there is full.
    func judge(_ failure: Failure, at site: SiteID) -> Failure {
        guard failure.code == "storage.noRoom",
            let storage = table.withLock({ $0.refuses(site) ? $0.storages[site] : nil })
        else { return failure }
        return Failure(
            storage.refusedByQuota ? "storage.quota" : "storage.full",
            "many objects in a row have no room: \(failure.message)")
    }

    // MARK: Reporting

    /// Somebody waits for what is to be reported.
    var hasNews: Bool { table.withLock { $0.hasNews } }

    /// What a heartbeat reports of sites; nil for nothing. Never waits for a site: one that hangs must not
    /// cost the leases of the others.
    func sightings() -> [SiteSighting]? {
        guard !held.isEmpty || hasNews else { return nil }
        // Others have their directories closed, so that they can be unmounted.
        let heldSites = held.sites
        for (site, storage) in table.withLock({ $0.toLookAt(of: heldSites) }) {
            Task {
                let bytes = await self.blocking.run { try? storage.availableBytes() }
                self.table.withLock { $0.looked(at: site, availableBytes: bytes) }
            }
        }
        let due = table.withLock { $0.due() }
        guard !due.isEmpty else { return nil }
        return Array(
            due.sorted { $0.isSound && !$1.isSound }.prefix(WireLimits.sitesPerHeartbeat))
    }

    /// A heartbeat with these did not arrive.
    func notReported(_ sightings: [SiteSighting]?) {
        let sound = Set((sightings ?? []).filter(\.isSound).map(\.site))
        if !sound.isEmpty { table.withLock { $0.untold(sound) } }
    }
}
