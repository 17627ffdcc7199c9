package import API
package import Model

/// Evictions and the popularity of assets.
extension CoordinatorClient {
    /// Evicts assets of a site, or lists which ones. Throws `input.notFound`. Not repeated: a second
    /// request would evict more.
    package func evict(_ eviction: SiteEviction) async throws(Failure) -> SiteEvictionAnswer {
        try await post("/v1/sites/evictions", eviction, call: Call(retrySeconds: 0))
    }

    /// Adds requests that an access log shows; a repeated request counts once. Throws
    /// `input.notFound`.
    package func note(
        _ requests: SiteRequests, retrySeconds: Double? = nil
    ) async throws(Failure) -> SiteRequestsAnswer {
        try await post(
            "/v1/sites/popularity", requests,
            call: Call(
                retrySeconds: retrySeconds,
                idempotencyKey: UniqueID<SiteEntity>.random().description))
    }

    /// Returns stored assets of a site, the most popular ones first, or the least popular ones.
    /// Throws `input.notFound`.
    package func popularity(
        of site: String, order: PopularityOrder, limit: Int,
        retrySeconds: Double? = nil
    ) async throws(Failure) -> SitePopularity {
        let query = Query(
            ("site", site), ("order", order.rawValue), ("limit", "\(limit)"))
        return try await get("/v1/sites/popularity\(query)", call: Call(retrySeconds: retrySeconds))
    }
}
