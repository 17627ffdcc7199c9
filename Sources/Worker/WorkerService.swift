import CoordinatorClient
import FoundationEssentials
package import Model
import Runtime
package import Storage
import Synchronization
package import Transfer

/// A worker: leases batches of jobs, downloads, hashes, stores and reports.
///
/// It speaks to coordinators over HTTP only and holds nothing that matters: killed at any moment,
/// its jobs go to others when its leases run out.
package final class WorkerService: DrainableService {
    package struct Configuration: Sendable {
        /// URLs of coordinators; the next one is asked when one is down.
        package var coordinators: [String]
        package var token: AccessToken
        /// What it may write to, whatever a coordinator asks for.
        package var roots: SiteRoots
        /// Queues to take jobs from; empty means all.
        package var queues: [String]
        /// Transfers at a time, 1 to 1,000.
        package var connections: Int
        /// Shown in the cluster's status: host and process.
        package var name: String
        package var durability: Durability
        /// Files larger than this are fetched in parts of this size, in bytes.
        package var partBytes: Int64
        /// A connection that is this fast fetches a large file alone, in bytes a second; infinite for
        /// parts in any case.
        package var splitBelowBytesPerSecond: Double
        /// Longest that work in hand may take after `drain`, in seconds.
        package var drainSeconds: Double
        /// What transfers may connect to.
        package var addressPolicy = AddressPolicy()
        /// How origins are asked. They stay with this process.
        package var origins = OriginSettingsTable()
        /// The process does nothing but this worker's work: its CPU time is what the work takes.
        package var isAlone = false
        /// What sends its parts of load tests; nil for an engine in this process.
        package var loadShares: (any LoadShareRunner)?

        package init(
            coordinators: [String], token: AccessToken, roots: SiteRoots, queues: [String] = [],
            connections: Int = 32, name: String, durability: Durability = .batch,
            partBytes: Int64 = 64 << 20,
            splitBelowBytesPerSecond: Double = 200e6, drainSeconds: Double = 20
        ) {
            self.coordinators = coordinators
            self.token = token
            self.roots = roots
            self.queues = queues
            self.connections = connections
            self.name = name
            self.durability = durability
            self.partBytes = partBytes
            self.splitBelowBytesPerSecond = splitBelowBytesPerSecond
            self.drainSeconds = drainSeconds
        }
    }

    /// A transfer that ended well: its bytes are still to be made durable.
    struct Finished: Sendable {
        var job: Job
        var lease: LeaseID
        var storage: DirectoryStorage
        var fetched: Fetched
        var transfer: Transfer
        var origins: [OriginOutcome]?
    }

    package let name: String
    /// This process's identity.
    package let id: WorkerID = UUID().uuidString.lowercased()
    let configuration: Configuration
    let client: CoordinatorClient
    let engine: TransferEngine
    let held = HeldWork()
    let tally: WorkTally
    let blocking = BlockingCalls()
    let finished = Mailbox<Finished>()
    let reports = Mailbox<JobReport>()
    let resolves = TitleQueue()
    let refreshes = Mailbox<Refresh>()
    let pace = LeasePace()
    let log: Logger
    let shares = Mutex(ShareTable())
    let siteShares = Mutex(SiteShareTable())
    let suspects = Mutex<Set<String>>([])
    let mirrors = Mutex(MirrorTable())
    /// What its coordinators said of their database; empty before that.
    let cluster = Mutex<ClusterID>("")
    /// Why the last request for work came to nothing, when a coordinator said so.
    let trouble = Mutex<Failure?>(nil)
    private let sites = Mutex<[String: DirectoryStorage]>([:])
    let volumes = Mutex(SiteVolumes())
    let sitesInUse = Mutex(SiteTable())
    let refusedSites = Mutex(RefusedSites())
    let sweeps = Mutex(SweepTurns())
    let loadTests = Mutex(LoadTestMemory())
    let loadShares: any LoadShareRunner
    let siteFaultNotedAt = Mutex<HeldWork.Instant?>(nil)
    private let draining = ShutdownSignal()
    private let leasing = Mutex<Task<LeaseID?, Never>?>(nil)

    package init(_ configuration: Configuration) throws(Failure) {
        self.configuration = configuration
        name = configuration.name
        loadShares =
            configuration.loadShares
            ?? EngineLoadShares(addressPolicy: configuration.addressPolicy)
        tally = WorkTally(
            connections: configuration.connections, countsCPU: configuration.isAlone)
        log = Logger("worker").with("worker", configuration.name)
        client = try CoordinatorClient(
            endpoints: configuration.coordinators.joined(separator: ","),
            token: configuration.token)
        var options = TransferEngine.Options()
        options.connections = configuration.connections
        options.addressPolicy = configuration.addressPolicy
        options.origins = configuration.origins
        options.slow = Self.slowPolicy(connections: configuration.connections)
        engine = try TransferEngine(options: options)
    }

    /// Takes no more work; `run` returns when what is in hand is done or given back.
    package func drain() async {
        draining.trigger()
        leasing.withLock { $0 }?.cancel()
        engine.cancelUnbegun(held.queuedTransfers())
    }

    /// Works until it is drained, or until its task is cancelled (what it holds is then given back).
    package func run() async throws {
        let leaseTask = Task { await self.leaseWork() }
        leasing.withLock { $0 = leaseTask }
        if draining.isDraining { leaseTask.cancel() }
        let background = [
            Task { await self.beat() }, Task { await self.watchLeases() },
            Task { await self.hearOfCooling() }, Task { await self.keepSweeping() },
            Task { await self.keepCheckingSites() }, Task { await self.keepClosingDirectories() },
        ]
        let resolving = Task { await self.resolveInTurn() }
        let refreshing = Task { await self.refreshInTurn() }
        let committing = Task { await self.commitFinished() }
        let reporting = Task { await self.sendReports() }
        let unanswered = await withTaskCancellationHandler {
            await leaseTask.value
        } onCancel: {
            leaseTask.cancel()
        }
        let releasing = Task {
            if let unanswered { await release(unanswered) }
        }
        await finishWork()
        resolves.close()
        await resolving.value
        refreshes.close()
        await refreshing.value
        finished.close()
        await committing.value
        reports.close()
        await Self.wait(for: reporting, atMostSeconds: Self.lastReportSeconds)
        await Self.wait(for: releasing, atMostSeconds: Self.lastReportSeconds)
        for task in background { task.cancel() }
        for task in background { await task.value }
        engine.shutdown()
        client.shutdown()
    }

    /// How long the last results are offered to coordinators that do not answer.
    private static let lastReportSeconds = 10.0

    /// Waits for a task, which is cancelled when it takes longer.
    private static func wait(for task: Task<Void, Never>, atMostSeconds seconds: Double) async {
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { task.cancel() }
        }
        await task.value
        timer.cancel()
    }

    /// Waits for what is in hand, for a bounded time; the rest is cancelled and given back.
    private func finishWork() async {
        let clock = ContinuousClock()
        let patience = clock.now + .seconds(configuration.drainSeconds)
        while !held.isEmpty && clock.now < patience && !Task.isCancelled {
            await pace.wait(atMost: .milliseconds(200))
        }
        let end = clock.now + .seconds(2)
        while !held.isEmpty && clock.now < end {
            // Each time anew: a title's next playlist may just have been asked for.
            for lease in held.leases { engine.cancelAll(group: lease) }
            await pace.wait(atMost: .milliseconds(100))
        }
    }

    var isDraining: Bool { draining.isDraining || Task.isCancelled }

    /// The storage of a site that was opened before.
    func openedStorage(at url: String) -> DirectoryStorage? { sites.withLock { $0[url] } }

    var openedStorages: [DirectoryStorage] { sites.withLock { Array($0.values) } }

    /// The storage of a site, opened once, on the volume that is recorded for it: looked at now, so that nothing is
    /// fetched for another one.
    func storage(at url: String) throws(Failure) -> DirectoryStorage {
        let volume = volumes.withLock { $0.volume(at: url) }
        if let known = openedStorage(at: url) {
            try known.require(volume: volume)
            return known
        }
        let opened = try DirectoryStorage(
            try StorageURL(url), durability: configuration.durability,
            roots: configuration.roots, volume: volume)
        sweep(url, opened)
        return sites.withLock { sites in
            if let known = sites[url] { return known }
            sites[url] = opened
            return opened
        }
    }
}
