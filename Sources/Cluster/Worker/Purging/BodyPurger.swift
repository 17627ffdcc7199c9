import API
import CoordinatorClient
import Model
import Storage

/// Deletes the interrupted bodies that assets have left which are removed, have expired, or are
/// forgotten.
struct BodyPurger: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let storages: SiteStorages
    /// The identity of the coordinators' database; nil until a coordinator reports it.
    let cluster: Shared<ClusterID?>
    let held: HeldWork
    let blocking: BlockingCalls

    /// Deletes those at the site of a purge job, and returns what that freed there.
    ///
    /// A body that another attempt has taken over since it was listed has another name, and stays.
    func delete(_ work: LeasedJob) async throws(Failure) -> [PurgeRequest.FreedBodies] {
        guard work.site.cache == nil, let cluster = cluster.withLock(\.self) else { return [] }
        let (storage, bodies) = try await blocking.run {
            Result { () throws(Failure) -> (SiteStorage, [InterruptedBody]) in
                let storage = try self.storages.storage(at: work.site.storageURL)
                do throws(Failure) {
                    return (storage, try storage.interruptedBodies(of: cluster))
                } catch {
                    // Of a bucket that may not be listed.
                    guard error.code == .storageAccessDenied else { throw error }
                    return (storage, [])
                }
            }
        }.get()
        let gone = try await gone(of: Set(bodies.map(\.asset)).sorted(), work)
        return await blocking.run {
            var freed: [AssetID: PurgeRequest.FreedBodies] = [:]
            for body in bodies where gone.contains(body.asset) {
                guard self.held.isWanted(work) else { break }
                guard storage.remove(body), body.isStored else { continue }
                // A report names a limited number of assets.
                let asset =
                    freed[body.asset] != nil || freed.count + 1 < WireLimits.filesPerPurge
                    ? body.asset : AssetID(0)
                freed[
                    asset, default: PurgeRequest.FreedBodies(asset: asset, files: 0, bytes: 0)
                ].add(body.bytes)
            }
            return freed.values.sorted { $0.asset < $1.asset }
        }
    }

    /// Returns those of the assets that are gone.
    private func gone(of assets: [AssetID], _ work: LeasedJob) async throws(Failure) -> Set<AssetID>
    {
        var gone: Set<AssetID> = []
        for start in stride(from: 0, to: assets.count, by: WireLimits.filesPerPurge) {
            let end = min(start + WireLimits.filesPerPurge, assets.count)
            var request = PurgeRequest(worker: worker, job: work.job.id, lease: work.lease)
            request.assets = Array(assets[start..<end])
            gone.formUnion(try await client.purge(request).gone ?? [])
        }
        return gone
    }
}

extension PurgeRequest.FreedBodies {
    fileprivate mutating func add(_ bytes: Int64) {
        files += 1
        self.bytes += bytes
    }
}
