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
        // Their workers live: what dies with a worker is another suite's.
        try await pool.query(
            """
            INSERT INTO worker (id, name)
            SELECT DISTINCT worker_id, 'w' FROM lease WHERE id = ANY($1::uuid[])
            ON CONFLICT (id) DO UPDATE SET last_seen = now()
            """, [.textArray(leases.map(\.description))])
        try await pool.query(
            "UPDATE lease SET expires_at = now() - interval '1 second' WHERE id = ANY($1::uuid[])",
            [.textArray(leases.map(\.description))])
    }

    /// Ends delays and cooldowns, and resets the failures of sites.
    func makeDue() async throws {
        try await pool.query(
            """
            UPDATE delayed_job SET available_at = now()
            WHERE available_at > now() AND refused_code IS NULL
            """)
        try await pool.query("UPDATE origin SET cooldown_until = NULL WHERE cooldown_until > now()")
        try await pool.query("UPDATE site SET fault_code = NULL")
    }

    /// Makes delays longer than any history, so that none ends by itself.
    func keepDelayed() async throws {
        try await pool.query(
            """
            UPDATE delayed_job SET available_at = now() + interval '1 day'
            WHERE available_at > now() AND refused_code IS NULL
            """)
    }

    /// Makes leases and ended catalogs old enough for `tidy` to delete their outdated rows.
    func age() async throws {
        try await pool.query("UPDATE lease SET granted_at = granted_at - interval '1 hour'")
        try await pool.query("UPDATE catalog SET ended_at = ended_at - interval '1 hour'")
    }

    /// Brings what reports left into the counts of catalogs and directories.
    func settleTotals(_ queue: JobQueue) async throws {
        while try await queue.housekeeping.tallies.fold() { await Task.yield() }
    }

    // MARK: Looking

    struct StoredJob {
        var kind: String
        var catalog: String
        /// Asset or directory.
        var name: String
        var ordinal: Int64
        var offset: Int64?
        var id: JobID
        var lease: LeaseID?
        var worker: WorkerID?
        /// Of its lane, or of the one that it will go to; -1 for its catalog's.
        var priority: Int64
        /// Of a file in the lane of another one.
        var ownOrigin: String?
    }

    /// Every job there is, in a lane or on its way there.
    func jobs() async throws -> [StoredJob] {
        try await pool.query(
            """
            SELECT j.kind, c.name, coalesce(a.name, d.path), coalesce(s.ordinal, 0), s.range_offset,
                   j.id, e.id, e.worker_id, j.own_priority::bigint,
                   CASE WHEN j.kind = 'fetch' AND o.id <> j.origin_id THEN o.url END
            FROM (
                SELECT l.catalog_id, j.lane_id, j.id, j.kind, j.asset_id, j.segment_id,
                       j.directory_id, l.own_priority, l.origin_id
                FROM job j JOIN lane l ON l.id = j.lane_id
                UNION ALL
                SELECT catalog_id, NULL, 0, kind, asset_id, segment_id, directory_id,
                       own_priority, origin_id
                FROM delayed_job
            ) AS j
            JOIN catalog c ON c.id = j.catalog_id
            LEFT JOIN asset a ON a.id = j.asset_id
            LEFT JOIN segment s ON s.id = j.segment_id
            LEFT JOIN origin o ON o.id = s.origin_id
            LEFT JOIN directory d ON d.id = j.directory_id
            LEFT JOIN span p ON p.lane_id = j.lane_id AND j.id BETWEEN p.first_id AND p.last_id
            LEFT JOIN lease e ON e.id = p.lease_id
            """
        ).rows.map { row in
            StoredJob(
                kind: try row.string(0), catalog: try row.string(1), name: try row.string(2),
                ordinal: try row.int64(3), offset: try row.optionalInt64(4),
                id: JobID(try row.int64(5)), lease: try row.optionalUUID(6),
                worker: try row.optionalUUID(7), priority: try row.int64(8),
                ownOrigin: try row.optionalString(9))
        }
    }

    /// What must never be there: a sentence a row.
    func violations() async throws -> [String] {
        try await pool.query(
            """
            SELECT 'job ' || j.id || ' lies before the end of its lane, and no lease holds it'
            FROM job j
            WHERE j.id <= (SELECT max(last_id) FROM span WHERE lane_id = j.lane_id)
              AND NOT EXISTS (SELECT FROM span p JOIN lease e ON e.id = p.lease_id
                              WHERE p.lane_id = j.lane_id
                                AND j.id BETWEEN p.first_id AND p.last_id)
            UNION ALL
            SELECT 'job ' || j.id || ' can be claimed, and its lane is not ready'
            FROM job j JOIN lane l ON l.id = j.lane_id
            WHERE l.ready_since IS NULL AND l.own_priority >= -1 AND j.id > coalesce(
                (SELECT max(last_id) FROM span WHERE lane_id = j.lane_id), 0)
            UNION ALL
            SELECT 'job ' || j.id || ' is in no lane' FROM job j
            WHERE NOT EXISTS (SELECT FROM lane WHERE id = j.lane_id)
            UNION ALL
            SELECT a.name || ' waits for fresh URLs, and nothing reads its manifest'
            FROM delayed_job d JOIN asset a ON a.id = d.asset_id
            WHERE d.refused_code IS NOT NULL AND NOT (a.renewing_since IS NOT NULL AND (
                EXISTS (SELECT FROM job WHERE kind = 'resolve' AND asset_id = a.id)
                OR EXISTS (SELECT FROM delayed_job
                           WHERE kind = 'resolve' AND asset_id = a.id)))
            UNION ALL
            SELECT 'asset ' || a.name || ' is completed without ' || s.key FROM asset a
            JOIN segment s ON s.asset_id = a.id
            WHERE a.state = 'completed' AND NOT a.redefined
              AND NOT EXISTS (SELECT FROM result r WHERE r.segment_id = s.id AND r.done)
            UNION ALL
            SELECT 'job ' || j.id || ' fetches a segment with a result, and its catalog was started once'
            FROM job j
            JOIN result r ON r.segment_id = j.segment_id
            JOIN lane l ON l.id = j.lane_id
            JOIN catalog c ON c.id = l.catalog_id
            WHERE j.kind = 'fetch' AND j.whole_id IS NULL AND c.starts <= 1
            """
        ).rows.map { try $0.string(0) } + storedMiscounts()
    }

    /// Catalogs that count other bytes as stored at their sites than their records have.
    func storedMiscounts() async throws -> [String] {
        try await pool.query(
            """
            SELECT format('%s counts %s bytes as stored, its records have %s', c.name, n.counted,
                          n.recorded)
            FROM catalog c CROSS JOIN LATERAL (
                SELECT c.stored_bytes + coalesce((
                           SELECT sum(t.stored_bytes) FROM tally t WHERE t.catalog_id = c.id
                       ), 0) AS counted,
                       coalesce((
                           SELECT sum(r.bytes) FROM asset a JOIN segment s ON s.asset_id = a.id
                           JOIN result r ON r.segment_id = s.id AND r.done
                           WHERE a.catalog_id = c.id
                       ), 0) + coalesce((
                           SELECT sum(f.bytes) FROM asset a
                           JOIN previous_file f ON f.asset_id = a.id
                           WHERE a.catalog_id = c.id AND NOT EXISTS (
                               SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
                               WHERE s.asset_id = a.id AND s.part = 0 AND s.key = f.key)
                       ), 0) + coalesce((
                           SELECT sum(f.bytes) FROM unneeded_file f WHERE f.catalog_id = c.id
                       ), 0) AS recorded
            ) AS n
            WHERE n.counted <> n.recorded
            """
        ).rows.map { try $0.string(0) }
    }

    // MARK: Between histories

    /// Empties every table but what migrations put there. Row by row: for tables this small,
    /// TRUNCATE with its new files takes longer than a history.
    func reset() async throws {
        let deletions = try await pool.query(
            """
            SELECT string_agg(format('DELETE FROM %I', tablename)
                || CASE WHEN tablename = 'origin' THEN ' WHERE id <> 0' ELSE '' END, ';')
            FROM pg_tables
            WHERE schemaname = current_schema()
              AND tablename NOT IN ('schema_migration', 'cluster', 'transition')
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
