import Foundation
import JobQueue
import Model
import Postgres

/// The only place where the histories know the queue's tables: what time does, done by hand, and
/// what the API does not show.
struct HistoryDatabase: Sendable {
    let pool: PostgresPool

    // MARK: Time

    /// Lets the time of these leases be over.
    func expire(_ leases: [LeaseID]) async throws {
        try await pool.query(
            "UPDATE lease SET expires_at = now() - interval '1 second' WHERE id = ANY($1::uuid[])",
            [.textArray(leases)])
    }

    /// Lets delays and cooldowns be over.
    func makeDue() async throws {
        try await pool.query("UPDATE job SET available_at = now() WHERE available_at > now()")
        try await pool.query("UPDATE origin SET cooldown_until = NULL WHERE cooldown_until > now()")
    }

    /// Makes delays longer than any history, so that none ends by itself.
    func keepDelayed() async throws {
        try await pool.query(
            "UPDATE job SET available_at = now() + interval '1 day' WHERE available_at > now()")
    }

    /// Makes leases old enough for `tidy` to forget those that hold nothing.
    func ageLeases() async throws {
        try await pool.query("UPDATE lease SET granted_at = granted_at - interval '1 hour'")
    }

    /// Brings catalog totals up to date; they are kept with each report now.
    func settleTotals() async throws {}

    // MARK: Looking

    struct StoredJob {
        var kind: String
        var site: String
        var catalog: String
        /// Asset or directory.
        var name: String
        var ordinal: Int64
        var offset: Int64?
        var id: JobID
        var lease: LeaseID?
        var worker: WorkerID?
    }

    /// Every job there is.
    func jobs() async throws -> [StoredJob] {
        try await pool.query(
            """
            SELECT j.kind, t.storage_url, c.name, coalesce(a.name, d.path) AS what,
                   coalesce(s.ordinal, 0) AS ordinal, s.range_offset, j.id, j.lease_id, l.worker_id
            FROM job j
            JOIN catalog c ON c.id = j.catalog_id
            JOIN site t ON t.id = c.site_id
            LEFT JOIN asset a ON a.id = j.asset_id
            LEFT JOIN segment s ON s.id = j.segment_id
            LEFT JOIN directory d ON d.id = j.directory_id
            LEFT JOIN lease l ON l.id = j.lease_id
            """
        ).rows.map { row in
            StoredJob(
                kind: try row.string(0), site: try row.string(1), catalog: try row.string(2),
                name: try row.string(3), ordinal: try row.int64(4),
                offset: try row.optionalInt64(5), id: JobID(try row.int64(6)),
                lease: try row.optionalString(7), worker: try row.optionalString(8))
        }
    }

    /// What must never be there: a sentence a row.
    func violations() async throws -> [String] {
        try await pool.query(
            """
            SELECT 'job ' || j.id || ' is held by a lease that is not there' FROM job j
            WHERE j.lease_id IS NOT NULL AND NOT EXISTS (SELECT FROM lease WHERE id = j.lease_id)
            UNION ALL
            SELECT 'asset ' || a.name || ' is completed without ' || s.key FROM asset a
            JOIN segment s ON s.asset_id = a.id
            WHERE a.state = 'completed' AND NOT a.redefined
              AND NOT EXISTS (SELECT FROM result r WHERE r.segment_id = s.id AND r.done)
            """
        ).rows.map { try $0.string(0) }
    }

    // MARK: Between histories

    /// Empties every table but that of the schema's version. Row by row: for tables this small,
    /// TRUNCATE with its new files takes longer than a history.
    func reset() async throws {
        let deletions = try await pool.query(
            """
            SELECT string_agg(format('DELETE FROM %I', tablename), ';') FROM pg_tables
            WHERE schemaname = current_schema() AND tablename <> 'schema_migration'
            """
        ).firstRow?.string(0)
        guard let deletions else { return }
        // Without the triggers of foreign keys, the order of the tables does not matter.
        let script = "SET LOCAL session_replication_role = replica; \(deletions)"
        try await pool.withConnection { _ = try await $0.simple(script) }
    }

    // MARK: Faults

    /// Kills the sessions of that name that are at work; answers their process numbers.
    func kill(applicationName: String) async throws -> [Int64] {
        try await pool.query(
            """
            WITH sessions AS MATERIALIZED (
                SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'
            )
            SELECT pid::bigint FROM sessions WHERE pg_terminate_backend(pid)
            """, [.text(applicationName)]
        ).rows.map { try $0.int64(0) }
    }

    /// Whether one of these sessions is still there.
    func isAlive(_ processes: [Int64]) async throws -> Bool {
        try await pool.query(
            "SELECT FROM pg_stat_activity WHERE pid = ANY($1::bigint[])", [.int64Array(processes)]
        ).rowCount > 0
    }
}
