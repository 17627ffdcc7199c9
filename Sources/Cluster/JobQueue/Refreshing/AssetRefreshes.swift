import API
package import Model
import Postgres

/// Refreshes of single assets: after the time that their list sets, and when it says that they have
/// changed.
package struct AssetRefreshes: Sendable {
    let database: QueueDatabase
    let purges: Purges

    /// Maximum number of assets of a catalog that one round refreshes.
    private static let assetsPerRound: Int64 = 5_000

    /// Starts the refreshes of assets that are due, once their catalogs have ended. Safe to run on all
    /// coordinators at once. Returns the number of assets that are checked.
    ///
    /// A catalog that cannot be refreshed holds up no other; it is tried again after a minute. Throws the
    /// first failure that none but the database or the cluster can cause, after the last catalog.
    @discardableResult
    package func start() async throws(Failure) -> Int {
        let due = try await database.withConnection { connection in
            _ = try await connection.query(SQL.Refreshing.postponeDue)
            return try await connection.query(SQL.Refreshing.catalogsDue).rows.map {
                try $0.int64("id")
            }
        }
        var assets = 0
        var failure: Failure?
        for catalog in due {
            do throws(Failure) {
                assets += try await refresh(catalog)
            } catch {
                // With an input code it was interrupted, or is being submitted.
                if error.code.family != "input" { failure = failure ?? error }
                try await database.withConnection { connection in
                    _ = try await connection.query(
                        SQL.Refreshing.delayDue, ["catalog": .int(catalog)])
                }
            }
        }
        if let failure { throw failure }
        return assets
    }

    private func refresh(_ catalog: Int64) async throws(Failure) -> Int {
        try await purges.change(catalog, orElse: 0) { selection, connection in
            let row = selection.row
            let due = try await connection.query(
                SQL.Refreshing.due,
                [
                    "catalog": .int(catalog), "generation": .int(try row.int64("generation")),
                    "limit": .int(Self.assetsPerRound),
                ]
            ).rows.map { try $0.int64("id") }
            guard !due.isEmpty else { return 0 }
            return try await RefreshStart.start(due, of: CatalogID(catalog), row, connection).assets
        }
    }
}
