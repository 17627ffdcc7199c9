import API
import CoordinatorClient
import Model
import Services
import Storage

/// Audits sites, one after the other, beside the worker's jobs. Safe from any thread.
final class SiteAuditor: Sendable {
    /// An audit that coordinators need not offer to this worker: one that waits here, that it has, or
    /// that it cannot do.
    private struct Past {
        var id: SiteAuditID
        /// After that it may be offered again; nil for never.
        var until: ContinuousClock.Instant?

        var isOver: Bool { until.map { $0 <= .now } ?? false }
    }

    private struct State {
        var calls: [SiteAuditCall] = []
        /// The latest last.
        var past: [Past] = []
        var task: Task<Void, Never>?
    }

    private let worker: WorkerIdentity
    private let client: CoordinatorClient
    private let sites: SiteAccess
    private let blocking: BlockingCalls
    private let draining: ShutdownSignal
    private let log: Logger
    private let state = Shared(State())

    init(_ core: WorkerCore, _ sites: SiteAccess) {
        worker = core.identity
        client = core.client
        self.sites = sites
        blocking = core.blocking
        draining = core.draining
        log = core.log
    }

    /// Audits that were offered before.
    var past: [SiteAuditID] {
        state.withLock { state in
            state.past.removeAll(where: \.isOver)
            return state.past.map(\.id)
        }
    }

    /// True if no audit waits here or is under way, and none may be offered again: what this worker
    /// takes does not change soon.
    var isIdle: Bool {
        state.withLock { state in
            state.task == nil && !state.past.contains { $0.until != nil && !$0.isOver }
        }
    }

    /// Records an audit that needs a worker, and begins with it once the others are done.
    func take(_ call: SiteAuditCall?) {
        guard let call, call.isFor(worker.queues), !draining.isDraining else { return }
        state.withLock { state in
            state.past.removeAll(where: \.isOver)
            guard !state.past.contains(where: { $0.id == call.id }) else { return }
            state.past = Array((state.past + [Past(id: call.id)]).suffix(WireLimits.pastAudits))
            state.calls.append(call)
            if state.task == nil { state.task = Task { await self.work() } }
        }
    }

    /// Waits until the present audit has stopped, because the worker drains.
    func end() async {
        let task = state.withLock { state in
            state.calls = []
            return state.task
        }
        await task?.value
    }

    private func work() async {
        while let call = next() {
            guard await audit(call.id) else { continue }
            // It may be offered again. Not at once: what a coordinator knows of it may be old.
            let until = ContinuousClock.now + .seconds(1)
            state.withLock { state in
                guard let index = state.past.firstIndex(where: { $0.id == call.id }) else { return }
                state.past[index].until = until
            }
        }
    }

    private func next() -> SiteAuditCall? {
        state.withLock { state in
            guard !state.calls.isEmpty else {
                state.task = nil
                return nil
            }
            return state.calls.removeFirst()
        }
    }

    /// Does an audit, or the rest of one; returns false if this worker cannot do it.
    private func audit(_ id: SiteAuditID) async -> Bool {
        let lease = LeaseID.random()
        do {
            let grant = try await client.lease(
                id, WorkLeaseRequest(worker: worker.id, name: worker.name, lease: lease),
                retrySeconds: 5)
            guard let work = grant.work else { return true }
            log.info("audit leased", ["audit": id, "page": work.page])
            let held = AuditLease(
                audit: id, worker: worker.id, lease: lease, seconds: work.seconds, client: client)
            do throws(Failure) {
                try await run(held, work)
                log.info("audit finished", ["audit": id])
            } catch {
                guard error.code != .workerLeaseLost else {
                    log.warning("audit lost", ["audit": id])
                    return true
                }
                log.warning("audit stopped", ["audit": id, "error": "\(error)"])
                // The cluster may be down: the lease runs out, and a worker continues with the page.
                if error.code.family != "cluster" { try? await held.stop(error) }
                return error.code != .storageOutsideRoots
            }
        } catch {
            log.debug("an audit was not leased", ["audit": id, "error": "\(error)"])
        }
        return true
    }

