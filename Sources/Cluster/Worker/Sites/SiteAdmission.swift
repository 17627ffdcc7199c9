import CoordinatorClient
import Model
import Storage

// Each job is checked here, whatever the coordinator has checked: one that was taken over makes this worker write
// nowhere else. A site is on one volume, which the cluster records. Nothing is written to another one, or to the
// empty mount point of one that is not mounted.

/// Decides which jobs of a grant may be started: those whose sites lie within the roots, on the volumes that are
/// recorded for them.
struct SiteAdmission: Sendable {
    let worker: WorkerID
    let roots: SiteRoots
    let client: CoordinatorClient
    let storages: SiteStorages
    let volumes: Shared<SiteVolumes>
    let blocking: BlockingCalls
    let reporter: Reporter

    /// The jobs that may be started; answers the others.
    ///
    /// - Parameter refused: sites that the request for the grant has named.
    func admit(_ grant: LeaseGrant, _ lease: LeaseID, refused: [SiteID]?) async -> [LeasedJob] {
        await onVolume(withinRoots(grant, lease, refused: refused), grant)
    }

    /// Answers the jobs of a grant whose sites lie outside of the roots, and returns the others.
    ///
    /// They go back untouched, for a worker that may write there. Where the coordinator was asked to hand out no more
    /// of the site, they fail: they would go to and fro for ever.
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
                    throw Failure("storage.outsideRoots", "\(url) leads out of this worker's roots")
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
            if refused.contains(site), failure.code == "storage.outsideRoots" {
                reporter.reportFailure(work, failure)
            } else {
                reporter.fail(work, failure)
            }
            return false
        }
    }

    /// Takes note of the volume of a grant's site. Where none is recorded, the one that its directory is on is recorded.
    ///
    /// Each of the jobs fails, or is given back, where that cannot be done; answers the others.
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
        // A coordinator of an older version records none.
        guard let recorded = grant.siteVolume else {
            return volumes.withLock { $0.record(nil, of: site, at: url) }
        }
        if volumes.withLock({ $0.agrees(recorded, at: url) }) { return }
        let known = try await client.volume(
            SiteVolumeRequest(worker: worker, site: site), retrySeconds: Self.recordSeconds)
        let expected = SiteVolume(known)
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
                // The same on another file system: that can wait for the next lease.
                guard let noted = try? await client.volume(request, retrySeconds: 0) else { return }
                answer = noted
            } else {
                answer = try await client.volume(request, retrySeconds: Self.recordSeconds)
            }
            volumes.withLock { $0.record(SiteVolume(answer), of: site, at: url) }
        }
        volumes.withLock { $0.agree(at: url) }
    }

    /// Less than a lease.
    private static let recordSeconds = 5.0
}

/// The sites that this worker leases no jobs of.
struct ExcludedSites: Sendable {
    let refused: Shared<RefusedSites>
    let volumes: Shared<SiteVolumes>

    /// Sites outside of the roots; nil for none.
    var outsideRoots: [SiteID]? { refused.withLock { $0.current() } }

    /// What requests for work name: sites outside of the roots, and those that this worker cannot use.
    func all(outsideRoots: [SiteID]?) -> [SiteID]? {
        let unusable = volumes.withLock { $0.unusable() }
        guard !unusable.isEmpty else { return outsideRoots }
        return Array(
            Set(outsideRoots ?? []).union(unusable).sorted().prefix(WireLimits.refusedSites))
    }
}
