import FoundationEssentials
import HTTPServer
import JobQueue
import Model

/// What workers ask for and tell.
extension Routes {
    /// Requests that come all the time and mean little work here: leases, heartbeats, and reports
    /// that are not very long.
    static func isFrequent(_ request: HTTPRequest) -> Bool {
        request.segments.count == 2 && request.body.count <= 256 << 10
            && ["leases", "reports", "heartbeats"].contains(request.segments[1])
    }

    /// Leases a batch; without work, waits for some until the client's time is over, or until it has
    /// to hear of an origin that is left alone, or of a load test.
    func lease(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: LeaseRequest = try Self.body(of: request)
        try Validation.check(wanted)
        let clock = ContinuousClock()
        let start = clock.now
        let deadline = start + .milliseconds(wanted.waitMilliseconds)
        let known = cooling.news
        let lease = wanted.lease ?? UUID().uuidString.lowercased()
        while true {
            let version = signal.version
            if let call = loadTests.first(for: wanted) {
                // It is to have nothing else to do.
                return try Self.json(grant(with: call))
            }
            let askedAt = clock.now
            let waited = start.duration(to: clock.now) / .seconds(1)
            var grant = try await queue.lease(wanted, as: lease)
            grant.waitedSeconds = waited
            grant.cooling = cooling.answer(to: grant, askedAt: askedAt)
            if let lease = grant.lease {
                guard request.isPeerConnected() else {
                    return try await takeBack(grant, lease, from: wanted.worker)
                }
                return try Self.json(grant)
            }
            let rest = clock.now.duration(to: deadline)
            guard rest > .zero, !signal.isClosed, cooling.news == known else {
                return try Self.json(grant)
            }
            // Nothing notifies a worker that it may try a job alone now.
            let patience = queue.awaitsTrial(in: wanted.queues) ? min(rest, .seconds(1)) : rest
            await signal.wait(after: version, atMost: patience)
            // A coordinator that stops hands nothing out any more.
            guard !signal.isClosed else { return try Self.json(grant) }
            // Jobs that are leased to a worker that has gone lie idle until the lease runs out.
            guard request.isPeerConnected() else { return HTTPResponse(status: 204) }
        }
    }

    private func grant(with call: LoadTestCall) -> LeaseGrant {
        var grant = LeaseGrant(
            lease: nil, seconds: queue.settings.leaseSeconds, sites: [:], jobs: [])
        grant.cooling = cooling.answer
        grant.loadTest = call
        return grant
    }

    /// Returns the jobs of a grant that nobody is there to receive.
    private func takeBack(
        _ grant: LeaseGrant, _ lease: LeaseID, from worker: WorkerID
    ) async throws -> HTTPResponse {
        let results = grant.jobs.map { JobReport(job: $0.id, lease: lease, outcome: .returned) }
        _ = try await queue.report(ReportRequest(worker: worker, results: results))
        return HTTPResponse(status: 204)
    }

    /// Tells which origins are left alone, as soon as there is something to tell.
    func coolingList(_ request: HTTPRequest) async throws -> HTTPResponse {
        let text = request.queryValue("waitMilliseconds") ?? "0"
        guard let wait = Int(text), (0...WireLimits.waitMilliseconds).contains(wait) else {
            throw Validation.wrong("waitMilliseconds", text, "0 to \(WireLimits.waitMilliseconds)")
        }
        let after = request.queryValue("after")
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(wait)
        while true {
            let version = cooling.signal.version
            let list = cooling.list
            let rest = clock.now.duration(to: deadline)
            guard list.version == after, rest > .zero, !cooling.signal.isClosed else {
                return try Self.json(list)
            }
            await cooling.signal.wait(after: version, atMost: rest)
        }
    }

    func release(_ request: HTTPRequest) async throws -> HTTPResponse {
        let release: LeaseRelease = try Self.body(of: request)
        try Validation.check(release)
        try await queue.release(release)
        return HTTPResponse(status: 204)
    }

    func report(_ request: HTTPRequest) async throws -> HTTPResponse {
        let report: ReportRequest = try Self.body(of: request)
        try Validation.check(report)
        let answers = try await queue.report(report)
        try Self.requireAnyHeld(answers)
        reported.fire()
        var answer = ReportAnswer(answers: answers)
        answer.cooling = cooling.answer
        return try Self.json(answer)
    }

    func heartbeat(_ request: HTTPRequest) async throws -> HTTPResponse {
        let heartbeat: Heartbeat = try Self.body(of: request)
        try Validation.check(heartbeat)
        var answer = try await queue.heartbeat(heartbeat)
        answer.cooling = cooling.answer
        answer.loadTests = loadTests.all
        return try Self.json(answer)
    }

    func segments(_ request: HTTPRequest) async throws -> HTTPResponse {
        let batch: SegmentBatch = try Self.body(of: request)
        try Validation.check(batch)
        let verdict = try await queue.addSegments(batch)
        try Self.requireAnyHeld([verdict])
        return try Self.json(SplitAnswer(verdict: verdict))
    }

    func split(_ request: HTTPRequest) async throws -> HTTPResponse {
        let split: SplitRequest = try Self.body(of: request)
        try Validation.check(split)
        let answer = try await queue.split(split)
        try Self.requireAnyHeld([answer.verdict])
        return try Self.json(answer)
    }

    func sumsTurns(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: SumsRequest = try Self.body(of: request)
        try Validation.check(wanted)
        return try Self.json(try await queue.sumsTurns(wanted))
    }

    func volume(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: SiteVolumeRequest = try Self.body(of: request)
        try Validation.check(wanted)
        return try Self.json(try await queue.volume(wanted))
    }

    func refreshFiles(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: RefreshFilesRequest = try Self.body(of: request)
        try Validation.check(wanted)
        return try Self.json(try await queue.refreshFiles(wanted))
    }

    func refreshed(_ request: HTTPRequest) async throws -> HTTPResponse {
        let batch: RefreshBatch = try Self.body(of: request)
        try Validation.check(batch)
        let verdict = try await queue.addRefreshed(batch)
        try Self.requireAnyHeld([verdict])
        return try Self.json(SplitAnswer(verdict: verdict))
    }

    func document(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: DocumentRequest = try Self.body(of: request)
        try Validation.uuid(wanted.worker, "worker")
        try Validation.uuid(wanted.lease, "lease")
        return try Self.json(try await queue.document(wanted))
    }

    /// Of a batch some jobs may have been lost, and each is answered for itself. Where none is held,
    /// the request as a whole comes from somebody without a lease.
    private static func requireAnyHeld(_ verdicts: [ReportAnswer.Verdict]) throws(Failure) {
        guard verdicts.allSatisfy({ $0 == .stale }) else { return }
        throw Failure(
            "worker.leaseLost",
            "No job that was named is held by its lease and this worker; nothing was changed.")
    }
}
