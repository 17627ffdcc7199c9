-- $1 catalog, whose lanes are locked, $2 generation, $3 these assets only, null for all. A job for each that is
-- completed; what earlier refreshes came to is forgotten.
WITH wanted AS MATERIALIZED (
    SELECT id, origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2 END AS rank,
           coalesce(priority, -1) AS own_priority
    FROM asset
    WHERE catalog_id = $1::bigint AND generation = $2::int AND state = 'completed'
      AND NOT redefined AND NOT sidecars_changed
      AND ($3::bigint[] IS NULL OR id IN (SELECT unnest($3::bigint[])))
), files AS (
    DELETE FROM refreshed_file f USING wanted w WHERE f.asset_id = w.id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, kind, attempt)
    SELECT l.id, w.id, 'refresh', 0
    FROM wanted w
    JOIN lane l ON l.catalog_id = $1::bigint AND l.origin_id = w.origin_id AND l.rank = w.rank
        AND l.own_priority = w.own_priority
    ORDER BY w.id
    RETURNING asset_id
), started AS (
    UPDATE asset a SET
        state = CASE WHEN w.id IS NULL THEN a.state ELSE 'refreshing' END,
        refreshed = NULL, retries = CASE WHEN w.id IS NULL THEN a.retries ELSE 0 END,
        -- Of one that has failed it says why; of one whose refresh has, it is history.
        failure_code = CASE WHEN a.state <> 'completed' THEN a.failure_code END,
        failure_message = CASE WHEN a.state <> 'completed' THEN a.failure_message END,
        changed_at = CASE WHEN w.id IS NULL THEN a.changed_at ELSE now() END
    FROM asset b LEFT JOIN wanted w ON w.id = b.id
    WHERE a.id = b.id AND b.catalog_id = $1::bigint AND b.generation = $2::int
      AND (w.id IS NOT NULL OR b.refreshed IS NOT NULL)
)
SELECT count(*) AS assets, count(*) AS jobs FROM jobs
