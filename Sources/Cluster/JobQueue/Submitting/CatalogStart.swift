import API
import Model
import Postgres

/// The start of a submission within one `startTransaction`: every asset that is not done gets jobs,
/// and stored files are checked.
struct CatalogStart {
    let catalog: CatalogID
    let generation: Int
    /// Time limit of a statement, in seconds; see `QueueDatabase.allowCatalogTime`.
    let statementSeconds: Double
    var scope = Scope.all
    let connection: PostgresConnection

    /// Which assets of the list get jobs.
    enum Scope {
        /// Stored files are checked.
        case all
        /// Not the completed ones that are named as before.
        case changed
        /// Not those that have failed before.
        case notFailed
    }

    private var id: SQLValues { ["catalog": .int(catalog.rawValue)] }
    private var both: SQLValues { id + ["generation": .int(Int64(generation))] }

    /// Takes the catalog's lock and starts it, unless this generation runs already.
    func run() async throws -> CatalogStarted {
        let (row, hasNeighbours) = try await lock()
        if row.generation == generation && row.state != .interrupted { return CatalogStarted() }
        try Submissions.checkOpen("of catalog \(catalog)", state: row.queueState)
        let contents = try await contents(previous: row.generation)
        if !contents.isNew {
            try CatalogLocks.checkPublications(try await CatalogLocks.lockWork(both, connection))
        }
        let moves = contents.hasStartTimes ? try await applyStartTimes() : []
        if hasNeighbours { _ = try await connection.simple(SQL.KnownFiles.stage.text) }
        // One round trip: idle workers wait for its end.
        var before =
            (contents.isNew ? [] : endPrevious())
            + makeLanes(queue: row.queueID, awaits: row.hasNeighbours, contents) + moves
        var started: PostgresValue = .null
        if scope != .all {
            _ = try await connection.pipeline(before)
            before = []
            started = .int64Array(
                try await connection.query(
                    scope == .changed ? SQL.Starting.changed : SQL.Starting.notFailed, both
                ).rows.map { try $0.int64("id") })
        }
        let results = try await connection.pipeline(
            before
                + addFiles(
                    hasNeighbours: hasNeighbours, isFirst: row.generation == 0, contents)
                + addJobs(previous: row.generation, started: started, contents))
        try PurgeGuard.check(results.last)
        guard row.generation != generation else { return CatalogStarted() }
        guard !contents.isNew else { return CatalogStarted(left: 0) }
        let left = try results.dropLast().last?.only().int64("assets") ?? 0
        return CatalogStarted(left: Int(left))
    }

    /// What a start has to look for: each statement left out would read all assets.
    private struct Contents {
        /// No statement that ends earlier work has anything to do.
        var isNew = false
        /// All assets are new files without sidecars.
        var isPlain = false
        /// No two assets may want one key.
        var hasOwnKeys = false
        var hasStartTimes = true
        var hasRights = true
        var hasFoundFiles = true
    }

    private func contents(previous: Int) async throws -> Contents {
        guard previous == 0 else { return Contents() }
        let row = try await connection.query(SQL.Starting.contents, both).only()
        guard try row.bool("is_new") else { return Contents() }
        return Contents(
            isNew: true, isPlain: try row.bool("is_plain"),
            hasOwnKeys: try row.bool("has_own_keys"),
            hasStartTimes: try row.bool("has_start_times"),
            hasRights: try row.bool("has_rights"),
            hasFoundFiles: try row.bool("has_found_files"))
    }

    /// Returns the locked catalog, and true if its site has other catalogs.
    private func lock() async throws -> (SubmittedCatalog, hasNeighbours: Bool) {
        let limit = try await connection.statementTimeout(seconds: statementSeconds)
        let (row, found) = try await SubmittedCatalog.lock(
            catalog, generation: generation, connection,
            [limit] + Neighbours.putIntoEffect(id) + StartLocks.statements(catalog) + [
                PostgresStatement(SQL.Starting.hasNeighbours, id)
            ])
        return (row, try found.last?.only().bool("has_neighbours") ?? false)
    }

    /// Lets the jobs of assets wait until they may begin, which the submission may have changed.
    /// Returns statements that move the jobs that there are, once the lanes are locked.
    private func applyStartTimes() async throws -> [PostgresStatement] {
        let assets = try await connection.query(SQL.Rights.rescheduled, both).rows.map {
            try $0.int64("id")
        }
        guard !assets.isEmpty else { return [] }
        let chosen: SQLValues = ["assets": .int64Array(assets)]
        try await Selection.lock(chosen, after: SQL.Selecting.lockDelayed, of: id, connection)
        return try Selection.moves(
            try await connection.query(SQL.Rights.reschedule, id + chosen), id)
    }

    /// Returns statements that end the work of the previous generation.
    private func endPrevious() -> [PostgresStatement] {
        [
            // Reports of assets that are started again count first.
            PostgresStatement(SQL.Catalogs.fold, id),
            PostgresStatement(SQL.Daily.foldStarted, id),
            PostgresStatement(SQL.Starting.endRenewals, id),
            // Later grants would not be reported to their workers.
            PostgresStatement(SQL.Selecting.lockLanes, id),
            PostgresStatement(SQL.Starting.forget, both),
            PostgresStatement(SQL.Starting.renew, both),
        ]
    }

