import API
import CoordinatorClient
import Model

/// The settings of the pool that ran a catalog, so that a plan can be fitted to several runs.
struct ReportSettings: Encodable {
    struct Origin: Encodable {
        let origin: String
        /// Limits for all workers together; nil for no limit.
        let connections: Int?
        let requestsPerSecond: Double?
        let bytesPerSecond: Int64?

        init(_ name: String, _ limits: OriginLimits) {
            origin = name
            connections = limits.connections
            requestsPerSecond = limits.requestsPerSecond
            bytesPerSecond = limits.bytesPerSecond
        }
    }

    /// Concurrent transfers of each worker that had jobs of the run, on average.
    let connections: Int
    /// The first origins of its files, with the limits at its end.
    let origins: [Origin]

    /// Maximum number of origins in a report.
    static let maxOrigins = 16

    /// Returns the settings of a catalog's last run from `origins`; nil if no worker reported work
    /// for it, or if no coordinator answers.
    static func of(
        _ catalog: CatalogID, from origins: [String], _ client: CoordinatorClient
    ) async -> ReportSettings? {
        guard let work = try? await client.work(for: catalog), work.workers > 0 else { return nil }
        var found: [Origin] = []
        var after: String?
        repeat {
            guard let page = try? await client.origins(after: after) else { return nil }
            found += page.origins.filter { origins.contains($0.origin) }.map {
                Origin($0.origin, $0.limits)
            }
            after = page.next
        } while after != nil && found.count < origins.count
        return ReportSettings(
            connections: max(1, work.connections / work.workers), origins: found)
    }
}
