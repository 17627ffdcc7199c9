import CoordinatorClient
import EventLoop
package import Model
import Services
import Transfer

/// A worker: leases batches of jobs, downloads, hashes, stores and reports.
///
/// It talks to coordinators over HTTP only and holds no state that matters: if it is killed, other
/// workers get its jobs when its leases expire. This is the composition root: it creates, runs and
/// ends the other objects in order.
package final class WorkerService: DrainableService {
    private let drainSeconds: Double
    /// Triggered when running jobs must be returned at once.
    private let stopping = ShutdownSignal()
    let core: WorkerCore
    let sites: Sites
    let reporting: Reporting
    let fetching: Fetching
    let resolving: Resolving
    let refreshing: Refreshing
    let auditor: SiteAuditor
    let sources: SourceReader
    let leasing: Leasing

    package init(_ configuration: Configuration) throws(Failure) {
        drainSeconds = configuration.drainSeconds
        core = WorkerCore(
            identity: WorkerIdentity(
                id: .random(), name: configuration.name,
                queues: configuration.queues),
            connections: configuration.connections,
            client: try CoordinatorClient(
                endpoints: configuration.coordinators.joined(separator: ","),
                token: configuration.token, tls: configuration.tls),
            engine: try Self.engine(configuration), held: HeldWork(), pace: LeasePace(),
            blocking: BlockingCalls(), draining: ShutdownSignal(),
            log: Logger("worker").with("worker", configuration.name))
        sites = Sites(
            core, durability: configuration.durability, roots: configuration.roots,
            buckets: configuration.buckets)
        reporting = Reporting(core, sites)
        fetching = Fetching(core, sites, reporting, configuration)
        resolving = Resolving(core, reporting.reporter)
        refreshing = Refreshing(core, sites, reporting.reporter, resolving.manifests)
        let access = SiteAccess(
            roots: configuration.roots, owners: sites.owners, storages: sites.storages,
            volumes: sites.volumes, blocking: core.blocking)
        auditor = SiteAuditor(core, access)
        sources = SourceReader(core)
        leasing = Leasing(
            core, sites, reporting, fetching, auditor, SiteProber(access, sites), sources,
            JobHandlers(
                fetcher: fetching.fetcher, warmer: fetching.warmer, verifier: fetching.verifier,
                checksums: fetching.checksums, purger: fetching.purger,
                titles: resolving.titles, refreshes: refreshing.refreshes),
            roots: configuration.roots, traces: configuration.traces,
            loadShards: configuration.loadShards
                ?? EngineLoadShards(addressPolicy: configuration.addressPolicy))
    }

    package var metrics: WorkerMetrics { core.metrics }

    package var name: String { core.identity.name }
    /// Identity of this process.
    package var id: WorkerID { core.identity.id }

    private static func engine(
        _ configuration: Configuration
    ) throws(Failure) -> TransferEngine {
        var options = TransferEngine.Options()
        options.connections = configuration.connections
        options.addressPolicy = configuration.addressPolicy
        options.origins = configuration.origins
        options.slow = LeaseDemand.slowPolicy(connections: configuration.connections)
        return try TransferEngine(options: options)
    }

    /// Stops leasing; `run()` returns when all jobs are done or returned.
    package func drain() async { stopLeasing() }

    private func stopLeasing() {
        core.draining.trigger()
        core.engine.cancelUnbegun(core.held.queuedTransfers())
    }

    /// Runs until it is drained, or until its task is cancelled; then it returns its jobs.
    package func run() async throws {
        // Not cancelled with its caller: returned jobs must still be reported.
        let work = Task { await self.work() }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            stopping.trigger()
            stopLeasing()
        }
    }

    private func work() async {
        await withDiscardingTaskGroup { background in
            background.addTask { await self.leasing.heartbeats.run() }
            background.addTask { await self.leasing.keeper.run() }
            background.addTask { await self.reporting.cooldowns.run() }
            background.addTask { await self.resolving.resolver.keepStoppingSlowTitles() }
            for chore in chores { background.addTask { await chore.run() } }
            await workInStages()
            background.cancelAll()
        }
        core.engine.shutdown()
        core.client.shutdown()
    }

    private var chores: [WorkerChore] {
        let (storages, unusable) = (sites.storages, sites.unusable)
        return [
            WorkerChore(every: .seconds(60)) { storages.sweepDue() },
            // Each object uses directories: an event for each use would cost more.
            WorkerChore(every: .seconds(1)) { storages.closeIdle() },
            WorkerChore(every: .seconds(SiteVolumes.checkSeconds)) { unusable.check() },
        ]
    }

    /// Leases until the worker drains, and then ends one stage after the other, each with all
    /// results of the one before.
    private func workInStages() async {
        async let resolved: Void = resolving.resolver.run()
        async let refreshed: Void = refreshing.refresher.run()
        async let committed: Void = fetching.committer.run()
        async let uploaded: Void = fetching.uploader.run()
        let reporting = Task { await self.reporting.sender.run() }
        let unanswered = await leasing.loop.run()
        let releasing = Task {
            if let unanswered { await self.leasing.grants.release(unanswered) }
        }
        await finishWork()
        await waitAtMost(.seconds(2)) {
            async let read: Void = self.sources.end()
            await self.auditor.end()
            await read
        }
        resolving.titles.close()
        await resolved
        refreshing.refreshes.close()
        await refreshed
        fetching.finished.close()
        await committed
        await uploaded
        self.reporting.results.close()
        await Self.wait(for: reporting, atMostSeconds: Self.lastReportSeconds)
        await Self.wait(for: releasing, atMostSeconds: Self.lastReportSeconds)
    }

    /// Seconds for which the last results are retried if coordinators do not answer.
    private static let lastReportSeconds = 10.0

    /// Waits for a task, and cancels it after `seconds`.
    private static func wait(for task: Task<Void, Never>, atMostSeconds seconds: Double) async {
        await waitAtMost(.seconds(seconds)) {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Waits for running jobs, for a bounded time; cancels and returns the rest.
    private func finishWork() async {
        let (held, stopping, drainSeconds) = (core.held, stopping, drainSeconds)
        await waitForFirst(
            of: { await held.waitUntil(.isEmpty, atMost: .seconds(drainSeconds)) },
            { await stopping.wait() })
        // For good: a title may just request its next playlist.
        core.engine.close()
        await held.waitUntil(.isEmpty, atMost: .seconds(2))
    }
}
