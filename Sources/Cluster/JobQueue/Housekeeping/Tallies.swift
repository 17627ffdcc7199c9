package import Model
import Postgres

/// Folds tallies: adds what reports counted to the totals of catalogs and directories.
package struct Tallies: Sendable {
    let database: QueueDatabase

    /// Folds all tallies, which ends catalogs that are complete. Returns true if the lock of a
    /// catalog was taken: call it again soon. `note` gets what was added to each catalog.
    @discardableResult
    package func fold(
        _ note: @Sendable (FoldedCounts) -> Void = { _ in }
    ) async throws(Failure) -> Bool {
        let catalogs = try await database.withConnection { connection in
            try await connection.query(SQL.Catalogs.tallied).rows.map { try $0.int64("id") }
        }
        var isPending = false
        for catalog in catalogs {
            guard let counts = try await fold(catalog) else {
                isPending = true
                continue
            }
            note(counts)
        }
        return isPending
    }

    /// Returns what was added; nil if the catalog's lock is taken.
    private func fold(_ catalog: Int64) async throws(Failure) -> FoldedCounts? {
        try await database.transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return nil
            }
            let row = try await connection.query(SQL.Catalogs.fold, id).only()
            if try row.int64("jobs") > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
            return FoldedCounts(
                queue: try row.string("queue"), segmentsDone: try row.int64("segments_done"),
                segmentsFailed: try row.int64("segments_failed"), bytes: try row.int64("bytes"),
                reusedBytes: try row.int64("adopted_bytes"), retries: try row.int64("retries"),
                assetsCompleted: try row.int64("completed"),
                assetsFailed: try row.int64("failed"),
                assetsCancelled: try row.int64("cancelled"))
        }
    }
}
