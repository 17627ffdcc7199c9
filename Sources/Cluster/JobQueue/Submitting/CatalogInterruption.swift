import Postgres

/// Deletes the jobs of catalogs whose submitter disconnected.
enum CatalogInterruption {
    /// Interrupts catalogs whose locks are held. Counts finished jobs first.
    static func interrupt(_ ids: [Int64], _ connection: PostgresConnection) async throws {
        let catalogs: SQLValues = ["catalogs": .int64Array(ids)]
        // A concurrent report may leave jobs that a statement begun before its end cannot see.
        // Without any job there is no such report, and nothing creates new ones. A claim may take
        // such jobs to a new lane.
        repeat {
            _ = try await connection.query(SQL.Catalogs.lockLanes, catalogs)
            _ = try await connection.query(SQL.Catalogs.interruptJobs, catalogs)
        } while try await connection.query(SQL.Catalogs.haveJobs, catalogs).only().bool("have_jobs")
        // Folding counts finished jobs, and may create jobs that are deleted too.
        for id in ids { _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(id)]) }
        _ = try await connection.query(SQL.Catalogs.interruptJobs, catalogs)
        _ = try await connection.query(SQL.Catalogs.interruptAssets, catalogs)
        _ = try await connection.query(SQL.Catalogs.interrupt, catalogs)
    }
}
