import API
import CoordinatorClient
import Model
import Storage

// Each lease is checked here, whatever the coordinator checked: a compromised coordinator cannot make
// this worker write elsewhere. A site is on one volume, which the cluster records. Nothing is
// written to another volume, or to the empty mount point of one that is not mounted.

/// Decides whether the jobs of a lease may start: their site must lie within the roots, on its
/// recorded volume.
struct SiteAdmission: Sendable {
    let worker: WorkerID
    let roots: SiteRoots
    let client: CoordinatorClient
    let owners: SiteDirectoryOwners
    let storages: SiteStorages
    let volumes: Shared<SiteVolumes>
    let blocking: BlockingCalls
    let reporter: Reporter

    /// Returns true if the jobs may start. Otherwise reports them: they fail or are returned.
    ///
    /// Jobs of a site outside the roots are returned for a worker that may write there. If the
    /// request already excluded the site, they fail: otherwise they would be leased and returned for
    /// ever.
    ///
    /// - Parameter refused: sites that the request excluded.
    func admit(
        _ jobs: [LeasedJob], _ lease: LeaseID, at site: LeasedSite, refused: [SiteID]?
    ) async -> Bool {
        let isRefused = refused?.contains(site.id) == true
        do throws(Failure) {
            let url = try StorageURL(site.storageURL)
            try roots.check(url)
            if isRefused {
                throw Failure(
                    .storageOutsideRoots, "\(site.storageURL) is outside this worker's roots")
            }
            if url.cache == nil { try await agreeOnVolume(of: site, lease) }
            return true
        } catch {
            for work in jobs {
                if error.code.isOfUnavailableCluster {
                    reporter.giveBack(work)
                } else if isRefused, error.code == .storageOutsideRoots {
                    reporter.reportFailure(work, error)
                } else {
                    reporter.fail(work, error)
                }
            }
            return false
        }
    }

    /// Checks that a site is on its recorded volume, and not in another site's directory. Records the
    /// volume of its directory if none is recorded.
    private func agreeOnVolume(of site: LeasedSite, _ lease: LeaseID) async throws(Failure) {
        let url = site.storageURL
        if let recorded = site.volume, volumes.withLock({ $0.agrees(recorded, at: url) }) { return }
        volumes.withLock { $0.note(site.id, at: url) }
        let known = try await owners.volume(
            of: site.id, at: try StorageURL(url), retrySeconds: Self.recordSeconds)
        let expected = known.recorded
        volumes.withLock { $0.record(expected, of: site.id, at: url) }
        let others = known.others?.map(\.volume) ?? []
        let result = await blocking.run { () -> Result<SiteVolume, Failure> in
            Result { () throws(Failure) in
                try self.storages.storage(at: url).markVolume(besides: others)
            }
        }
        let volume = try result.get()
        if volume != expected {
            let request = SiteVolumeRequest(
                worker: worker, site: site.id, lease: lease, volume: volume.id,
                fileSystem: volume.fileSystem)
            let answer: SiteVolumeAnswer
            if volume.id == expected?.id {
                // The same volume on another file system: the next lease may record it.
                guard let noted = try? await client.volume(request, retrySeconds: 0) else { return }
                answer = noted
            } else {
                answer = try await client.volume(request, retrySeconds: Self.recordSeconds)
            }
            volumes.withLock { $0.record(answer.recorded, of: site.id, at: url) }
        }
        volumes.withLock { $0.agree(at: url) }
    }

    /// Seconds to retry recording a volume; shorter than a lease.
    private static let recordSeconds = 5.0
}

/// The sites of which this worker leases no jobs.
struct ExcludedSites: Sendable {
    let refused: Shared<RefusedSites>
    let volumes: Shared<SiteVolumes>

    /// Sites outside the roots; nil for none.
    var outsideRoots: [SiteID]? { refused.withLock { $0.current() } }

    /// Returns the sites that lease requests exclude: those outside the roots and unusable ones.
    func all(outsideRoots: [SiteID]?) -> [SiteID]? {
        let unusable = volumes.withLock { $0.unusable() }
        guard !unusable.isEmpty else { return outsideRoots }
        return Array(
            Set(outsideRoots ?? []).union(unusable).sorted().prefix(WireLimits.refusedSites))
    }
}
