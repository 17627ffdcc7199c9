import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering

/// `dray catalog caches`: shows how the POPs of a cache served a catalog.
enum CatalogCachesCommand {
    static let command = Command(
        "caches",
        summary: "Show hits, misses and stored objects of a catalog at each POP of a cache.",
        discussion: """
            Counts objects by how each POP served them when they were last requested, and names \
            those that it does not keep, or of which POPs served different bytes. \
            \(ClusterCall.privateClusterHelp)
            """,
        operands: [
            CommandOperand(
                "CATALOG", help: "Number or name of the catalog, from `dray catalog list`.")
        ],
        options: [CatalogCommand.site] + ClusterCall.options
    ) { arguments in
        await ClusterCall.run(
            arguments, asking: { try CatalogCommand.reference(arguments) }
        ) { reference, client in
            let status = try await client.status(
                of: reference, retrySeconds: ClusterCall.retrySeconds)
            guard try StorageURL(status.storageURL).cache != nil else {
                throw Failure(
                    .inputField,
                    "catalog: \(status.id) is of a site with storage; allowed: of a cache")
            }
            let report = try await client.cacheReport(
                of: status.id, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(report, arguments) {
                let text = CacheText(report)
                return text.table + (text.findings > 0 ? "\n" + text.list(of: status.id) : "")
            }
        }
    }
}
