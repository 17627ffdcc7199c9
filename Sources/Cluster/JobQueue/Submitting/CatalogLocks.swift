import Model
import Postgres

/// Locks of the jobs that a start, a retry or a refresh of a catalog takes away from workers.
enum CatalogLocks {
    /// Locks the jobs that a start takes away from workers; returns those that publish a refresh
    /// now, by `Starting.awaitedPublication`. `values` are a catalog and its generation.
    static func lockWork(
        _ values: SQLValues, _ connection: PostgresConnection
    ) async throws -> PostgresResult? {
        let lock = [
            PostgresStatement(SQL.Starting.lockWork, values),
            PostgresStatement(SQL.Starting.lockAssets, values),
        ]
        let last = lock + [PostgresStatement(SQL.Starting.awaitedPublication, values)]
        var results = try await connection.pipeline(lock + last)
        while let row = try results.suffix(last.count).first?.only(),
            try row.int64("found") != row.int64("locked")
        {
            results = try await connection.pipeline(last)
        }
        return results.last
    }

    /// Throws `cluster.busy` if an answer of `Starting.awaitedPublication` names an asset: the
    /// start must wait until its refresh is published.
    static func checkPublications(_ awaited: PostgresResult?) throws {
        guard let asset = awaited?.firstRow else { return }
        let name = Redaction.name(try asset.string("name"), ofURL: try asset.string("url"))
        throw Failure(
            .clusterBusy,
            "asset \(name.prefix(100)): its new files are being published by a worker. Start again "
                + "when that has ended.")
    }

    /// Throws `input.field` for a catalog that was opened again since it was started. `row` is one
    /// of `Catalogs.read`; `does` describes the effect of the next start.
    static func checkNotOpen(_ catalog: CatalogID, _ row: PostgresRow, _ does: String) throws {
        guard try row.int64("opened_generation") == row.int64("generation") else {
            throw Failure(
                .inputField,
                "catalog: \(catalog) is just being submitted again, which \(does).")
        }
    }
}
