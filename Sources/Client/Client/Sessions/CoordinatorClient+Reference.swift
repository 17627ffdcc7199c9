package import API
package import CoordinatorClient
package import Model

extension CoordinatorClient {
    /// Returns a catalog's number, which one page of its assets has.
    ///
    /// Throws `input.notFound`, also for a number that another site's catalog has, and
    /// `input.ambiguous` for a name that several sites have.
    package func number(
        of reference: CatalogReference, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogID {
        if let id = reference.id, reference.site == nil { return id }
        var query = AssetQuery(reference)
        query.limit = 1
        return try await assets(query, retrySeconds: retrySeconds).catalog
    }

    /// Returns the status of a catalog. Throws the same.
    package func status(
        of reference: CatalogReference, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogStatus {
        let catalog = try await number(of: reference, retrySeconds: retrySeconds)
        return try await status(of: catalog, retrySeconds: retrySeconds)
    }
}
