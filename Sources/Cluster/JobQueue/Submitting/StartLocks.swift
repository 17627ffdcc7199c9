import Model
import Postgres

/// Locks of a transaction that creates jobs for a catalog's assets.
enum StartLocks {
    /// Returns the statements that take them: the keys' locks, those against deletions and those of
    /// limited titles. Each waits briefly; then PostgreSQL ends the transaction, and
    /// `startTransaction` runs it again.
    static func statements(_ catalog: CatalogID) -> [PostgresStatement] {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        return [
            PostgresStatement(SQL.Common.lockBriefly),
            PostgresStatement(SQL.KeyConflicts.lock, id),
            PurgeGuard.share(catalog: catalog.rawValue),
            PostgresStatement(SQL.Rights.lockTitles, id),
            PostgresStatement(SQL.Common.lockPatiently),
        ]
    }
}

extension QueueDatabase {
    /// Runs a transaction that takes `StartLocks`.
    ///
    /// Starts of one site's catalogs may take long. While others hold the locks, the transaction is
    /// rolled back and waits in its site's line without a connection, for as long as `isWanted`
    /// returns true, and at most for `catalogStatementSeconds`.
    func startTransaction<Value: Sendable>(
        of catalog: CatalogID, while isWanted: () -> Bool = { true },
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        let end = ContinuousClock.now + .seconds(catalogStatementSeconds)
        var turn: StartTurns.Turn?
        defer { if let turn { startTurns.end(turn) } }
        while true {
            do {
                return try await attempt { connection in
                    try await connection.transaction { try await body($0) }
                }
            } catch let error as PostgresError where error.isLockTimeout {
                if turn == nil { turn = startTurns.join(try await site(of: catalog)) }
                if let turn { try await startTurns.wait(for: turn, until: end, while: isWanted) }
            } catch {
                throw Failure(ofQueue: error)
            }
        }
    }

    private func site(of catalog: CatalogID) async throws(Failure) -> SiteID {
        try await withConnection { connection in
            let row = try await connection.query(
                SQL.Catalogs.read, ["catalog": .int(catalog.rawValue)]
            ).firstRow
            guard let row else { throw Failure.unknownCatalog(catalog) }
            return SiteID(try row.int64("site_id"))
        }
    }
}
