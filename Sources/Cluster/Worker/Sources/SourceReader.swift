import API
import CoordinatorClient
import ListSources
import Lists
import Model
import Services
import Transfer

/// Reads sources of catalogs, one after the other, beside the worker's jobs. Safe from any thread.
final class SourceReader: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// The lease of the source that is read.
        var lease: LeaseID?
    }

    /// Maximum number of names that are remembered to find repeated ones, some 20 bytes each.
    private static let rememberedNames = 2_000_000

    private let worker: WorkerIdentity
    private let client: CoordinatorClient
    private let engine: TransferEngine
    private let draining: ShutdownSignal
    private let log: Logger
    private let state = Shared(State())

    init(_ core: WorkerCore) {
        worker = core.identity
        client = core.client
        engine = core.engine
        draining = core.draining
        log = core.log
    }

    /// True if this worker may read a source now.
    var isIdle: Bool { !draining.isDraining && state.withLock { $0.task == nil } }

    /// Begins to read a source, unless another one is read.
    func take(_ call: SourceCall?) {
        guard let call, call.isFor(worker.queues), !draining.isDraining else { return }
        state.withLock { state in
            guard state.task == nil else { return }
            state.task = Task { await self.work(call.id) }
        }
    }

    /// Stops reading, because the worker drains; another worker starts again.
    func end() async {
        let (task, lease) = state.withLock { ($0.task, $0.lease) }
        if let lease { engine.cancelAll(group: lease.description) }
        await task?.value
    }

    private func work(_ catalog: CatalogID) async {
        let lease = LeaseID.random()
        state.withLock { $0.lease = lease }
        defer { state.withLock { $0 = State() } }
        do {
            let grant = try await client.lease(
                sourceOf: catalog,
                WorkLeaseRequest(worker: worker.id, name: worker.name, lease: lease),
                retrySeconds: 5)
            guard let work = grant.work else { return }
            log.info("source leased", ["catalog": catalog])
            let held = SourceLease(
                catalog: catalog, worker: worker.id, lease: lease, seconds: work.seconds,
                client: client, draining: draining)
            let keeping = Task { await held.keep() }
            defer { keeping.cancel() }
            do throws(Failure) {
                let report = try await read(work, held)
                try await client.report(report, ofSourceOf: catalog, retrySeconds: work.seconds)
                log.info("source read", ["catalog": catalog, "result": report.result.rawValue])
            } catch {
                log.warning("source not read", ["catalog": catalog, "error": "\(error)"])
                // The cluster may be down: then the lease runs out, and a worker starts again.
                if error.code != .workerLeaseLost { try await held.stop(error) }
            }
        } catch {
            log.debug("a source was not leased", ["catalog": catalog, "error": "\(error)"])
        }
    }

    /// Reads a list as a whole, and then submits it; returns the report that applies it.
    private func read(
        _ work: SourceGrant.Work, _ held: SourceLease
    ) async throws(Failure) -> SourceReport {
        let unchanged = held.report(.unchanged)
        let source = ListSource(
            url: work.url, format: work.format.flatMap { ListFormat(rawValue: $0) },
            downloader: ListDownloader(engine, group: held.lease.description),
            rules: KeyQueryRules(work.titles?.keyQueries))
        guard try await source.fetch(unless: work.validator) else { return unchanged }
        let list = try await source.read(.check) { _ throws(Failure) in try held.require() }
        guard source.sha256 != work.sha256 else { return unchanged }
        let kept = try await kept(source, list, held)
        let dropped = max(0, work.assets - kept)
        guard dropped * 100 <= Int64(work.maxDropPercent) * work.assets else {
            throw Failure(
                .inputListShrunk,
                "the list no longer names \(dropped) of the catalog's \(work.assets) assets; allowed: "
                    + "at most \(work.maxDropPercent) %.")
        }
        try await submit(source, list, held)
        var report = held.report(.applied)
        report.validator = source.validator
        report.sha256 = source.sha256
        report.assets = Int64(list.counts.assets)
        report.added = max(0, Int64(list.counts.assets) - kept)
        return report
    }

    /// Returns how many of the list's assets the catalog has. Of a list with more repeated entries than
    /// are remembered these may be too few.
    private func kept(
        _ source: ListSource, _ list: ListSource.Reading, _ held: SourceLease
    ) async throws(Failure) -> Int64 {
        var names: [String] = []
        var known: Int64 = 0
        var repeats = Int64(list.counts.repeats)
        var seen: Set<Int> = []
        _ = try await source.read(.submission(list.sharedKeys)) { assets throws(Failure) in
            for asset in assets {
                if repeats > 0 {
                    let hash = asset.name.hashValue
                    if seen.contains(hash) {
                        repeats -= 1
                        continue
                    }
                    if seen.count < Self.rememberedNames { seen.insert(hash) }
                }
                names.append(asset.name)
                guard names.count == WireLimits.namesPerSourceCheck else { continue }
                known += try await held.known(names)
                names = []
            }
        }
        if !names.isEmpty { known += try await held.known(names) }
        return max(0, known - repeats)
    }

    private func submit(
        _ source: ListSource, _ list: ListSource.Reading, _ held: SourceLease
    ) async throws(Failure) {
        var batch = SubmissionBatch()
        _ = try await source.read(.submission(list.sharedKeys)) { assets throws(Failure) in
            for asset in assets {
                guard let full = batch.add(asset) else { continue }
                try await held.add(full)
            }
        }
        if let rest = batch.takeRest() { try await held.add(rest) }
    }
}

