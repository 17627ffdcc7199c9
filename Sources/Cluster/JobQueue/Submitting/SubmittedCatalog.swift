import Model
import Postgres

/// A catalog whose lock is held for a submission to it.
struct SubmittedCatalog {
    var id: CatalogID
    /// The submission that is open.
    var openedGeneration: Int
    var siteID: Int64
    var queueID: Int64
    var queueState: String
    /// The submission that was started last.
    var generation: Int
    var state: CatalogState
    var hasMirrors: Bool
    /// The cache that its site is; nil for storage.
    var cache: CacheLocation?
    /// True if it has had other sites as neighbours.
    var hasNeighbours: Bool

    /// Takes the catalog's lock, runs `next`, and checks that `generation` is still the one last
    /// opened. Returns the results of `next` too.
    static func lock(
        _ catalog: CatalogID, generation: Int, _ connection: PostgresConnection,
        _ next: [PostgresStatement] = []
    ) async throws -> (SubmittedCatalog, [PostgresResult]) {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        let results = try await connection.pipeline(
            [PostgresStatement(SQL.Catalogs.lock, id)] + next
                + [PostgresStatement(SQL.Catalogs.read, id)])
        guard let row = results.last?.firstRow else { throw Failure.unknownCatalog(catalog) }
        let opened = Int(try row.int64("opened_generation"))
        guard opened == generation else {
            throw Failure(
                .inputField,
                "generation: \(generation) was overtaken; catalog \(catalog) was opened again as "
                    + "\(opened).")
        }
        let catalogRow = SubmittedCatalog(
            id: catalog, openedGeneration: opened, siteID: try row.int64("site_id"),
            queueID: try row.int64("queue_id"),
            queueState: try row.string("queue_state"),
            generation: Int(try row.int64("generation")),
            state: CatalogState(rawValue: try row.string("state")) ?? .open,
            hasMirrors: try row.bool("has_mirrors"),
            cache: try StorageURL(try row.string("storage_url")).cache,
            hasNeighbours: try row.bool("has_neighbours"))
        return (catalogRow, Array(results.dropFirst().dropLast()))
    }
}
