package import API
package import Model
import Postgres

/// Selects jobs by catalog, asset or failure code, and cancels, retries or reprioritizes them.
package struct Selections: Sendable {
    let database: QueueDatabase
    let names: CatalogNames
    let leaseSeconds: Double

    /// Applies `action` to everything that it selects, one catalog per transaction.
    ///
    /// Throws `input.notFound` for an unknown catalog or asset, `input.ambiguous` for a name that
    /// several sites have, and `input.field` for a catalog that is being submitted again.
    package func apply(_ action: SelectionAction) async throws(Failure) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for catalog in try await names.catalogs(of: action) {
            let part = try await apply(action, to: catalog)
            answer.add(part)
            answer.catalog = part.catalog
        }
        return answer
    }

    /// Returns the one catalog of a reference. Throws `input.notFound` and `input.ambiguous`.
    package func catalog(_ reference: CatalogReference) async throws(Failure) -> CatalogID {
        try await names.catalog(reference)
    }

    private func apply(
        _ action: SelectionAction, to catalog: CatalogID
    ) async throws(Failure) -> SelectionAnswer {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        if action.action == .forget { return try await forget(catalog) }
        if [.cancel, .retry, .refresh, .resume, .remove].contains(action.action) {
            // Tallies may end assets. In its own transaction, because it locks assets, and reports
            // lock their jobs first.
            try await database.transaction { connection in
                _ = try await connection.query(SQL.Catalogs.lock, id)
                try await database.allowCatalogTime(connection)
                _ = try await connection.query(SQL.Catalogs.fold, id)
            }
        }
        return try await database.startTransaction(of: catalog) { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Failure.unknownCatalog(catalog)
            }
            try await database.allowCatalogTime(connection)
            if [.remove, .refresh].contains(action.action) || action.refreshSeconds ?? 0 > 0,
                try StorageURL(try row.string("storage_url")).cache != nil
            {
                // Of several catalogs, those of caches are skipped.
                guard action.catalog != nil else { return SelectionAnswer(assets: 0, jobs: 0) }
                throw Failure(
                    .inputCacheSite,
                    "catalog: \(catalog) is of a cache; allowed for \(action.action.rawValue): a "
                        + "catalog of a site with storage.")
            }
            return try await Selection(
                action: action, catalog: catalog, row: row, leaseSeconds: leaseSeconds
            ).apply(connection)
        }
    }

    private static func checkForgettable(_ catalog: CatalogID, _ row: PostgresRow) throws {
        let state = try row.string("state")
        guard CatalogState(rawValue: state)?.isTerminal != true else { return }
        throw Failure(
            .inputField,
            "catalog: \(catalog) is \(state); allowed: one that has completed, failed, or was "
                + "cancelled or removed. "
                + (state == CatalogState.open.rawValue
                    ? "Submit its list again, then cancel it." : "Cancel it first."))
    }

    /// Deletes the records of a catalog that has ended; stored files stay.
    private func forget(_ catalog: CatalogID) async throws(Failure) -> SelectionAnswer {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        let (assets, generation) = try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            _ = try await connection.query(SQL.Catalogs.fold, id)
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Failure.unknownCatalog(catalog)
            }
            try Self.checkForgettable(catalog, row)
            try CatalogLocks.checkNotOpen(catalog, row, "needs its records")
            guard try await !connection.query(SQL.Rights.hasAny, id).only().bool("has_rights")
            else {
                throw Failure(
                    .inputField,
                    "catalog: \(catalog) has assets whose files are to be deleted at a time (expiresAt, "
                        + "keepFor); allowed: one without. Remove them first, or submit them without."
                )
            }
            return (Int(try row.int64("assets")), try row.int64("generation"))
        }
        let retention = CatalogRetention(database: database)
        guard try await retention.forget(catalog.rawValue, generation: generation) else {
            throw Failure(
                .clusterBusy, "catalog \(catalog) has just been changed by another request.")
        }
        var answer = SelectionAnswer(assets: assets, jobs: 0)
        answer.catalog = catalog
        return answer
    }
}
