package import API
package import Model

/// The coordinator's API, one method per route. `Call` explains `retrySeconds`.
extension CoordinatorClient {
    // MARK: Submitting

    /// Opens a catalog for submission; creates its site and queue on first use. A repeated attempt
    /// whose first answer was lost opens no second submission.
    package func openCatalog(
        _ submission: CatalogSubmission, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogHandle {
        try await post(
            "/v1/catalogs", submission,
            call: Call(
                retrySeconds: retrySeconds,
                idempotencyKey: UniqueID<CatalogEntity>.random().description))
    }

    /// Adds up to `WireLimits.assetsPerRequest` assets to an open catalog.
    package func submit(
        _ batch: AssetBatch, to catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) {
        try await post(
            "/v1/catalogs/\(catalog)/assets", batch, call: Call(retrySeconds: retrySeconds))
    }

    /// Creates the jobs of a submission. A second start changes nothing, and waits for the first.
    @discardableResult
    package func start(
        _ catalog: CatalogID, _ start: CatalogStartRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogStarted {
        try await post(
            "/v1/catalogs/\(catalog)/start", start, or: CatalogStarted(),
            call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }

    /// Reports that the submitter stops: jobs that have not started are held until it returns.
    package func interrupt(
        _ catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) {
        try await post(
            "/v1/catalogs/\(catalog)/interrupt", [String: String](),
            call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }

    // MARK: Following

    /// Returns the status of a catalog; without its active assets if `withActive` is false.
    package func status(
        of catalog: CatalogID, withActive: Bool = true, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogStatus {
        let query = Query(("active", withActive ? nil : "false"))
        return try await get(
            "/v1/catalogs/\(catalog)\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of a catalog's assets: all, or those in `state`; `after` is the previous page's
    /// `next`.
    package func assets(
        of catalog: CatalogID, after: String? = nil, state: AssetState? = nil,
        retrySeconds: Double? = nil
    ) async throws(Failure) -> AssetPage {
        let query = Query(("after", after), ("state", state?.rawValue))
        return try await get(
            "/v1/catalogs/\(catalog)/assets\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of a catalog's stored files; `after` is the previous page's `next`.
    package func files(
        of catalog: CatalogID, after: String? = nil, retrySeconds: Double? = nil
    ) async throws(Failure) -> FilePage {
        try await get(
            "/v1/catalogs/\(catalog)/files\(Query(("after", after)))",
            call: Call(retrySeconds: retrySeconds))
    }

    /// Returns how the POPs of a cache served a catalog's objects, with a page of those that it does
    /// not have; `after` is the previous page's `next`.
    package func cacheReport(
        of catalog: CatalogID, after: String? = nil, retrySeconds: Double? = nil
    ) async throws(Failure) -> CacheReport {
        try await get(
            "/v1/catalogs/\(catalog)/caches\(Query(("after", after)))",
            call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the results so far of a catalog's last refresh.
    package func refreshSummary(
        of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> RefreshSummary {
        try await get("/v1/catalogs/\(catalog)/refresh", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the workers' work for the present or last run of a catalog.
    package func work(
        for catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogWork {
        try await get("/v1/catalogs/\(catalog)/work", call: Call(retrySeconds: retrySeconds))
    }

    package func clusterStatus(
        retrySeconds: Double? = nil
    ) async throws(Failure) -> ClusterStatus {
        try await get("/v1/status", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns figures by day, site, catalog, origin or failure code.
    package func report(
        _ query: DailyReportQuery, retrySeconds: Double? = nil
    ) async throws(Failure) -> DailyReport {
        try await get(
            "/v1/report\(Query(query.parameters))", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the workers' history of the last `seconds`, 60 to `WorkersHistory.keptSeconds`.
    package func workersHistory(
        seconds: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> WorkersHistory {
        try await get(
            "/v1/workers/history?seconds=\(seconds)", call: Call(retrySeconds: retrySeconds))
    }

    /// Waits until a coordinator can serve requests.
    package func readiness(retrySeconds: Double? = nil) async throws(Failure) {
        try await get("/readyz", call: Call(retrySeconds: retrySeconds))
    }

    // MARK: Working

    /// Requests a batch of jobs. It is not repeated once sent: the grant of a lost answer would be
    /// idle until its lease expires or is released, beside a second grant.
    package func lease(_ request: LeaseRequest) async throws(Failure) -> LeaseGrant {
        let wait = Double(request.waitMilliseconds) / 1000
        return try await post(
            "/v1/leases", request, call: Call(retrySeconds: 0, waitSeconds: wait))
    }

    package func release(
        _ release: LeaseRelease, retrySeconds: Double? = nil
    ) async throws(Failure) {
        try await post("/v1/releases", release, call: Call(retrySeconds: retrySeconds))
    }

    package func report(
        _ request: ReportRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> ReportAnswer {
        let allLost = ReportAnswer(
            answers: Array(repeating: .stale, count: request.results.count))
        return try await post(
            "/v1/reports", request, call: Call(retrySeconds: retrySeconds), ifLeaseLost: allLost)
    }

    package func heartbeat(
        _ heartbeat: Heartbeat, retrySeconds: Double? = nil
    ) async throws(Failure) -> HeartbeatAnswer {
        try await post("/v1/heartbeats", heartbeat, call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the cooldowns of origins: once they differ from those of `version`, or after a
    /// while.
    package func cooldowns(
        after version: String?, waitMilliseconds: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> CooldownList {
        let query = Query(("after", version), ("waitMilliseconds", "\(waitMilliseconds)"))
        return try await get(
            "/v1/cooldowns\(query)",
            call: Call(
                retrySeconds: retrySeconds, waitSeconds: Double(waitMilliseconds) / 1000))
    }

    /// Submits segments that a resolve job found.
    package func segments(
        _ batch: SegmentBatch, retrySeconds: Double? = nil
    ) async throws(Failure) -> VerdictAnswer {
        try await post(
            "/v1/segments", batch, call: Call(retrySeconds: retrySeconds),
            ifLeaseLost: VerdictAnswer(verdict: .stale))
    }

    /// Returns the rewritten manifest that a leased job stores; without content if the lease is
    /// lost.
    package func rewrittenManifest(
        _ request: RewrittenManifestRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> RewrittenManifest {
        try await post("/v1/rewritten-manifests", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of the stored files of an asset whose refresh is leased. Throws
    /// `worker.leaseLost`.
    package func refreshFiles(
        _ request: RefreshFilesRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> RefreshFilesPage {
        try await post("/v1/refreshes/files", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Reports files of a refresh.
    package func refreshed(
        _ batch: RefreshBatch, retrySeconds: Double? = nil
    ) async throws(Failure) -> VerdictAnswer {
        try await post(
            "/v1/refreshes", batch, call: Call(retrySeconds: retrySeconds),
            ifLeaseLost: VerdictAnswer(verdict: .stale))
    }

    package func split(
        _ request: SplitRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> VerdictAnswer {
        try await post(
            "/v1/splits", request, call: Call(retrySeconds: retrySeconds),
            ifLeaseLost: VerdictAnswer(verdict: .stale))
    }

    /// Posts a request whose answer is `lost` if all its leases are lost. That is an error in HTTP,
    /// but normal for a worker.
    private func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable, call: Call, ifLeaseLost lost: Answer
    ) async throws(Failure) -> Answer {
        do {
            return try await post(path, body, call: call)
        } catch {
            guard error.code == .workerLeaseLost else { throw error }
            return lost
        }
    }

    /// Returns which of the jobs may write the `SHA256SUMS` of their directories now.
    package func checksumTurns(
        _ request: ChecksumTurnRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> ChecksumTurns {
        try await post("/v1/checksums/turns", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Reports deleted files of a leased purge job, and returns the next ones. Throws
    /// `worker.leaseLost`.
    package func purge(
        _ request: PurgeRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> PurgePage {
        try await post("/v1/purges", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Reads or records the volume of a site.
    package func volume(
        _ request: SiteVolumeRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteVolumeAnswer {
        try await post("/v1/sites/volumes", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of the entries of a directory's `SHA256SUMS`.
    package func checksums(
        site: SiteID, directory: String, after: String? = nil, retrySeconds: Double? = nil
    ) async throws(Failure) -> ChecksumPage {
        let query = Query(
            ("site", site.description), ("directory", directory), ("after", after))
        return try await get("/v1/checksums\(query)", call: Call(retrySeconds: retrySeconds))
    }
}

/// A query string, "?name=value&…", percent-encoded; empty if all values are nil.
struct Query: CustomStringConvertible {
    let description: String

    init(_ items: (name: String, value: String?)...) { self.init(items) }

    init(_ items: [(name: String, value: String?)]) {
        let pairs = items.compactMap { item in
            item.value.map { "\(item.name)=\(Self.encode($0))" }
        }
        description = pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }

    /// Encodes all but RFC 3986's unreserved characters.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let scalar = UnicodeScalar(byte)
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~":
                encoded.unicodeScalars.append(scalar)
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }
}
