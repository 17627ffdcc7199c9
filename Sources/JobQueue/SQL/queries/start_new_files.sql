-- $1 catalog, $2 generation. The short way for files that were never started and have no sidecars: each
-- is one segment and one job.
WITH fresh AS MATERIALIZED (
    SELECT id, origin_id, url, key, expected_bytes, expected_sha256, expected_digests,
           coalesce(priority, -1) AS own_priority
    FROM asset
    WHERE catalog_id = $1 AND generation = $2 AND state = 'new' AND kind = 'file'
      AND sidecars IS NULL
), segments AS (
    INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                         expected_sha256, expected_digests)
    SELECT id, origin_id, 0, 'file', url, key, expected_bytes, expected_sha256, expected_digests
    FROM fresh ORDER BY id
    RETURNING id, asset_id, origin_id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, kind, attempt)
    SELECT l.id, g.asset_id, g.id, 'fetch', 0
    FROM segments g
    JOIN fresh f ON f.id = g.asset_id
    JOIN lane l ON l.catalog_id = $1 AND l.origin_id = g.origin_id AND l.rank = 3
        AND l.own_priority = f.own_priority
    ORDER BY g.asset_id
)
UPDATE asset a SET state = 'ready', resolved = true, segments = 1, retries = 0,
    changed_at = now()
FROM fresh WHERE a.id = fresh.id
