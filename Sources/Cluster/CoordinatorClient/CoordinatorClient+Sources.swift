package import API
package import Model

/// Sources of catalogs. All requests may be repeated: a second one has the same effect.
extension CoordinatorClient {
    /// Returns a page of the sources; `after` is the previous page's `next`.
    package func sources(
        after: String? = nil, limit: Int? = nil, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourcePage {
        let query = Query(("after", after), ("limit", limit.map { "\($0)" }))
        return try await get("/v1/sources\(query)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the source of a catalog. Throws `input.notFound`.
    package func source(
        of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceStatus {
        try await get("/v1/sources/\(catalog)", call: Call(retrySeconds: retrySeconds))
    }

    /// Sets the source of a catalog. Throws `input.notFound`.
    @discardableResult
    package func set(
        _ source: SourceSubmission, of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceStatus {
        try await post("/v1/sources/\(catalog)", source, call: Call(retrySeconds: retrySeconds))
    }

    /// Makes a source due now. Throws `input.notFound`.
    package func readSource(
        of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceStatus {
        try await post(
            "/v1/sources/\(catalog)/read", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }

    /// Removes a source. Throws `input.notFound`.
    package func removeSource(
        of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceStatus {
        try await post(
            "/v1/sources/\(catalog)/remove", [String: String](),
            call: Call(retrySeconds: retrySeconds))
    }

    // MARK: For workers

    /// Leases a source that is due, unless another worker has it.
    package func lease(
        sourceOf catalog: CatalogID, _ request: WorkLeaseRequest, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceGrant {
        try await post(
            "/v1/sources/\(catalog)/leases", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Counts the names that the catalog has. Throws `worker.leaseLost`.
    package func check(
        _ check: SourceCheck, of catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) -> SourceChecked {
        try await post(
            "/v1/sources/\(catalog)/checks", check, call: Call(retrySeconds: retrySeconds))
    }

    /// Sends a batch of the list. Throws `worker.leaseLost`.
    package func add(
        _ batch: AssetBatch, toSourceOf catalog: CatalogID, worker: WorkerID, lease: LeaseID,
        retrySeconds: Double? = nil
    ) async throws(Failure) {
        let query = Query(("worker", "\(worker)"), ("lease", "\(lease)"))
        try await post(
            "/v1/sources/\(catalog)/assets\(query)", batch, call: Call(retrySeconds: retrySeconds))
    }

    /// Ends a reading. Throws `worker.leaseLost` and `cluster.busy`.
    package func report(
        _ report: SourceReport, ofSourceOf catalog: CatalogID, retrySeconds: Double? = nil
    ) async throws(Failure) {
        try await post(
            "/v1/sources/\(catalog)/reports", report,
            call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }
}
