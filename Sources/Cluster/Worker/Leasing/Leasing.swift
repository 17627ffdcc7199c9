import Storage

/// The objects that lease jobs and keep the leases.
struct Leasing: Sendable {
    let grants: GrantHandler
    let loop: LeaseLoop
    let keeper: LeaseKeeper
    let heartbeats: Heartbeats

    init(
        _ core: WorkerCore, _ sites: Sites, _ reporting: Reporting, _ fetching: Fetching,
        _ auditor: SiteAuditor, _ prober: SiteProber, _ sources: SourceReader,
        _ handlers: JobHandlers,
        roots: SiteRoots, traces: TraceUse, loadShards: any LoadShardRunner
    ) {
        let limits = Limits(
            origins: OriginQuotas(engine: core.engine),
            sites: SiteQuotas(engine: core.engine, held: core.held),
            cooldowns: reporting.cooldowns, engine: core.engine)
        let failures = LeaseFailures(log: core.log)
        let surplus = SurplusJobs(
            connections: core.connections, engine: core.engine, held: core.held, pace: core.pace)
        let loadTests = LoadTestWorker(
            worker: core.identity, client: core.client, runner: loadShards, engine: core.engine,
            held: core.held, pace: core.pace, draining: core.draining, log: core.log)
        grants = GrantHandler(
            worker: core.identity.id, client: core.client, held: core.held,
            runs: fetching.tally.runs, limits: limits,
            admission: SiteAdmission(
                worker: core.identity.id, roots: roots, client: core.client,
                owners: sites.owners, storages: sites.storages, volumes: sites.volumes,
                blocking: core.blocking,
                reporter: reporting.reporter),
            sites: sites.inUse, cluster: fetching.cluster, handlers: handlers,
            reporter: reporting.reporter, draining: core.draining, traces: traces,
            metrics: core.metrics, log: core.log)
        loop = LeaseLoop(
            worker: core.identity, roots: roots.urls, client: core.client,
            demand: LeaseDemand(
                connections: core.connections, engine: core.engine, held: core.held,
                pace: core.pace, surplus: surplus),
            surplus: surplus, excluded: sites.excluded, grants: grants, loadTests: loadTests,
            auditor: auditor, prober: prober,
            sources: sources, failures: failures, draining: core.draining, log: core.log)
        keeper = LeaseKeeper(
            held: core.held, engine: core.engine, pace: core.pace, surplus: surplus,
            metrics: core.metrics,
            log: core.log)
        core.metrics.declare(core, sites, failures: failures)
        heartbeats = Heartbeats(
            source: HeartbeatSource(
                worker: core.identity, roots: roots.urls, engine: core.engine, held: core.held,
                surplus: surplus, tally: fetching.tally, limits: limits, sites: sites.inUse,
                excluded: sites.excluded, failures: failures),
            client: core.client, leases: keeper, limits: limits, loadTests: loadTests,
            log: core.log)
    }
}
