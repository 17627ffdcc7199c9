import CoordinatorClient
import Model
import Runtime
import Storage
import Synchronization

/// The volumes that sites are on by their cluster's record, and the sites whose storage this worker cannot use though
/// others may: it finds another volume there, or lacks permission. A value.
struct SiteVolumes {
    private struct Entry {
        var since: HeldWork.Instant
        var failures = 1
        var isChecked = false

        /// A minute, and twice as long after each further failure, up to an hour.
        var end: HeldWork.Instant {
            since + min(pause * (1 << min(failures - 1, 6)), .seconds(3_600))
        }
    }

    /// By storage URL; missing while none is recorded.
    private var recorded: [String: SiteVolume] = [:]
    /// By storage URL, the volumes that this worker has found, and reported the file systems of.
    private var found: [String: VolumeID] = [:]
    private var urls: [SiteID: String] = [:]
    private var entries: [SiteID: Entry] = [:]

    /// For so long a worker leases no jobs of such a site after a first failure, unless a check finds it usable before.
    /// Then the coordinator gets the failure once more, in case its record of the first one was cleared.
    static let pause = Duration.seconds(60)
    /// From one check of such a site to the next, and how long a request for work may wait meanwhile.
    static let checkSeconds = 5.0

    static func isOfWorker(_ code: FailureCode) -> Bool {
        ["storage.otherVolume", "storage.sitePermission"].contains(code)
    }

    mutating func record(_ volume: SiteVolume?, of site: SiteID, at url: String) {
        urls[site] = url
        recorded[url] = volume
    }

    func volume(at url: String) -> SiteVolume? { recorded[url] }

    /// This worker has found the site's volume, and the cluster's record agrees.
    mutating func agree(at url: String) { found[url] = recorded[url]?.id }

    /// Whether this worker and the cluster's record agreed on that volume before.
    func agrees(_ volume: VolumeID, at url: String) -> Bool {
        found[url] == volume && recorded[url]?.id == volume
    }

    mutating func setUnusable(_ site: SiteID, now: HeldWork.Instant = .now) {
        drop(now)
        guard let entry = entries[site] else {
            guard entries.count < WireLimits.refusedSites else { return }
            return entries[site] = Entry(since: now)
        }
        guard now >= entry.end else { return }
        entries[site]?.since = now
        entries[site]?.failures += 1
    }

    mutating func setUsable(_ site: SiteID) { entries[site] = nil }

    /// Whether a site was found unusable longer ago than that.
    func wasUnusable(_ site: SiteID, before seconds: Double, now: HeldWork.Instant = .now) -> Bool {
        entries[site].map { now - $0.since > .seconds(seconds) } ?? false
    }

    /// The sites to lease no jobs of.
    mutating func unusable(now: HeldWork.Instant = .now) -> [SiteID] {
        drop(now)
        return entries.filter { now < $0.value.end }.keys.sorted()
    }

    /// Those that no check is under way of; one is from now on.
    mutating func toCheck(now: HeldWork.Instant = .now) -> [(site: SiteID, url: String)] {
        drop(now)
        let due = entries.filter { !$0.value.isChecked }
        for site in due.keys { entries[site]?.isChecked = true }
        return due.keys.compactMap { site in urls[site].map { (site, $0) } }
    }

    mutating func checked(_ site: SiteID) { entries[site]?.isChecked = false }

    private mutating func drop(_ now: HeldWork.Instant) {
        // Without jobs for an hour.
        entries = entries.filter { now < $0.value.end + .seconds(3_600) }
    }
}

// A site is on one volume, which the cluster records. Nothing is written to another one, or to the empty mount point of
// one that is not mounted.
extension WorkerService {
    /// Takes note of the volume of a grant's site. Where none is recorded, the one that its directory is on is recorded.
    ///
    /// Each of the jobs fails, or is given back, where that cannot be done; answers the others.
    func onVolume(_ jobs: [Job], _ lease: LeaseID, _ grant: LeaseGrant) async -> [Job] {
        var usable: [Job] = []
        for (site, jobs) in Dictionary(grouping: jobs, by: \.site) {
            do throws(Failure) {
                try await agreeOnVolume(of: site, lease, grant)
                usable += jobs
            } catch {
                for job in jobs {
                    if error.code.isOfUnavailableCluster {
                        giveBack(job, lease)
                    } else {
                        fail(job, lease, error)
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
            SiteVolumeRequest(worker: id, site: site), retrySeconds: Self.recordSeconds)
        let expected = SiteVolume(known)
        volumes.withLock { $0.record(expected, of: site, at: url) }
        let result = await blocking.run { () -> Result<SiteVolume, Failure> in
            Result { () throws(Failure) in try self.storage(at: url).markVolume() }
        }
        let volume = try result.get()
        if volume != expected {
            let request = SiteVolumeRequest(
                worker: id, site: site, lease: lease, volume: volume.id,
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

    /// Records that this worker cannot use a site, where the failure is of that kind.
    func noteUnusable(_ failure: Failure, _ site: SiteID) {
        guard SiteVolumes.isOfWorker(failure.code) else { return }
        volumes.withLock { $0.setUnusable(site) }
    }

    /// Names the worker in a failure that others need not have.
    func named(_ failure: Failure) -> Failure {
        guard SiteVolumes.isOfWorker(failure.code) else { return failure }
        return Failure(failure.code, "worker \(name): \(failure.message)")
    }

    /// What requests for work name: sites outside of the roots, and those that this worker cannot use.
    func sitesNotToLease(besides refused: [SiteID]?) -> [SiteID]? {
        let unusable = volumes.withLock { $0.unusable() }
        guard !unusable.isEmpty else { return refused }
        return Array(Set(refused ?? []).union(unusable).sorted().prefix(WireLimits.refusedSites))
    }

    /// Finds out now and then whether sites can be used by now: their file systems are mounted, or an operator has
    /// accepted what is there.
    func keepCheckingSites() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(SiteVolumes.checkSeconds))
            if !Task.isCancelled { checkUnusableSites() }
        }
    }

    /// Do not wait for the tasks: one may hang.
    @discardableResult
    func checkUnusableSites() -> [Task<Void, Never>] {
        volumes.withLock { $0.toCheck() }.map { site, url in
            Task {
                let isUsable = await self.isUsable(site, at: url)
                self.volumes.withLock { sites in
                    if isUsable { sites.setUsable(site) } else { sites.checked(site) }
                }
            }
        }
    }

    /// Whether to lease jobs of a site again. Where its volume is there, the coordinator gets to know with the next
    /// heartbeat that the site works.
    private func isUsable(_ site: SiteID, at url: String) async -> Bool {
        let request = SiteVolumeRequest(worker: id, site: site)
        let answer = try? await client.volume(request, retrySeconds: 0)
        if let answer {
            // An operator wants it tried.
            if let seconds = answer.resumedSeconds,
                volumes.withLock({ $0.wasUnusable(site, before: seconds) })
            {
                return true
            }
            volumes.withLock { $0.record(SiteVolume(answer), of: site, at: url) }
        }
        return await blocking.run {
            do throws(Failure) {
                // Where no volume is recorded, the worker that leases its jobs next records what is there.
                let storage = try self.storage(at: url)
                // Why it cannot be written, if so, is reported by the next job.
                if (try? storage.probe()) != nil {
                    self.sitesInUse.withLock { $0.take(storage, of: site, isSound: true) }
                }
                return true
            } catch {
                return false
            }
        }
    }

    /// Closes the directories of sites that are not in use, so that their file systems can be unmounted.
    func keepClosingDirectories() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            for storage in openedStorages { storage.closeIdle() }
        }
    }
}
