import Model

/// The objects that move bytes from origins to sites, or through caches.
struct Fetching: Sendable {
    /// The identity of the coordinators' database; nil until a coordinator reports it.
    let cluster: Shared<ClusterID?>
    let tally: WorkTally
    let fetcher: Fetcher
    let warmer: Warmer
    let verifier: Verifier
    let checksums: ChecksumFileWriter
    let purger: Purger
    let finished: FinishedTransfers
    let committer: Committer
    let uploader: Uploader

    init(
        _ core: WorkerCore, _ sites: Sites, _ reporting: Reporting,
        _ configuration: WorkerService.Configuration
    ) {
        let (held, blocking, reporter) = (core.held, core.blocking, reporting.reporter)
        cluster = Shared(nil)
        tally = WorkTally(connections: core.connections, countsCPU: configuration.isAlone)
        finished = FinishedTransfers()
        committer = Committer(
            finished: finished.committed, held: held, sites: sites.inUse,
            failures: sites.failures,
            blocking: blocking, metrics: core.metrics, results: reporting.results)
        let partials = PartialBodies(cluster: cluster, held: held, blocking: blocking)
        uploader = Uploader(
            finished: finished.uploaded, connections: core.connections, held: held,
            sites: sites.inUse, failures: sites.failures, metrics: core.metrics,
            partials: partials, results: reporting.results)
        verifier = Verifier(
            storages: sites.storages, held: held, blocking: blocking, reporter: reporter,
            pace: core.pace)
        checksums = ChecksumFileWriter(
            worker: core.identity.id, client: core.client, storages: sites.storages, held: held,
            blocking: blocking, reporter: reporter, pace: core.pace)
        purger = Purger(
            worker: core.identity.id, client: core.client, storages: sites.storages,
            bodies: BodyPurger(
                worker: core.identity.id, client: core.client, storages: sites.storages,
                cluster: cluster, held: held, blocking: blocking),
            held: held, draining: core.draining, blocking: blocking, reporter: reporter,
            pace: core.pace)
        let splitter = Splitter(
            worker: core.identity.id, partBytes: configuration.partBytes, client: core.client,
            held: held, blocking: blocking)
        let results = FetchResults(
            held: held, pace: core.pace, tally: tally, metrics: core.metrics, splitter: splitter,
            partials: partials,
            sites: sites.inUse, suspects: reporting.suspects, finished: finished,
            reporter: reporter)
        let transfers = FetchTransfers(
            engine: core.engine, held: held, draining: core.draining, splitter: splitter,
            partials: partials, mirrors: Mirrors(engine: core.engine), results: results,
            reporter: reporter,
            splitBelowBytesPerSecond: configuration.splitBelowBytesPerSecond)
        warmer = Warmer(
            engine: core.engine, held: held, draining: core.draining, tally: tally,
            metrics: core.metrics, pace: core.pace, reporter: reporter)
        fetcher = Fetcher(
            sites: sites.inUse,
            reuse: StoredFiles(
                held: held, blocking: blocking, reporter: reporter, pace: core.pace),
            rewritten: RewrittenManifestWriter(
                worker: core.identity.id, client: core.client, held: held, blocking: blocking,
                reporter: reporter, pace: core.pace),
            partials: partials, transfers: transfers,
            adoption: FoundFileCheck(
                engine: core.engine, held: held, pace: core.pace, reporter: reporter),
            finished: finished, held: held, blocking: blocking, reporter: reporter,
            pace: core.pace)
    }
}
