-- $1 jobs, $2 done, $3 bytes, $4 sha256, $5 adopted, $6 failure codes, $7 failure messages.
-- Fetches that ended, done or failed for good: results in, jobs out, and the counts of their
-- assets, directories and catalogs, in one statement. The jobs are locked by the caller.
WITH settled AS MATERIALIZED (
    DELETE FROM job j
    USING unnest($1::bigint[], $2::bool[], $3::bigint[], $4::text[], $5::bool[], $6::text[],
                 $7::text[]) AS r(job, done, bytes, sha256, adopted, code, message)
    WHERE j.id = r.job
    RETURNING j.asset_id, j.segment_id, j.attempt, r.done, r.bytes, r.sha256, r.adopted, r.code,
              r.message
), recorded AS (
    INSERT INTO result (segment_id, done, bytes, sha256, failure_code, failure_message, attempts)
    SELECT segment_id, done, bytes, sha256, code, message, attempt FROM settled
    ORDER BY segment_id
    ON CONFLICT (segment_id) DO UPDATE SET done = excluded.done, bytes = excluded.bytes,
        sha256 = excluded.sha256, failure_code = excluded.failure_code,
        failure_message = excluded.failure_message, attempts = excluded.attempts,
        recorded_at = excluded.recorded_at
), tally AS (
    SELECT asset_id, count(*) FILTER (WHERE done) AS done,
           count(*) FILTER (WHERE NOT done) AS failed,
           coalesce(sum(bytes) FILTER (WHERE done), 0) AS bytes,
           coalesce(sum(bytes) FILTER (WHERE done AND adopted), 0) AS adopted_bytes,
           bool_or(code = 'manifest.changed') AS changed,
           (array_agg(code) FILTER (WHERE NOT done))[1] AS code,
           (array_agg(message) FILTER (WHERE NOT done))[1] AS message
    FROM settled GROUP BY asset_id
), rolled AS (
    UPDATE asset a SET
        segments_done = a.segments_done + t.done,
        segments_failed = a.segments_failed + t.failed,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        -- What the manifest said no longer holds: the next start reads it anew.
        resolved = a.resolved AND t.changed IS NOT TRUE,
        failure_code = coalesce(a.failure_code, t.code),
        failure_message = CASE WHEN a.failure_code IS NULL
                               THEN t.message ELSE a.failure_message END,
        state = CASE
            WHEN a.segments_done + a.segments_failed + t.done + t.failed < a.segments
                THEN 'inProgress'
            WHEN a.verifies_done + a.verifies_failed < a.verifies THEN 'verifying'
            WHEN a.segments_failed + t.failed + a.verifies_failed > 0 THEN 'failed'
            ELSE 'completed' END,
        changed_at = now()
    FROM tally t WHERE a.id = t.asset_id
    RETURNING a.catalog_id, a.directory_id, a.state, t.done, t.failed, t.bytes, t.adopted_bytes
), {{settleAssets}}
