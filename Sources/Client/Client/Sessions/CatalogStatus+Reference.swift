package import API
package import CoordinatorClient
package import Model
import Text

extension CoordinatorClient {
    /// Returns the status of a catalog by its number, or of one of the latest by its name.
    ///
    /// Throws `input.notFound`, and `input.ambiguous` for a name that several sites have.
    package func status(
        of reference: CatalogReference, retrySeconds: Double? = nil
    ) async throws(Failure) -> CatalogStatus {
        if let id = reference.id { return try await status(of: id, retrySeconds: retrySeconds) }
        let found = try await clusterStatus(retrySeconds: retrySeconds).catalogs.filter {
            $0.name == reference.name
                && (reference.storageURL == nil || $0.storageURL == reference.storageURL)
        }
        guard let first = found.first else {
            throw Failure.notFound(
                "None of the 100 latest catalogs is named \(printable(reference.name ?? "")).",
                listedBy: "dray catalog list")
        }
        guard found.count == 1 else {
            throw Failure.ambiguous(
                catalog: printable(reference.name ?? ""), numbers: found.map(\.id).sorted())
        }
        return try await status(of: first.id, retrySeconds: retrySeconds)
    }
}
