import API
import Model
import Postgres

/// Starts refreshes of completed assets: one job per asset, because an asset's changes are
/// published together.
enum RefreshStart {
    /// Starts a refresh of the selected assets of a catalog, whose lock is held. Skips active ones.
    static func start(
        _ assets: [Int64]?, of catalog: CatalogID, _ row: PostgresRow,
        _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let generation = try row.int64("generation")
        let both: SQLValues = [
            "catalog": .int(catalog.rawValue), "generation": .int(generation),
        ]
        try CatalogLocks.checkNotOpen(catalog, row, "checks what is stored")
        if try await connection.query(SQL.Refreshing.isLacking, both).only().bool("is_lacking") {
            throw Failure(
                .inputField,
                "catalog: \(catalog) was interrupted, or has assets that are not started yet: submit it "
                    + "again, then refresh it.")
        }
        _ = try await CatalogLocks.lockWork(both, connection)
        let number: SQLValues = ["catalog": .int(catalog.rawValue)]
        _ = try await connection.query(SQL.Catalogs.fold, number)
        _ = try await connection.query(SQL.Refreshing.dropDeadline, number)
        _ = try await connection.query(
            SQL.Refreshing.lanes, both + ["queue": .int(try row.int64("queue_id"))])
        _ = try await connection.query(SQL.Starting.lockLanes, ["catalog": .int(catalog.rawValue)])
        let jobs = try await connection.query(
            SQL.Refreshing.jobs, both + ["assets": assets.map { .int64Array($0) } ?? .null]
        ).only()
        _ = try await connection.query(SQL.Starting.isolate, ["catalog": .int(catalog.rawValue)])
        var answer = SelectionAnswer(
            assets: Int(try jobs.int64("assets")), jobs: Int(try jobs.int64("jobs")))
        answer.catalog = catalog
        _ = try await connection.query(SQL.Starting.totals, both)
        _ = try await connection.query(SQL.Common.notifyWork)
        return answer
    }
}
