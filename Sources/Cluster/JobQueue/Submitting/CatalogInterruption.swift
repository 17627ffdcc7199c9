import Model
import Postgres

/// Deletes the jobs of catalogs whose submitter disconnected.
enum CatalogInterruption {
    /// Interrupts catalogs whose locks are held. Counts finished jobs first. A catalog whose assets
    /// have all ended by then ends: workers still write its checksum files.
    static func interrupt(_ ids: [Int64], _ connection: PostgresConnection) async throws {
        let all: SQLValues = ["catalogs": .int64Array(ids)]
        let continuing = JobKind.allCases.filter(\.isUninterruptible)
        try await deleteJobs(of: ids, but: continuing + [.checksums], connection)
        // Folding counts finished jobs, and may create jobs of checksum files.
        for id in ids { _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(id)]) }
        _ = try await connection.query(SQL.Catalogs.noteReceived, all)
        _ = try await connection.query(SQL.Catalogs.interruptAssets, all)
        let ended = try await connection.query(SQL.Catalogs.settle, all).rows.map {
            try $0.int64("id")
        }
        let interrupted = ids.filter { !ended.contains($0) }
        guard !interrupted.isEmpty else { return }
        try await deleteJobs(of: interrupted, but: continuing, connection)
        _ = try await connection.query(
            SQL.Catalogs.interrupt, ["catalogs": .int64Array(interrupted)])
    }

    /// Deletes the jobs of catalogs, except those of some kinds.
    private static func deleteJobs(
        of ids: [Int64], but kept: [JobKind], _ connection: PostgresConnection
    ) async throws {
        let catalogs: SQLValues = ["catalogs": .int64Array(ids)]
        let chosen = catalogs + ["kept": .textArray(kept.map(\.rawValue))]
        // A concurrent report may leave jobs that a statement begun before its end cannot see.
        // Without any job there is no such report, and nothing creates new ones. A claim may take
        // such jobs to a new lane.
        repeat {
            _ = try await connection.query(SQL.Catalogs.lockLanes, catalogs)
            _ = try await connection.query(SQL.Catalogs.interruptJobs, chosen)
        } while try await connection.query(SQL.Catalogs.haveJobs, chosen).only().bool("have_jobs")
    }
}
