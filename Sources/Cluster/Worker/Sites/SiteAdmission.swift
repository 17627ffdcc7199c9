import API
import CoordinatorClient
import Model
import Storage

// Each job is checked here, whatever the coordinator checked: a compromised coordinator cannot make
// this worker write elsewhere. A site is on one volume, which the cluster records. Nothing is
// written to another volume, or to the empty mount point of one that is not mounted.

/// Decides which jobs of a grant may start: those whose sites lie within the roots, on their
/// recorded volumes.
struct SiteAdmission: Sendable {
    let worker: WorkerID
    let roots: SiteRoots
    let client: CoordinatorClient
    let storages: SiteStorages
    let volumes: Shared<SiteVolumes>
    let blocking: BlockingCalls
    let reporter: Reporter

    /// Returns the jobs that may start, and reports the others.
    ///
    /// - Parameter refused: sites that the request excluded.
    func admit(_ grant: LeaseGrant, _ lease: LeaseID, refused: [SiteID]?) async -> [LeasedJob] {
        await onVolume(withinRoots(grant, lease, refused: refused), grant)
    }

    /// Returns the jobs whose sites lie within the roots, and reports the others.
    ///
    /// Those are returned to the queue for a worker that may write there. If the request already
    /// excluded the site, they fail: otherwise they would be leased and returned for ever.
    private func withinRoots(
        _ grant: LeaseGrant, _ lease: LeaseID, refused: [SiteID]?
    ) -> [LeasedJob] {
        var failures: [SiteID: Failure] = [:]
        let refused = Set(refused ?? [])
        for (number, url) in grant.sites {
            guard let site = Int64(number).map({ SiteID($0) }) else { continue }
            do throws(Failure) {
                try roots.check(try StorageURL(url))
                if refused.contains(site) {
                    throw Failure(.storageOutsideRoots, "\(url) is outside this worker's roots")
                }
            } catch {
                failures[site] = error
            }
        }
        let jobs = grant.jobs.map { LeasedJob(job: $0, lease: lease) }
        guard !failures.isEmpty else { return jobs }
        return jobs.filter { work in
            let site = work.job.site
            guard let failure = failures[site] else { return true }
            if refused.contains(site), failure.code == .storageOutsideRoots {
                reporter.reportFailure(work, failure)
            } else {
                reporter.fail(work, failure)
            }
            return false
        }
    }

    /// Returns the jobs whose sites are on their recorded volumes. Records the volume of a site's
    /// directory if none is recorded.
    ///
    /// The other jobs fail or are returned.
    private func onVolume(_ jobs: [LeasedJob], _ grant: LeaseGrant) async -> [LeasedJob] {
        var usable: [LeasedJob] = []
        for (site, jobs) in Dictionary(grouping: jobs, by: \.job.site) {
            do throws(Failure) {
                guard let lease = jobs.first?.lease else { continue }
                try await agreeOnVolume(of: site, lease, grant)
                usable += jobs
            } catch {
                for work in jobs {
                    if error.code.isOfUnavailableCluster {
                        reporter.giveBack(work)
                    } else {
                        reporter.fail(work, error)
                    }
                }
            }
        }
        return usable
    }

    private func agreeOnVolume(
        of site: SiteID, _ lease: LeaseID, _ grant: LeaseGrant
    ) async throws(Failure) {
        guard let url = grant.sites[site.description] else { return }
        if let recorded = grant.siteVolume,
            volumes.withLock({ $0.agrees(recorded, at: url) })
        {
            return
        }
        let known = try await client.volume(
            SiteVolumeRequest(worker: worker, site: site), retrySeconds: Self.recordSeconds)
        let expected = known.recorded
        volumes.withLock { $0.record(expected, of: site, at: url) }
        let result = await blocking.run { () -> Result<SiteVolume, Failure> in
            Result { () throws(Failure) in try self.storages.storage(at: url).markVolume() }
        }
        let volume = try result.get()
        if volume != expected {
            let request = SiteVolumeRequest(
                worker: worker, site: site, lease: lease, volume: volume.id,
                fileSystem: volume.fileSystem)
            let answer: SiteVolumeAnswer
            if volume.id == expected?.id {
                // The same volume on another file system: the next lease may record it.
                guard let noted = try? await client.volume(request, retrySeconds: 0) else { return }
                answer = noted
            } else {
                answer = try await client.volume(request, retrySeconds: Self.recordSeconds)
            }
            volumes.withLock { $0.record(answer.recorded, of: site, at: url) }
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
