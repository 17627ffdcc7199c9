import API
import HTTPServer
import JobQueue
import Metrics
import Model

/// Routes for workers' results and for requests during a job.
struct ResultRoutes: Sendable {
    let queue: JobQueue
    /// Fired when a report has left tallies to fold.
    let reported: WorkSignal
    let cooldowns: CurrentCooldowns
    let metrics: CoordinatorMetrics

    func report(_ request: HTTPRequest) async throws -> HTTPResponse {
        let report: ReportRequest = try RequestBody.read(request)
        try Validation.check(report)
        let start = ContinuousClock.now
        let answers = try await queue.jobs.reports.record(report)
        metrics.reportDuration.record(.now - start)
        metrics.count(report.results, answers)
        try Self.requireAnyHeld(answers)
        reported.fire()
        var answer = ReportAnswer(answers: answers)
        answer.cooldowns = cooldowns.answer
        return try .wire(answer, for: request)
    }

    func segments(_ request: HTTPRequest) async throws -> HTTPResponse {
        let batch: SegmentBatch = try RequestBody.read(request)
        try Validation.check(batch)
        let verdict = try await queue.jobs.segments.add(batch)
        try Self.requireAnyHeld([verdict])
        return try .wire(VerdictAnswer(verdict: verdict))
    }

    func split(_ request: HTTPRequest) async throws -> HTTPResponse {
        let split: SplitRequest = try RequestBody.read(request)
        try Validation.check(split)
        let verdict = try await queue.jobs.splits.split(split)
        try Self.requireAnyHeld([verdict])
        return try .wire(VerdictAnswer(verdict: verdict))
    }

    func checksumTurns(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: ChecksumTurnRequest = try RequestBody.read(request)
        try Validation.check(wanted)
        return try .wire(try await queue.sites.checksums.turns(wanted))
    }

    /// Lists digests of completed assets in a directory of a site.
    func checksums(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let site = request.queryValue("site") ?? ""
        guard let number = Int64(site), number > 0 else {
            throw Validation.wrong("site", site, "a site's number")
        }
        try await caller.require(SiteID(number), queue.access.tokens)
        var page = try await queue.sites.checksums.page(
            site: SiteID(number), directory: request.queryValue("directory") ?? "",
            after: try PageCursor.position(in: request, of: "checksums"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "checksums")
        return try .wire(page, for: request)
    }

    func volume(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let wanted: SiteVolumeRequest = try RequestBody.read(request)
        try Validation.check(wanted)
        try await caller.require(wanted.site, queue.access.tokens)
        return try .wire(try await queue.sites.volumes.volume(wanted))
    }

    func refreshFiles(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: RefreshFilesRequest = try RequestBody.read(request)
        try Validation.check(wanted)
        return try .wire(try await queue.files.refreshes.files(wanted))
    }

    func refreshed(_ request: HTTPRequest) async throws -> HTTPResponse {
        let batch: RefreshBatch = try RequestBody.read(request)
        try Validation.check(batch)
        let verdict = try await queue.files.refreshes.add(batch)
        try Self.requireAnyHeld([verdict])
        return try .wire(VerdictAnswer(verdict: verdict))
    }

    func purge(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: PurgeRequest = try RequestBody.read(request)
        try Validation.check(wanted)
        let page = try await queue.files.purges.next(wanted)
        if !wanted.results.isEmpty { reported.fire() }
        return try .wire(page)
    }

    func rewrittenManifest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted: RewrittenManifestRequest = try RequestBody.read(request)
        return try .wire(try await queue.jobs.segments.rewrittenManifest(wanted))
    }

    /// Throws if no job of a batch is held any more: the caller has no lease. If only some are
    /// lost, each gets its own verdict.
    private static func requireAnyHeld(_ verdicts: [ReportAnswer.Verdict]) throws(Failure) {
        guard verdicts.allSatisfy({ $0 == .stale }) else { return }
        throw Failure(
            .workerLeaseLost,
            "No job that was named is held by its lease and this worker; nothing was changed.")
    }
}
