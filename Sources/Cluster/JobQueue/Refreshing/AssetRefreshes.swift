import API
package import Model
import Postgres

/// Refreshes of single assets: after the time that their list sets, and when it says that they have
/// changed.
package struct AssetRefreshes: Sendable {
    let database: QueueDatabase
    let purges: Purges

    /// Maximum number of assets of a catalog that one start refreshes; the others follow when these have
    /// ended.
    private static let assetsPerCatalog: Int64 = 50_000
    /// Maximum number of rounds of a start: the coordinator's other chores wait for it.
    private static let maxRounds = 5

    /// Maximum number of catalogs that a round starts.
    package var catalogsPerRound = 50
    /// Maximum number of assets that a round postpones because they cannot be refreshed.
    package var postponedPerRound = 5_000

    init(database: QueueDatabase, purges: Purges) {
        self.database = database
        self.purges = purges
    }

    /// Starts the refreshes of assets that are due, once their catalogs have ended. Safe to run on all
    /// coordinators at once. Returns the number of assets that are checked.
    ///
    /// It repeats while a round is full, five times at most. A catalog that cannot be refreshed holds up no
    /// other; it is tried again after a minute. Throws the first failure that none but the database or the
    /// cluster can cause, after the last catalog of its round.
    @discardableResult
    package func start() async throws(Failure) -> Int {
        var assets = 0
        for _ in 0..<Self.maxRounds {
            let round = try await startRound()
            assets += round.assets
            guard round.isFull else { break }
        }
        return assets
    }

    private func startRound() async throws(Failure) -> (assets: Int, isFull: Bool) {
        let (postponed, due) = try await database.withConnection { connection in
            let postponed = try await connection.query(
                SQL.Refreshing.postponeDue, ["limit": .int(Int64(postponedPerRound))]
            ).only().int64("assets")
            let due = try await connection.query(
                SQL.Refreshing.catalogsDue, ["limit": .int(Int64(catalogsPerRound))]
            ).rows.map { try $0.int64("id") }
            return (postponed, due)
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
        return (assets, postponed >= postponedPerRound || due.count >= catalogsPerRound)
    }

    private func refresh(_ catalog: Int64) async throws(Failure) -> Int {
        try await purges.change(catalog, orElse: 0) { selection, connection in
            let row = selection.row
            let due = try await connection.query(
                SQL.Refreshing.due,
                [
                    "catalog": .int(catalog), "generation": .int(try row.int64("generation")),
                    "limit": .int(Self.assetsPerCatalog),
                ]
            ).rows.map { try $0.int64("id") }
            guard !due.isEmpty else { return 0 }
            return try await RefreshStart.start(due, of: CatalogID(catalog), row, connection).assets
        }
    }
}
