-- $1 assets, $2 code, $3 message. Those still under way are cancelled: what they lack counts as failed. Of one
-- that is refreshed, the refresh has failed.
WITH chosen AS MATERIALIZED (
    SELECT id, segments_failed, state = 'refreshing' AS is_whole FROM asset
    WHERE id IN (SELECT unnest($1::bigint[])) AND state IN ({{assetStarted}})
    ORDER BY id FOR UPDATE
), settled AS (
    UPDATE asset a SET
        state = CASE WHEN c.is_whole THEN 'completed' ELSE 'cancelled' END,
        refreshed = CASE WHEN c.is_whole THEN 'failed' ELSE a.refreshed END, segments_failed = a.segments - a.segments_done,
        verifies_failed = a.verifies - a.verifies_done,
        failure_code = coalesce(a.failure_code, $2),
        failure_message = CASE WHEN a.failure_code IS NULL THEN $3 ELSE a.failure_message END,
        changed_at = now()
    FROM chosen c WHERE a.id = c.id
    RETURNING a.catalog_id, a.directory_id, a.state,
              a.segments_failed - c.segments_failed AS failed
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_cancelled, segments_failed)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'cancelled'), sum(failed)
    FROM settled GROUP BY catalog_id, directory_id
)
SELECT count(*) AS assets FROM settled