    private func run(
        _ held: AuditLease, _ work: SiteAuditGrant.Work
    ) async throws(Failure) {
        let storage = try await sites.open(work.site)
        let keeping = Task { await held.keep() }
        defer { keeping.cancel() }
        var page = work.page
        if !work.isOfLeftovers {
            let comparison = SiteComparison(
                held: held, storage: storage, isDeep: work.isDeep,
                pace: AuditPace(
                    filesPerSecond: work.filesPerSecond,
                    readBytesPerSecond: work.readBytesPerSecond),
                blocking: blocking, draining: draining)
            page = try await comparison.run(from: page)
        }
        let leftovers = LeftoverCheck(
            held: held, storage: storage, cluster: work.cluster, repairs: work.repairs,
            isOfWhole: !work.isOfLeftovers, blocking: blocking)
        try await leftovers.run(page: page)
    }
}

/// A worker's hold on an audit. Safe from any thread.
struct AuditLease: Sendable {
    let audit: SiteAuditID
    let worker: WorkerID
    let lease: LeaseID
    let seconds: Double
    let client: CoordinatorClient
    /// Bytes read so far.
    private let readBytes = Shared<Int64>(0)
    /// Reports of results so far. One caller at a time sends them.
    private let reports = Shared(0)
    /// The page that is compared.
    private let page = Shared(0)
    private let hold = WorkHold()

    init(
        audit: SiteAuditID, worker: WorkerID, lease: LeaseID, seconds: Double,
        client: CoordinatorClient
    ) {
        self.audit = audit
        self.worker = worker
        self.lease = lease
        self.seconds = seconds
        self.client = client
    }

    /// Throws `worker.leaseLost` if another worker may have the audit.
    func require() throws(Failure) {
        guard hold.isHeld else {
            throw Failure(.workerLeaseLost, "The audit is another worker's, or has ended.")
        }
    }

    func read(_ bytes: Int64) { readBytes.withLock { $0 += bytes } }

    func begin(page number: Int) { page.withLock { $0 = number } }

    /// Reports progress regularly, until the task is cancelled or the audit is lost.
    func keep() async {
        await hold.keep(every: min(max(seconds / 4, 0.2), 2)) { () async throws(Failure) in
            try await post(
                SiteAuditReport(worker: worker, lease: lease, page: page.withLock(\.self)))
        }
    }

    /// Sends results, one report at a time. Throws `worker.leaseLost` if the audit was cancelled.
    func send(_ report: SiteAuditReport) async throws(Failure) {
        var report = report
        report.number = reports.withLock(\.self)
        try await post(report)
        reports.withLock { $0 += 1 }
    }

    private func post(_ report: SiteAuditReport) async throws(Failure) {
        var report = report
        report.readBytes = readBytes.withLock(\.self)
        let order = try await client.report(report, of: audit, retrySeconds: seconds / 2)
        guard order.continues || report.isEnd || report.failure != nil else {
            throw Failure(.workerLeaseLost, "The audit was cancelled.")
        }
    }

    /// Gives the audit back, with the reason.
    func stop(_ failure: Failure) async throws(Failure) {
        var report = SiteAuditReport(worker: worker, lease: lease, page: page.withLock(\.self))
        report.failure = Failure(failure.code, String(failure.message.prefix(400)))
        try await post(report)
    }

    func records(page: Int) async throws(Failure) -> SiteAuditRecords {
        try await client.records(
            SiteAuditRecordsRequest(worker: worker, lease: lease, page: page), of: audit,
            retrySeconds: seconds / 2)
    }

    func check(
        _ fill: (inout SiteAuditCheck) -> Void
    ) async throws(Failure) -> SiteAuditChecked {
        var check = SiteAuditCheck(worker: worker, lease: lease)
        fill(&check)
        let answer = try await client.check(check, of: audit, retrySeconds: seconds / 2)
        guard answer.segments.count == check.segments.count, answer.keys.count == check.keys.count,
            answer.multiparts.count == check.multiparts.count,
            answer.leases.count == check.leases.count, answer.assets.count == check.assets.count
        else {
            throw Failure(
                .clusterProtocol, "The coordinator answered a check of an audit in part.")
        }
        return answer
    }
}
