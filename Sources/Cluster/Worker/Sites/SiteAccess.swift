import API
import Model
import Storage

/// Opens sites without a lease of their jobs: to audit or to probe them.
struct SiteAccess: Sendable {
    let roots: SiteRoots
    let owners: SiteDirectoryOwners
    let storages: SiteStorages
    let volumes: Shared<SiteVolumes>
    let blocking: BlockingCalls

    /// Opens a site, on its recorded volume: files of a volume that is not mounted are not missing.
    /// Throws `storage.outsideRoots`, `storage.otherVolume` and `storage.sharedDirectory`.
    @discardableResult
    func open(_ site: LeasedSite) async throws(Failure) -> SiteStorage {
        try roots.check(try StorageURL(site.storageURL))
        guard site.cache == nil else {
            throw Failure(.inputCacheSite, "The site \(site.storageURL) is a cache.")
        }
        let known = try await owners.volume(
            of: site.id, at: try StorageURL(site.storageURL), retrySeconds: 5)
        volumes.withLock { $0.record(known.recorded, of: site.id, at: site.storageURL) }
        return try await blocking.run { () -> Result<SiteStorage, Failure> in
            Result { () throws(Failure) in try self.storages.storage(at: site.storageURL) }
        }.get()
    }
}
