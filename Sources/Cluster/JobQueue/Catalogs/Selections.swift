package import Model
import Postgres

/// Work that is selected by catalog, asset or failure code, and cancelled, tried again, or put before
/// or after other work.
package struct Selections: Sendable {
    let database: QueueDatabase
    let names: CatalogNames

    /// Does what `action` says to everything it selects, one catalog a transaction.
    ///
    /// Throws `input.notFound` for a catalog or an asset that is not there, `input.ambiguous` for a
    /// name that several sites have, and `input.field` for a catalog that is just being submitted again.
    package func apply(_ action: SelectionAction) async throws(Failure) -> SelectionAnswer {
        var answer = SelectionAnswer(assets: 0, jobs: 0)
        for catalog in try await names.catalogs(of: action) {
            let part = try await apply(action, to: catalog)
            answer.assets += part.assets
            answer.jobs += part.jobs
            answer.catalog = part.catalog
        }
        return answer
    }

    private func apply(
        _ action: SelectionAction, to catalog: CatalogID
    ) async throws(Failure) -> SelectionAnswer {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        if [.cancel, .retry, .refresh].contains(action.action) {
            // What reports left to be counted may have ended assets. In a transaction of its own,
            // because it locks assets, and reports lock their jobs first.
            try await database.transaction { connection in
                _ = try await connection.query(SQL.Catalogs.lock, id)
                try await database.allowCatalogTime(connection)
                _ = try await connection.query(SQL.Catalogs.fold, id)
            }
        }
        return try await database.transaction { connection in
            _ = try await connection.query(SQL.Catalogs.lock, id)
            guard let row = try await connection.query(SQL.Catalogs.read, id).firstRow else {
                throw Failure.unknownCatalog(catalog)
            }
            try await database.allowCatalogTime(connection)
            _ = try await connection.query(SQL.Common.planInBulk)
            return try await Selection(action: action, catalog: catalog, row: row)
                .apply(connection)
        }
    }
}