/// A worker's hold on a source. Safe from any thread.
struct SourceLease: Sendable {
    let catalog: CatalogID
    let worker: WorkerID
    let lease: LeaseID
    let seconds: Double
    let client: CoordinatorClient
    let draining: ShutdownSignal
    private let hold = WorkHold()

    init(
        catalog: CatalogID, worker: WorkerID, lease: LeaseID, seconds: Double,
        client: CoordinatorClient, draining: ShutdownSignal
    ) {
        self.catalog = catalog
        self.worker = worker
        self.lease = lease
        self.seconds = seconds
        self.client = client
        self.draining = draining
    }

    /// Throws `worker.leaseLost` if another worker may have the source, and `worker.cancelled` if this
    /// one drains.
    func require() throws(Failure) {
        guard hold.isHeld else {
            throw Failure(.workerLeaseLost, "The source is another worker's, or was changed.")
        }
        guard !draining.isDraining else { throw Failure(.workerCancelled, "the worker drains") }
    }

    func report(_ result: SourceResult) -> SourceReport {
        SourceReport(worker: worker, lease: lease, result: result)
    }

    /// Extends the lease regularly, until the task is cancelled or the source is lost.
    func keep() async {
        await hold.keep(every: seconds / 4) { () async throws(Failure) in _ = try await check([]) }
    }

    private func check(_ names: [String]) async throws(Failure) -> SourceChecked {
        try await client.check(
            SourceCheck(worker: worker, lease: lease, names: names), of: catalog,
            retrySeconds: seconds / 2)
    }

    func known(_ names: [String]) async throws(Failure) -> Int64 {
        try require()
        return try await check(names).known
    }

    func add(_ assets: [AssetSubmission]) async throws(Failure) {
        try require()
        // The submission is opened once the list is whole.
        let batch = AssetBatch(generation: 1, assets: assets)
        try await client.add(
            batch, toSourceOf: catalog, worker: worker, lease: lease, retrySeconds: seconds / 2)
    }

    /// Ends the reading with its failure.
    func stop(_ failure: Failure) async throws(Failure) {
        var report = report(.failed)
        report.failure = Failure(failure.code, String(failure.message.prefix(400)))
        try await client.report(report, ofSourceOf: catalog, retrySeconds: 2)
    }
}
