import API
import CoordinatorClient
import Model
import Services
import Text
import Transfer

/// Leases jobs until the worker drains, and keeps enough of them queued.
struct LeaseLoop: Sendable {
    let worker: WorkerIdentity
    /// Directories that the worker may write to, as reported to coordinators; nil for any.
    let roots: [String]?
    let client: CoordinatorClient
    let demand: LeaseDemand
    let surplus: SurplusJobs
    let excluded: ExcludedSites
    let grants: GrantHandler
    let loadTests: LoadTestWorker
    let auditor: SiteAuditor
    let prober: SiteProber
    let sources: SourceReader
    let failures: LeaseFailures
    let draining: ShutdownSignal
    let log: Logger

    /// Runs until the worker drains. Returns the lease of an unanswered request, which must be
    /// released.
    func run() async -> LeaseID? {
        defer { surplus.stopsAsking() }
        return await withTaskGroup(of: LeaseID?.self) { group in
            group.addTask {
                await self.draining.wait()
                return nil
            }
            group.addTask { await self.leaseWork() }
            var unanswered: LeaseID?
            // Draining cancels the request that a coordinator holds open.
            while let lease = await group.next() {
                group.cancelAll()
                unanswered = unanswered ?? lease
            }
            return unanswered
        }
    }

    private func leaseWork() async -> LeaseID? {
        while !draining.isDraining {
            if let call = loadTests.next() {
                surplus.stopsAsking()
                await loadTests.takePart(in: call)
                continue
            }
            guard let wanted = await demand.next() else { continue }
            let lease = LeaseID.random()
            do {
                try await ask(for: wanted, as: lease)
            } catch {
                surplus.stopsAsking()
                guard !draining.isDraining else { return lease }
                Task { await grants.release(lease) }
                let delay = failures.failed(error)
                try? await Task.sleep(for: delay)
            }
        }
        return nil
    }

    private func ask(for wanted: LeaseDemand.Jobs, as lease: LeaseID) async throws(Failure) {
        let askedAt = HeldWork.Instant.now
        let outsideRoots = excluded.outsideRoots
        let request = request(for: wanted, as: lease, outsideRoots: outsideRoots)
        surplus.asks()
        let grant = try await client.lease(request)
        if grant.lease != nil || request.waitMilliseconds == 0 { surplus.stopsAsking() }
        failures.succeeded()
        let grantedAt = askedAt + .seconds(grant.waitedSeconds)
        loadTests.take(grant.loadTest.map { [$0] })
        auditor.take(grant.audit)
        prober.take(grant.probe, ended: wanted.ended)
        sources.take(grant.source)
        await grants.take(
            grant, askedAt: grantedAt, ended: wanted.ended, outsideRoots: outsideRoots)
        if grant.lease == nil, request.waitMilliseconds == 0 {
            await demand.waitForSlow(after: wanted.mark)
        }
    }

    /// Maximum wait of a request during an audit, or while a source is read, after which others may be
    /// taken.
    private static let auditMilliseconds = 2_000

    func request(
        for wanted: LeaseDemand.Jobs, as lease: LeaseID, outsideRoots: [SiteID]?
    ) -> LeaseRequest {
        var request = LeaseRequest(
            worker: worker.id, queues: worker.queues, maxJobs: wanted.count,
            waitMilliseconds: WireLimits.waitMilliseconds, lease: lease)
        request.pastLoadTests = loadTests.past
        request.pastAudits = auditor.past
        request.takesSources = sources.isIdle
        request.roots = roots
        request.wantsTraces = grants.traces != .off
        request.refusedSites = excluded.all(outsideRoots: outsideRoots)
        if request.refusedSites != outsideRoots {
            // The volume may be usable soon.
            request.waitMilliseconds = Int(SiteVolumes.checkSeconds * 1_000)
        }
        if !auditor.isIdle || !sources.isIdle {
            request.waitMilliseconds = min(request.waitMilliseconds, Self.auditMilliseconds)
        }
        if !wanted.slow.origins.isEmpty {
            demand.limit(&request, to: wanted.slow, jobs: wanted.slowJobs)
        }
        if let most = wanted.waitMilliseconds {
            request.waitMilliseconds = min(request.waitMilliseconds, most)
        }
        return request
    }
}
