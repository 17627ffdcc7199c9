import API
import CoordinatorClient
import Model
import Storage

/// Checks if unusable sites can be used again: their file systems are mounted, or an
/// operator accepted the present volume.
struct UnusableSites: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let owners: SiteDirectoryOwners
    let storages: SiteStorages
    let inUse: SitesInUse
    let volumes: Shared<SiteVolumes>
    let blocking: BlockingCalls

    /// Starts the due checks. Do not wait for the tasks: one may hang.
    @discardableResult
    func check() -> [Task<Void, Never>] {
        volumes.withLock { $0.toCheck() }.map { site, url in
            Task {
                let isUsable = await self.isUsable(site, at: url)
                self.volumes.withLock { sites in
                    if isUsable { sites.setUsable(site) } else { sites.checked(site) }
                }
            }
        }
    }

    /// Returns true if the worker should lease jobs of a site again. If its volume is there, the
    /// next heartbeat reports that the site works.
    private func isUsable(_ site: SiteID, at url: String) async -> Bool {
        let request = SiteVolumeRequest(worker: worker, site: site)
        if let answer = try? await client.volume(request, retrySeconds: 0) {
            // An operator requested another try.
            if let seconds = answer.resumedSeconds,
                volumes.withLock({ $0.wasUnusable(site, before: seconds) })
            {
                return true
            }
            volumes.withLock { $0.record(answer.recorded, of: site, at: url) }
        }
        guard await isOwn(site, at: url) else { return false }
        return await blocking.run {
            // If no volume is recorded, the worker that leases the site's next jobs records the
            // present one.
            guard let storage = try? self.storages.storage(at: url) else { return false }
            // If it cannot be written, the next job reports why.
            if (try? storage.probe()) != nil { self.inUse.probed(site, storage) }
            return true
        }
    }

    /// Returns false if the directory is another site's. True if no coordinator answers: the next
    /// lease asks again.
    private func isOwn(_ site: SiteID, at url: String) async -> Bool {
        do throws(Failure) {
            _ = try await owners.volume(of: site, at: try StorageURL(url), retrySeconds: 0)
            return true
        } catch {
            return error.code != .storageSharedDirectory
        }
    }
}
