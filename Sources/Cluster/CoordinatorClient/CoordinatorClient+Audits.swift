package import API
package import Model

/// Audits of sites. All requests may be repeated: a second one has the same effect.
extension CoordinatorClient {
    /// Creates an audit of a site. Throws `input.notFound`, and `input.auditRunning` while another one
    /// of it runs.
    package func create(
        _ audit: SiteAuditSubmission, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditStatus {
        try await post(
            "/v1/site-audits", audit,
            call: Call(
                retrySeconds: retrySeconds,
                idempotencyKey: UniqueID<SiteAuditEntity>.random().description))
    }

    /// Returns a page of audits, the latest first; `after` is the previous page's `next`.
    package func siteAudits(
        of site: String? = nil, after: String? = nil, limit: Int? = nil,
        retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditPage {
        let query = Query(("site", site), ("after", after), ("limit", limit.map { "\($0)" }))
        return try await get("/v1/site-audits\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the status of an audit. Throws `input.notFound`.
    package func siteAudit(
        _ id: SiteAuditID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditStatus {
        try await get("/v1/site-audits/\(id)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of an audit's findings; `after` is the previous page's `next`.
    package func findings(
        of id: SiteAuditID, kind: AuditFindingKind? = nil, after: String? = nil, limit: Int? = nil,
        retrySeconds: Double? = nil
    ) async throws(Failure) -> AuditFindingPage {
        let query = Query(
            ("kind", kind?.rawValue), ("after", after), ("limit", limit.map { "\($0)" }))
        return try await get(
            "/v1/site-audits/\(id)/findings\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Ends an audit. Throws `input.notFound`.
    @discardableResult
    package func cancelAudit(
        _ id: SiteAuditID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditStatus {
        try await post(
            "/v1/site-audits/\(id)/cancel", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }

    // MARK: For workers

    /// Leases an audit, unless another worker has it.
    package func lease(
        _ id: SiteAuditID, _ request: WorkLeaseRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditGrant {
        try await post(
            "/v1/site-audits/\(id)/leases", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of records. The first request lists them, which may take minutes. Throws
    /// `worker.leaseLost`.
    package func records(
        _ request: SiteAuditRecordsRequest, of id: SiteAuditID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditRecords {
        try await post(
            "/v1/site-audits/\(id)/records", request,
            call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }

    /// Returns the present records of what looks wrong. Throws `worker.leaseLost`.
    package func check(
        _ request: SiteAuditCheck, of id: SiteAuditID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditChecked {
        try await post(
            "/v1/site-audits/\(id)/checks", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Reports what was compared. Throws `worker.leaseLost`.
    package func report(
        _ report: SiteAuditReport, of id: SiteAuditID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteAuditOrder {
        try await post(
            "/v1/site-audits/\(id)/reports", report,
            call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }
}