    /// Returns statements that create the lanes and lock them.
    ///
    /// - Parameter awaits: true if assets may wait for neighbours.
    private func makeLanes(
        queue: Int64, awaits: Bool, _ contents: Contents
    ) -> [PostgresStatement] {
        (awaits ? [PostgresStatement(SQL.Neighbours.await, both)] : []) + [
            PostgresStatement(
                SQL.Starting.lanes,
                both + ["queue": .int(queue), "plain": .bool(contents.isPlain)]),
            // Reports continue meanwhile; they take no lane's lock.
            PostgresStatement(SQL.Starting.lockLanes, id),
        ]
    }

    /// Returns statements that create the segments of files and sidecars.
    private func addFiles(
        hasNeighbours: Bool, isFirst: Bool, _ contents: Contents
    ) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if hasNeighbours || !contents.hasOwnKeys {
            statements += KeyConflicts.statements(
                both, .null, hasHolders: hasNeighbours || !isFirst)
        }
        if contents.hasRights { statements += Self.rejections(both, .null) }
        statements.append(PostgresStatement(SQL.Starting.newFiles, both))
        if !contents.isPlain {
            statements.append(PostgresStatement(SQL.Starting.fileSegments, both))
        }
        if !contents.isNew { statements.append(PostgresStatement(SQL.Starting.dropSidecars, both)) }
        if !contents.isPlain { statements.append(PostgresStatement(SQL.Starting.sidecars, both)) }
        if contents.hasFoundFiles {
            statements.append(
                PostgresStatement(
                    SQL.KnownFiles.adoptFound, both + ["unread": .text(FoundFile.unread)]))
        }
        guard hasNeighbours else { return statements }
        // Files that other catalogs of the site have stored.
        return statements + [
            PostgresStatement(SQL.KnownFiles.storedByFiles, both),
            PostgresStatement(SQL.KnownFiles.noteFiles, both),
        ]
    }

    /// Returns statements that reject assets whose rights allow no fetch now, and count the fetches
    /// of the others.
    ///
    /// - Parameters:
    ///   - both: a catalog and its generation.
    ///   - assets: the started ones, null for all.
    static func rejections(_ both: SQLValues, _ assets: PostgresValue) -> [PostgresStatement] {
        func code(_ code: FailureCode) -> SQLValues { ["code": .text(code.rawValue)] }
        let limited = both + ["assets": assets]
        return [
            PostgresStatement(
                SQL.Rights.refuseExpired,
                both + code(.inputExpired) + [
                    "message": .text("expiresAt: it has passed, and nothing is fetched.")
                ]),
            PostgresStatement(
                SQL.Rights.refuseContradictory,
                both + code(.inputRights) + [
                    "message": .text(
                        "expiresAt: it is not later than notBefore, those of the list, the catalog and "
                            + "the site together; allowed: a later time. Nothing is fetched.")
                ]),
            PostgresStatement(SQL.Rights.refuseSites, limited + code(.rightsMaxSites)),
            PostgresStatement(SQL.Rights.refuseFetches, limited + code(.rightsMaxFetches)),
            PostgresStatement(SQL.Rights.countFetches, limited),
        ]
    }

    /// Rejects assets as `rejections` do. Returns how many of them, and why; nil for none.
    static func refuse(
        _ both: SQLValues, _ assets: PostgresValue, _ connection: PostgresConnection
    ) async throws -> SelectionAnswer.Refused? {
        for rejection in rejections(both, assets) { _ = try await connection.pipeline([rejection]) }
        let codes = [
            FailureCode.inputExpired, .inputRights, .rightsMaxSites, .rightsMaxFetches,
        ].map(\.rawValue)
        let refused = try await connection.query(
            SQL.Rights.rejections, ["assets": assets, "codes": .textArray(codes)]
        ).only()
        return try refused.optionalMessage("reason").map {
            SelectionAnswer.Refused(assets: Int(try refused.int64("assets")), reason: $0)
        }
    }

    /// Returns statements that create jobs and notify workers. The last one finds a key that is
    /// just being deleted; the one before counts the assets that only the `previous` generation
    /// had, unless the catalog is new.
    private func addJobs(
        previous: Int, started: PostgresValue, _ contents: Contents
    ) -> [PostgresStatement] {
        let left = PostgresStatement(
            SQL.Starting.left, id + ["generation": .int(Int64(previous))])
        let isNew = contents.isNew
        let jobs =
            contents.isPlain
            ? [] : [PostgresStatement(SQL.Starting.jobs, both + ["assets": started])]
        return (isNew ? [] : [PostgresStatement(SQL.Starting.dropParts, both)]) + jobs + [
            PostgresStatement(SQL.Starting.isolate, id),
            PostgresStatement(SQL.Starting.totals, both),
            PostgresStatement(SQL.Common.notifyWork),
        ] + (isNew ? [] : [left]) + [PurgeGuard.awaited(catalog: catalog.rawValue)]
    }
}
