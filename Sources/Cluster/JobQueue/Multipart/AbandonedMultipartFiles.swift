package import Model
import Postgres

/// Releases multipart files that were cancelled, or that failed and were not retried for an hour.
package struct AbandonedMultipartFiles: Sendable {
    let database: QueueDatabase

    private static let keptSeconds = 3_600.0

    /// Deletes their parts. A worker removes the files, which frees their space.
    package func release() async throws(Failure) {
        let seconds: SQLValues = ["seconds": .double(Self.keptSeconds)]
        let catalogs = try await database.withConnection { connection in
            try await connection.query(SQL.Multipart.givenUp, seconds)
                .rows.map { try $0.int64("id") }
        }
        for catalog in catalogs {
            try await database.transaction { connection in
                let id: SQLValues = ["catalog": .int(catalog)]
                // Without the lock another request may start its assets meanwhile.
                guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked")
                else { return }
                _ = try await connection.query(SQL.Catalogs.fold, id)
                _ = try await connection.query(SQL.Multipart.release, id + seconds)
            }
        }
    }
}
