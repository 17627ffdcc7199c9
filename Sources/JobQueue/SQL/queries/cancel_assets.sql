-- $1 assets, $2 code, $3 message. Those still under way have failed: what they lack counts as failed.
WITH chosen AS MATERIALIZED (
    SELECT id, segments_failed FROM asset
    WHERE id IN (SELECT unnest($1::bigint[])) AND state IN ({{assetStarted}})
    ORDER BY id FOR UPDATE
), settled AS (
    UPDATE asset a SET
        state = 'failed', segments_failed = a.segments - a.segments_done,
        verifies_failed = a.verifies - a.verifies_done,
        failure_code = coalesce(a.failure_code, $2),
        failure_message = CASE WHEN a.failure_code IS NULL THEN $3 ELSE a.failure_message END,
        changed_at = now()
    FROM chosen c WHERE a.id = c.id
    RETURNING a.catalog_id, a.directory_id, a.segments_failed - c.segments_failed AS failed
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_failed, segments_failed)
    SELECT catalog_id, directory_id, count(*), sum(failed)
    FROM settled GROUP BY catalog_id, directory_id
)
SELECT count(*) AS assets FROM settled
