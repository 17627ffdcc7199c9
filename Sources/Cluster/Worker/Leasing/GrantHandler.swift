import API
import CoordinatorClient
import EventLoop
import Metrics
import Model
import Services

/// The objects that execute jobs, by kind.
struct JobHandlers: Sendable {
    let fetcher: Fetcher
    let warmer: Warmer
    let verifier: Verifier
    let checksums: ChecksumFileWriter
    let purger: Purger
    let titles: TitleQueue
    let refreshes: Mailbox<Refresh>
}

/// Starts the jobs of a grant.
struct GrantHandler: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let held: HeldWork
    let runs: RunTally
    let limits: Limits
    let admission: SiteAdmission
    let sites: SitesInUse
    /// The identity of the coordinators' database.
    let cluster: Shared<ClusterID?>
    let handlers: JobHandlers
    let reporter: Reporter
    let draining: ShutdownSignal
    let traces: TraceUse
    let metrics: WorkerMetrics
    let log: Logger

    /// Handles a grant. `ended` has the bytes that were stored when it was requested.
    ///
    /// - Parameter outsideRoots: sites that the request excluded.
    func take(
        _ grant: LeaseGrant, askedAt: HeldWork.Instant, ended: [SiteID: Int64],
        outsideRoots: [SiteID]?
    ) async {
        limits.take(grant, grantedAt: askedAt)
        if let lease = grant.lease, let site = grant.site {
            log.debug("a lease was granted", ["jobs": grant.jobs.count])
            metrics.leasedJobs.add(grant.jobs.count)
            held.add(lease, grant.jobs, at: site.id, seconds: grant.seconds, askedAt: askedAt)
            runs.began(Set(grant.jobs.map(\.run)), now: askedAt)
            if let id = grant.cluster { cluster.withLock { $0 = id } }
            let jobs = grant.leasedJobs(lease, at: site, traces: traces)
            if await admission.admit(jobs, lease, at: site, refused: outsideRoots) {
                await sites.removeAbandoned(at: site)
                await start(jobs, lease, at: site, ended)
            }
        }
        if grant.isAlone == true { await finishAlone() }
    }

    // These tasks are not awaited: a hanging file system must not block the worker's shutdown.
    private func start(
        _ jobs: [LeasedJob], _ lease: LeaseID, at site: LeasedSite, _ ended: [SiteID: Int64]
    ) async {
        var fetches: [LeasedJob] = []
        var lists: [Leased<ChecksumFileWriter.Directory>] = []
        let cache = site.cache
        let isCache = cache != nil
        for work in jobs {
            switch work.job.task {
            case .verify where isCache, .refresh where isCache, .publish where isCache:
                reporter.fail(work, Failure(.inputCacheSite, "\(site.storageURL) is a cache"))
            case .fetch: fetches.append(work)
            case .resolve(let source): handlers.titles.push(Leased(work, source))
            case .verify(let verification):
                Task { await handlers.verifier.verify(Leased(work, verification)) }
            case .purge: Task { await handlers.purger.purge(work) }
            case .checksums(let directory): lists.append(Leased(work, directory))
            case .refresh(let source), .publish(let source):
                handlers.refreshes.push(Refresh(work: Leased(work, source), ended: ended))
            }
        }
        if let cache {
            // A cache has no checksum files.
            for work in lists { reporter.done(work.work) }
            return handlers.warmer.warm(fetches, through: cache)
        }
        if !lists.isEmpty {
            Task { [lists] in await handlers.checksums.write(lists, lease) }
        }
        await handlers.fetcher.fetch(fetches, at: site, ended: ended)
    }

    /// Waits until a job that runs alone is reported, so that no other is lost with it. Waits a
    /// minute at most, because a slow one must not block all other work.
    private func finishAlone() async {
        await waitForFirst(
            of: { await held.waitUntil(.isEmpty, atMost: .seconds(60)) },
            { await draining.wait() })
    }

    /// Releases a lease whose grant did not arrive. It may exist all the same, and its jobs would
    /// wait until it expires.
    func release(_ lease: LeaseID) async {
        do {
            try await client.release(
                LeaseRelease(worker: worker, lease: lease), retrySeconds: 10)
        } catch {
            log.debug("a lease was not released", ["error": "\(error)"])
        }
    }
}
