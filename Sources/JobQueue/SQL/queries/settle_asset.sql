-- $1 asset, $2 verifies done, $3 verifies failed, $4 failure code, $5 failure message, $6 resolve
-- failed. One asset after something rarer than a fetch: a verification, a failed resolution.
WITH rolled AS (
    UPDATE asset a SET
        verifies_done = a.verifies_done + $2::int,
        verifies_failed = a.verifies_failed + $3::int,
        failure_code = coalesce(a.failure_code, $4::text),
        failure_message = CASE WHEN a.failure_code IS NULL THEN $5::text
                               ELSE a.failure_message END,
        state = CASE
            WHEN $6::bool THEN 'failed'
            WHEN a.segments_done + a.segments_failed < a.segments THEN 'inProgress'
            WHEN a.verifies_done + a.verifies_failed + $2::int + $3::int < a.verifies
                THEN 'verifying'
            WHEN a.segments_failed + a.verifies_failed + $3::int > 0 THEN 'failed'
            ELSE 'completed' END,
        changed_at = now()
    WHERE a.id = $1::bigint
    RETURNING a.catalog_id, a.directory_id, a.state
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed)
    SELECT catalog_id, directory_id, (state = 'completed')::int, (state = 'failed')::int
    FROM rolled
)
SELECT count(*) FROM rolled
