package import Model
import Postgres

/// Deletes old catalogs with their assets and the records of these. Stored files stay.
package struct CatalogRetention: Sendable {
    let database: QueueDatabase

    /// Deletes catalogs that ended, or stayed open, more than `days` days ago, in up to
    /// `transactions` bounded transactions. Returns the number of deleted catalogs.
    @discardableResult
    package func delete(
        olderThanDays days: Int, transactions: Int = 50
    ) async throws(Failure) -> Int {
        let old = try await database.withConnection { connection in
            try await connection.query(SQL.Housekeeping.oldCatalogs, ["days": .int(Int64(days))])
                .rows.map { try $0.int64("id") }
        }
        let values: SQLValues = ["days": .int(Int64(days)), "generation": .null]
        var left = transactions
        var deleted = 0
        for catalog in old {
            var isPending = true
            while isPending {
                guard left > 0 else { return deleted }
                left -= 1
                isPending = try await deleteAssets(of: catalog, values)
            }
            if try await delete(catalog, values) { deleted += 1 }
        }
        return deleted
    }

    /// Deletes a catalog that has ended, whatever its age. Returns false if it was changed since
    /// it ended with `generation`: what was submitted meanwhile stays.
    func forget(_ catalog: Int64, generation: Int64) async throws(Failure) -> Bool {
        let values: SQLValues = ["days": .int(0), "generation": .int(generation)]
        while try await deleteAssets(of: catalog, values) {}
        return try await delete(catalog, values)
    }

    /// Deletes some assets. Returns false if none is left, or if the catalog's lock is taken.
    private func deleteAssets(
        of catalog: Int64, _ values: SQLValues
    ) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetAssets, id + values
            ).only().int64("assets") > 0
        }
    }

    private func delete(_ catalog: Int64, _ values: SQLValues) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetCatalog, id + values
            ).only().int64("catalogs") > 0
        }
    }
}
