package import API
package import Model

/// Requests of operators. All may be repeated: a second one finds nothing left to change.
extension CoordinatorClient {
    package func queues(retrySeconds: Double? = nil) async throws(Failure) -> QueueList {
        try await get("/v1/queues", call: Call(retrySeconds: retrySeconds))
    }

    /// Pauses, resumes or drains a queue. Throws `input.notFound`.
    package func control(
        queue: String, _ control: QueueControl, retrySeconds: Double? = nil
    ) async throws(Failure) -> ClusterStatus.QueueStatus {
        try await post(
            "/v1/queues/\(Query.encode(queue))/control", control,
            call: Call(retrySeconds: retrySeconds))
    }

    /// Cancels, retries or reprioritises the selected assets. Throws `input.notFound` for a missing
    /// catalog or asset.
    package func apply(
        _ action: SelectionAction, retrySeconds: Double? = nil
    ) async throws(Failure) -> SelectionAnswer {
        try await post(
            "/v1/selections", action, call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }

    /// Returns a page of a catalog's assets. Throws `input.notFound` for a missing catalog.
    package func assets(
        _ query: AssetQuery, retrySeconds: Double? = nil
    ) async throws(Failure) -> AssetListing {
        try await get(
            "/v1/assets\(Query(query.parameters))", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a page of origins by name; `after` is the previous page's `next`.
    package func origins(
        after: String? = nil, retrySeconds: Double? = nil
    ) async throws(Failure) -> OriginPage {
        try await get(
            "/v1/origins\(Query(("after", after)))", call: Call(retrySeconds: retrySeconds))
    }

    package func setLimits(
        _ change: OriginLimitsChange, retrySeconds: Double? = nil
    ) async throws(Failure) {
        try await post("/v1/origins/limits", change, call: Call(retrySeconds: retrySeconds))
    }

    package func sites(retrySeconds: Double? = nil) async throws(Failure) -> SiteList {
        try await get("/v1/sites", call: Call(retrySeconds: retrySeconds))
    }

    /// Changes a site's settings. Throws `input.notFound`.
    package func configure(
        _ settings: SiteSettings, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteStatus {
        try await post("/v1/sites/settings", settings, call: Call(retrySeconds: retrySeconds))
    }
}
