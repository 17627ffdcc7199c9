package import Model

/// What operators ask of a cluster. Every request may be repeated: a second one finds nothing left to
/// change.
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

    /// Cancels, retries or reprioritises what is selected. Throws `input.notFound` for a catalog or
    /// an asset that is not there.
    package func apply(
        _ action: SelectionAction, retrySeconds: Double? = nil
    ) async throws(Failure) -> SelectionAnswer {
        try await post(
            "/v1/selections", action, call: Call(retrySeconds: retrySeconds, isOfCatalog: true))
    }

    /// A page of a catalog's assets. Throws `input.notFound` for a catalog that is not there.
    package func assets(
        _ query: AssetQuery, retrySeconds: Double? = nil
    ) async throws(Failure) -> AssetListing {
        try await get(
            "/v1/assets\(Query(query.parameters))", call: Call(retrySeconds: retrySeconds))
    }

    /// A page of origins by name; `after` is the page before's `next`.
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

    /// Changes how a site may be fed. Throws `input.notFound`.
    package func configure(
        _ settings: SiteSettings, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteStatus {
        try await post("/v1/sites/settings", settings, call: Call(retrySeconds: retrySeconds))
    }
}
