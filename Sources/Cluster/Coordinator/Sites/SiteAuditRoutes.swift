import API
import HTTPServer
import JobQueue
import Model

/// Routes for audits of sites: those of clients, and those of workers.
struct SiteAuditRoutes: Sendable {
    let queue: JobQueue

    /// Reads the audit's number in a path.
    private static func audit(_ path: PathParameters) throws(Failure) -> SiteAuditID {
        let text = path["audit"]
        guard let number = Int64(text), number > 0 else {
            throw Validation.wrong("audit", text, "an audit's number")
        }
        return SiteAuditID(number)
    }

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let site = request.queryValue("site")
        if let site { try Validation.text(site, "site", 1...2_048) }
        var page = try await queue.sites.audits.page(
            site: site, after: try PageCursor.number(in: request, of: "site-audits"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "site-audits")
        return try .wire(page)
    }

    func status(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        try .wire(try await queue.sites.audits.status(of: try Self.audit(path)))
    }

    func findings(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.audit(path)
        let kind = try request.queryValue("kind").map { text throws(Failure) in
            guard let kind = AuditFindingKind(rawValue: text) else {
                throw Validation.wrong(
                    "kind", text,
                    AuditFindingKind.allCases.map(\.rawValue).joined(separator: ", "))
            }
            return kind
        }
        var page = try await queue.sites.audits.findings(
            of: id, kind: kind, after: try PageCursor.number(in: request, of: "findings"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "findings")
        if !caller.seesSecrets {
            for index in page.findings.indices {
                page.findings[index].path = Redaction.path(page.findings[index].path)
            }
        }
        return try .wire(page)
    }

    // MARK: Changes

    func create(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let audit: SiteAuditSubmission = try RequestBody.read(request)
        try Validation.check(audit)
        return Change(detailed: ChangeText.text(of: audit)) { key in
            let status = try await queue.sites.audits.create(audit, key: key)
            return Change.Made(try .wire(status), detail: "audit \(status.id)")
        }
    }

    func cancel(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let id = try Self.audit(path)
        let _: NoFields = try RequestBody.read(request)
        return Change("audit \(id)") { try .wire(try await queue.sites.audits.cancel(id)) }
    }

    // MARK: For workers

    func lease(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.audit(path)
        let lease: WorkLeaseRequest = try RequestBody.read(request)
        try Validation.text(lease.name, "name", 1...200)
        if caller.isBoundToQueues {
            try await caller.require(
                try await queue.sites.audits.status(of: id).site, queue.access.tokens)
        }
        return try .wire(try await queue.sites.audits.work.lease(id, lease))
    }

    func records(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let id = try Self.audit(path)
        let wanted: SiteAuditRecordsRequest = try RequestBody.read(request)
        try Validation.range(wanted.page, "page", 0...1_000_000)
        return try .wire(try await queue.sites.audits.work.records(id, wanted), for: request)
    }

    func check(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let id = try Self.audit(path)
        let check: SiteAuditCheck = try RequestBody.read(request)
        try Validation.check(check)
        return try .wire(try await queue.sites.audits.work.check(id, check))
    }

    func report(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let id = try Self.audit(path)
        let report: SiteAuditReport = try RequestBody.read(request)
        try Validation.check(report)
        return try .wire(try await queue.sites.audits.work.report(id, report))
    }
}
