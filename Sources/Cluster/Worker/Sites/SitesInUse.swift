import API
import Model
import Storage
import Synchronization
import Transfer

/// The sites that this worker stores to, their free space, and the reports on them. Safe from any
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

    /// Opens the site of a lease, and probes it first if the lease requires that. `ended` has the
    /// bytes that were stored when the lease was requested. Subtracts the worker's own unreported
    /// bytes from the quota's rest.
    func open(
        _ site: LeasedSite, ended: [SiteID: Int64]
    ) async throws(Failure) -> SiteStorage {
        // Opening a site proves that it can be written; the disk may be slow.
        try await blocking.run { () -> Result<SiteStorage, Failure> in
            Result { () throws(Failure) in try self.openNow(site, ended) }
        }.get()
    }

    private func openNow(
        _ site: LeasedSite, _ ended: [SiteID: Int64]
    ) throws(Failure) -> SiteStorage {
        let storage = try storages.storage(at: site.storageURL)
        storage.setBounds(
            floorBytes: max(site.space?.floorBytes ?? 0, 0),
            quotaLeftBytes: site.space?.quotaLeftBytes.map {
                max($0 - held.unreportedBytes(at: site.id, since: ended), 0)
            })
        let isTried = site.space?.isTried == true
        if isTried {
            try storage.probe()
            probed(site.id, storage)
        } else {
            table.withLock { $0.take(storage, of: site.id) }
        }
        return storage
    }

    /// Removes abandoned multipart files, before new files need their space.
    func removeAbandoned(at site: LeasedSite) async {
        guard let abandoned = site.space?.abandoned else { return }
        await blocking.run {
            guard let storage = try? self.storages.storage(at: site.storageURL) else { return }
            for id in abandoned { storage.removeMultipart(id: id) }
        }
    }

    /// Records that objects were stored at these sites.
    func stored(at sites: Set<SiteID>) {
        table.withLock { table in for site in sites { table.stored(at: site) } }
    }

    /// Records that a site's test file was written, and what is free. Blocks.
    func probed(_ site: SiteID, _ storage: SiteStorage) {
        let bytes = (try? storage.availableBytes()) ?? nil
        table.withLock { $0.probed(storage, of: site, availableBytes: bytes) }
    }

    /// Records that a site cannot be written.
    func failed(_ site: SiteID) { table.withLock { $0.failed(site) } }

    // MARK: Space

    /// Maps a transfer's failure to its meaning for the site: full, or no space for just this
    /// object.
    func judge(
        _ failure: Failure, of work: Assignment, _ transfer: Transfer
    ) async -> Failure {
        guard failure.code == .storageFull else { return failure }
        let expected = held.expectedBytes(of: work.leased) ?? work.fetch.length
        let bytes = max(expected ?? 0, transfer.receivedBytes)
        return await blocking.run {
            work.storage.receiving.judge(failure, bytes: bytes, isLengthKnown: expected != nil)
        }
    }

    /// Reports a site as full once many objects in a row had no space.
    func judge(_ failure: Failure, at site: SiteID) -> Failure {
        guard failure.code == .storageNoRoom,
            let storage = table.withLock({ $0.refuses(site) ? $0.storages[site] : nil })
        else { return failure }
        return Failure(
            storage.receiving.refusedByQuota ? .storageQuota : .storageFull,
            "many objects in a row have no room: \(failure.message)")
    }

    /// Free bytes of sites, as last read, by URL.
    var availableBytes: [(url: String, bytes: Int64)] {
        table.withLock { table in
            table.availableBytes.compactMap { site, bytes in
                table.storages[site].map { ($0.url.description, bytes) }
            }
        }.sorted { $0.url < $1.url }
    }

    // MARK: Reporting

    /// True if others wait for the next report.
    var hasUnreported: Bool { table.withLock { $0.hasUnreported } }

    /// Returns the site reports of a heartbeat; nil for none. Never waits for a site: one that
    /// hangs must not cost the leases of the others.
    func siteReports() -> [SiteReport]? {
        guard !held.isEmpty || hasUnreported else { return nil }
        // The directories of other sites stay closed, so that they can be unmounted.
        let heldSites = held.sites
        for (site, storage) in table.withLock({ $0.dueForCheck(of: heldSites) }) {
            Task {
                let bytes = await self.blocking.run { (try? storage.availableBytes()) ?? nil }
                self.table.withLock { $0.looked(at: site, availableBytes: bytes) }
            }
        }
        let due = table.withLock { $0.due() }
        guard !due.isEmpty else { return nil }
        return Array(
            due.sorted { $0.isSound && !$1.isSound }.prefix(WireLimits.sitesPerHeartbeat))
    }

    /// Puts back the reports of a heartbeat that did not arrive.
    func notReported(_ siteReports: [SiteReport]?) {
        let sound = Set((siteReports ?? []).filter(\.isSound).map(\.site))
        if !sound.isEmpty { table.withLock { $0.untold(sound) } }
    }
}
