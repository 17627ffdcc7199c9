import API
import CoordinatorClient
import Model
import Storage

/// Rejects directories that belong to another site of the cluster, by another path: what one site
/// deletes or replaces, the other would still record as stored.
struct SiteDirectoryOwners: Sendable {
    let worker: WorkerID
    let roots: SiteRoots
    let client: CoordinatorClient
    let blocking: BlockingCalls

    /// Returns the recorded volume of a site. `others` of the answer are then sites of whose
    /// directories this one is a copy.
    ///
    /// Throws `storage.sharedDirectory` if the directory is another site's, or lies in it.
    func volume(
        of site: SiteID, at url: StorageURL, retrySeconds: Double
    ) async throws(Failure) -> SiteVolumeAnswer {
        let roots = roots
        let marks = await blocking.run { DirectoryStorage.marks(of: url, within: roots) }
        let answer = try await client.volume(
            SiteVolumeRequest(
                worker: worker, site: site,
                marks: Array(marks.prefix(SiteVolumeRequest.maximumMarks))),
            retrySeconds: retrySeconds)
        let others = answer.others ?? []
        let owner = await blocking.run {
            others.first { other in
                guard let path = try? StorageURL(other.storageURL) else { return true }
                return DirectoryStorage.isShared(url, with: path, within: roots)
            }
        }
        if let owner { throw owner.sharedFailure(with: url.description) }
        return answer
    }
}
