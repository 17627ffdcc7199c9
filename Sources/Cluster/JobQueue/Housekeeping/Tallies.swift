package import Model
import Postgres

/// Folds tallies: adds what reports counted to the totals of catalogs and directories.
package struct Tallies: Sendable {
    let database: QueueDatabase

    /// Folds all tallies, which ends catalogs that are complete. Returns true if the lock of a
    /// catalog was taken: call it again soon.
    @discardableResult
    package func fold() async throws(Failure) -> Bool {
        let catalogs = try await database.withConnection { connection in
            try await connection.query(SQL.Catalogs.tallied).rows.map { try $0.int64("id") }
        }
        var isPending = false
        for catalog in catalogs {
            if try await !fold(catalog) { isPending = true }
        }
        return isPending
    }

    /// Returns false if the catalog's lock is taken.
    private func fold(_ catalog: Int64) async throws(Failure) -> Bool {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            let jobs = try await connection.query(SQL.Catalogs.fold, id).only().int64("jobs")
            if jobs > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
            return true
        }
    }
}
