import API
import HTTPServer
import JobQueue
import Metrics
import Model

/// Routes for leases, heartbeats and cooldowns of origins.
struct LeaseRoutes: Sendable {
    let queue: JobQueue
    /// Fired when there may be jobs.
    let signal: WorkSignal
    let cooldowns: CurrentCooldowns
    let loadTests: CalledLoadTests
    let audits: CalledWork<SiteAuditCall>
    let sources: CalledWork<SourceCall>
    let probes: CalledWork<SiteToProbe>
    let metrics: CoordinatorMetrics

    /// Leases a batch. Without jobs, it waits until some appear, the client's time is over, or
    /// there is a new cooldown, a load test, or a site to probe.
    func lease(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        var wanted: LeaseRequest = try RequestBody.read(request)
        try Validation.check(wanted)
        wanted.queues = try caller.narrowed(wanted.queues)
        let clock = ContinuousClock()
        let start = clock.now
        let deadline = start + .milliseconds(wanted.waitMilliseconds)
        let known = cooldowns.changes
        let lease = wanted.lease ?? .random()
        while true {
            let version = signal.version
            try caller.requireCurrent()
            if let call = loadTests.first(for: wanted) {
                // The worker must have no jobs during the test.
                return try .wire(grant(loadTest: call), for: request)
            }
            if let call = audit(for: wanted) {
                return try .wire(grant(audit: call), for: request)
            }
            if wanted.takesSources, let call = sources.take(for: wanted.queues) {
                return try .wire(grant(source: call), for: request)
            }
            let probe = try await probe(for: wanted)
            let askedAt = clock.now
            let waited = start.duration(to: clock.now) / .seconds(1)
            var grant = try await queue.jobs.claims.lease(wanted, as: lease)
            metrics.claimDuration.record(clock.now - askedAt)
            metrics.count(grant)
            grant.waitedSeconds = waited
            grant.cooldowns = cooldowns.answer(to: grant, askedAt: askedAt)
            grant.probe = probe
            if let lease = grant.lease {
                guard request.isPeerConnected() else {
                    return try await takeBack(grant, lease, from: wanted.worker)
                }
                return try .wire(grant, for: request)
            }
            let rest = clock.now.duration(to: deadline)
            guard rest > .zero, !signal.isClosed, cooldowns.changes == known, probe == nil else {
                return try .wire(grant, for: request)
            }
            // No notification announces that a worker may try a job alone.
            let patience =
                queue.jobs.claims.queues.awaitsTrial(in: wanted.queues)
                ? min(rest, .seconds(1)) : rest
            await signal.wait(after: version, atMost: patience)
            // A stopping coordinator grants no leases.
            guard !signal.isClosed else { return try .wire(grant, for: request) }
            // Jobs that are leased to a worker that is gone are idle until the lease expires.
            guard request.isPeerConnected() else { return .done }
        }
    }

    private func audit(for request: LeaseRequest) -> SiteAuditCall? {
        guard let past = request.pastAudits else { return nil }
        return audits.first(for: request.queues) { past.contains($0.id) }
    }

    /// Returns a site that the worker must probe; nil for none. Another coordinator may have asked a
    /// worker since this one read the list.
    private func probe(for request: LeaseRequest) async throws -> LeasedSite? {
        let site = probes.take(for: request.queues) { $0.mayBeProbed(by: request) }
        guard let site else { return nil }
        return try await queue.sites.closed.probe(site.id, by: request.worker)
    }

    private func grant(
        loadTest: LoadTestCall? = nil, audit: SiteAuditCall? = nil, source: SourceCall? = nil
    ) -> LeaseGrant {
        var grant = LeaseGrant(lease: nil, seconds: queue.settings.leaseSeconds)
        grant.cooldowns = cooldowns.answer
        grant.loadTest = loadTest
        grant.audit = audit
        grant.source = source
        return grant
    }

    /// Returns the jobs of a grant whose worker has disconnected.
    private func takeBack(
        _ grant: LeaseGrant, _ lease: LeaseID, from worker: WorkerID
    ) async throws -> HTTPResponse {
        let results = grant.jobs.map { JobReport(job: $0.id, lease: lease, outcome: .returned()) }
        _ = try await queue.jobs.reports.record(ReportRequest(worker: worker, results: results))
        return .done
    }

    /// Answers with the cooldowns as soon as they differ from the caller's version.
    func cooldownList(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let text = request.queryValue("waitMilliseconds") ?? "0"
        guard let wait = Int(text), (0...WireLimits.waitMilliseconds).contains(wait) else {
            throw Validation.wrong("waitMilliseconds", text, "0 to \(WireLimits.waitMilliseconds)")
        }
        let after = request.queryValue("after")
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(wait)
        while true {
            let version = cooldowns.signal.version
            try caller.requireCurrent()
            let list = cooldowns.list
            let rest = clock.now.duration(to: deadline)
            guard list.version == after, rest > .zero, !cooldowns.signal.isClosed else {
                return try .wire(list)
            }
            await cooldowns.signal.wait(after: version, atMost: rest)
        }
    }

    func release(_ request: HTTPRequest) async throws -> HTTPResponse {
        let release: LeaseRelease = try RequestBody.read(request)
        try await queue.jobs.leases.release(release)
        return .done
    }

    func heartbeat(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        var heartbeat: Heartbeat = try RequestBody.read(request)
        try Validation.check(heartbeat)
        if caller.isBoundToQueues { try await bound(&heartbeat, to: caller) }
        let start = ContinuousClock.now
        var answer = try await queue.jobs.leases.heartbeat(heartbeat)
        metrics.heartbeatDuration.record(.now - start)
        answer.cooldowns = cooldowns.answer
        answer.loadTests = loadTests.all(for: caller.isBoundToQueues ? heartbeat.queues ?? [] : [])
        return try .wire(answer)
    }

    /// Leaves out what a worker reports about sites of other queues.
    private func bound(_ heartbeat: inout Heartbeat, to caller: Caller) async throws {
        heartbeat.queues = try caller.narrowed(heartbeat.queues ?? [])
        let sites = (heartbeat.sites ?? []).map(\.site) + (heartbeat.siteShares ?? []).map(\.site)
        guard !sites.isEmpty else { return }
        let allowed = try await caller.allowed(Set(sites), queue.access.tokens)
        heartbeat.sites?.removeAll { !allowed.contains($0.site) }
        heartbeat.siteShares?.removeAll { !allowed.contains($0.site) }
    }
}
