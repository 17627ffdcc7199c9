package import API
package import CoordinatorClient
package import Model

/// Catalogs of one name at all sites.
package enum AllSites {
    /// Applies an action to each of them, one site after another. Throws `input.notFound` if no site
    /// has one.
    ///
    /// - Parameter selection: names its catalog, without a site.
    package static func apply(
        _ selection: SelectionAction, _ client: CoordinatorClient, retrySeconds: Double
    ) async throws(Failure) -> SelectionAnswer {
        guard let name = selection.catalog?.name else {
            return try await client.apply(selection, retrySeconds: retrySeconds)
        }
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        var isFound = false
        for site in try await client.sites(retrySeconds: retrySeconds).sites {
            var part = selection
            part.catalog = CatalogReference(name: name, site: site.storageURL)
            do throws(Failure) {
                let changed = try await client.apply(part, retrySeconds: retrySeconds)
                answer.add(changed)
                isFound = true
            } catch {
                guard error.code == .inputNotFound else { throw error }
            }
        }
        guard isFound else {
            throw Failure.notFound(
                "No site has a catalog \(name.prefix(100)) with what is selected.",
                listedBy: "dray catalog list")
        }
        return answer
    }
}
