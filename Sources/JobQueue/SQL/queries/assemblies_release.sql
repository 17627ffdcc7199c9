-- $1 catalog, whose lock is held, $2 seconds. Gives up its files in parts, as assemblies_given_up: their
-- parts go, and the next start fetches them from their beginning.
WITH chosen AS MATERIALIZED (
    SELECT y.segment_id, y.parts, y.attempt, a.id AS asset_id, a.failure_code, a.failure_message
    FROM assembly y JOIN segment s ON s.id = y.segment_id JOIN asset a ON a.id = s.asset_id
    WHERE a.catalog_id = $1::bigint AND a.state IN ('failed', 'cancelled') AND (a.kind = 'file' OR a.resolved)
      AND (a.failure_code = 'worker.cancelled'
           OR a.changed_at < now() - make_interval(secs => $2::float8))
    ORDER BY y.segment_id LIMIT 100
), parts AS (
    DELETE FROM segment USING chosen c WHERE segment.parent_id = c.segment_id
    RETURNING segment.id, c.segment_id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
    RETURNING parts.segment_id, result.done, result.bytes
), gone AS (
    DELETE FROM assembly USING chosen c WHERE assembly.segment_id = c.segment_id
), stored AS (
    SELECT segment_id, count(*) AS parts, sum(bytes) AS bytes FROM results WHERE done
    GROUP BY segment_id
), sums AS (
    -- All that was not stored counts as failed, and each file as one failed verification.
    SELECT c.asset_id, count(*) AS files, sum(c.parts) AS parts,
           coalesce(sum(n.parts), 0) AS done, coalesce(sum(n.bytes), 0) AS bytes
    FROM chosen c LEFT JOIN stored n ON n.segment_id = c.segment_id
    GROUP BY c.asset_id
), counted AS (
    UPDATE asset a SET segments = a.segments - n.parts + n.files,
        segments_done = a.segments_done - n.done,
        segments_failed = a.segments_failed - (n.parts - n.done) + n.files,
        verifies = a.verifies - n.files, verifies_failed = a.verifies_failed - n.files,
        bytes = a.bytes - n.bytes, adopted_bytes = least(a.adopted_bytes, a.bytes - n.bytes)
    FROM sums n JOIN asset b ON b.id = n.asset_id
    WHERE a.id = n.asset_id
    RETURNING a.catalog_id, n.files, n.parts, n.done, n.bytes,
              b.adopted_bytes - a.adopted_bytes AS adopted_bytes
), tallied AS (
    INSERT INTO tally (catalog_id, segments, segments_done, segments_failed, bytes, adopted_bytes)
    SELECT catalog_id, files - parts, -done, files - (parts - done), -bytes, -adopted_bytes
    FROM counted
)
INSERT INTO result (segment_id, done, failure_code, failure_message, attempts)
SELECT segment_id, false, coalesce(failure_code, 'worker.cancelled'), failure_message, attempt
FROM chosen
ON CONFLICT (segment_id) DO UPDATE SET done = false, bytes = NULL, sha256 = NULL,
    failure_code = excluded.failure_code, failure_message = excluded.failure_message,
    attempts = excluded.attempts, recorded_at = excluded.recorded_at
