import API
import Model
import Postgres

/// The start of a submission within one transaction: every asset that is not done gets jobs, and
/// stored files are checked.
struct CatalogStart {
    let catalog: CatalogID
    let generation: Int
    /// Time limit of a statement, in seconds; see `QueueDatabase.allowCatalogTime`.
    let statementSeconds: Double
    let connection: PostgresConnection

    private var id: SQLValues { ["catalog": .int(catalog.rawValue)] }
    private var both: SQLValues { id + ["generation": .int(Int64(generation))] }

    /// Takes the catalog's lock and starts it, unless this generation runs already.
    func run() async throws -> CatalogStarted {
        let (row, hasNeighbours) = try await lock()
        if row.generation == generation && row.state != .interrupted { return CatalogStarted() }
        try Submissions.checkOpen("of catalog \(catalog)", state: row.queueState)
        try CatalogLocks.checkPublications(try await CatalogLocks.lockWork(both, connection))
        if hasNeighbours { _ = try await connection.simple(SQL.KnownFiles.stage.text) }
        // One round trip: idle workers wait for its end.
        let results = try await connection.pipeline(
            endPrevious(queue: row.queueID)
                + addFiles(hasNeighbours: hasNeighbours, isFirst: row.generation == 0)
                + addJobs(previous: row.generation))
        let left = try results.last?.only().int64("assets") ?? 0
        return CatalogStarted(left: row.generation == generation ? 0 : Int(left))
    }

    /// Returns the locked catalog, and true if its site has other catalogs.
    private func lock() async throws -> (SubmittedCatalog, hasNeighbours: Bool) {
        let (row, found) = try await SubmittedCatalog.lock(
            catalog, generation: generation, connection,
            [
                try await connection.statementTimeout(seconds: statementSeconds),
                PostgresStatement(SQL.KeyConflicts.lock, id),
                PostgresStatement(SQL.Starting.hasNeighbours, id),
            ])
        return (row, try found.last?.only().bool("has_neighbours") ?? false)
    }

    /// Returns statements that end the work of the previous generation, and lock the lanes.
    private func endPrevious(queue: Int64) -> [PostgresStatement] {
        [
            // Reports of assets that are started again count first.
            PostgresStatement(SQL.Catalogs.fold, id),
            PostgresStatement(SQL.Starting.endRenewals, id),
            PostgresStatement(SQL.Starting.forget, both),
            PostgresStatement(SQL.Starting.renew, both),
            PostgresStatement(SQL.Starting.lanes, both + ["queue": .int(queue)]),
            // Reports continue meanwhile; they take no lane's lock.
            PostgresStatement(SQL.Starting.lockLanes, id),
        ]
    }

    /// Returns statements that create the segments of files and sidecars.
    private func addFiles(hasNeighbours: Bool, isFirst: Bool) -> [PostgresStatement] {
        var statements = KeyConflicts.statements(
            both, .null, hasHolders: hasNeighbours || !isFirst)
        statements += [
            PostgresStatement(SQL.Starting.newFiles, both),
            PostgresStatement(SQL.Starting.fileSegments, both),
            PostgresStatement(SQL.Starting.dropSidecars, both),
            PostgresStatement(SQL.Starting.sidecars, both),
        ]
        guard hasNeighbours else { return statements }
        // Files that other catalogs of the site have stored.
        return statements + [
            PostgresStatement(SQL.KnownFiles.storedByFiles, both),
            PostgresStatement(SQL.KnownFiles.noteFiles, both),
        ]
    }

    /// Returns statements that create jobs and notify workers. The last one counts the assets that
    /// only the `previous` generation had.
    private func addJobs(previous: Int) -> [PostgresStatement] {
        [
            PostgresStatement(SQL.Starting.dropParts, both),
            PostgresStatement(SQL.Starting.jobs, both + ["assets": .null]),
            PostgresStatement(SQL.Starting.isolate, id),
            PostgresStatement(SQL.Starting.totals, both),
            PostgresStatement(SQL.Common.notifyWork),
            PostgresStatement(
                SQL.Starting.left, id + ["generation": .int(Int64(previous))]),
        ]
    }
}
