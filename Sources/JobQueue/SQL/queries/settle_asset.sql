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
    RETURNING a.catalog_id, a.directory_id, a.state, 0::bigint AS done, 0::bigint AS failed,
              0::bigint AS bytes, 0::bigint AS adopted_bytes
), {{settleAssets}}
