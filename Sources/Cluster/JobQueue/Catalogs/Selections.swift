package import API
package import Model
import Postgres

/// Selects jobs by catalog, asset or failure code, and cancels, retries or reprioritizes them.
package struct Selections: Sendable {
    let database: QueueDatabase
    let names: CatalogNames

    /// Applies `action` to everything that it selects, one catalog per transaction.
    ///
    /// Throws `input.notFound` for an unknown catalog or asset, `input.ambiguous` for a name that
    /// several sites have, and `input.field` for a catalog that is being submitted again.
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

    /// Returns the one catalog of a reference. Throws `input.notFound` and `input.ambiguous`.
    package func catalog(_ reference: CatalogReference) async throws(Failure) -> CatalogID {
        try await names.catalog(reference)
    }

    private func apply(
        _ action: SelectionAction, to catalog: CatalogID
    ) async throws(Failure) -> SelectionAnswer {
        let id: SQLValues = ["catalog": .int(catalog.rawValue)]
        if [.cancel, .retry, .refresh, .resume].contains(action.action) {
            // Tallies may end assets. In its own transaction, because it locks assets, and reports
            // lock their jobs first.
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
            return try await Selection(action: action, catalog: catalog, row: row)
                .apply(connection)
        }
    }
}
