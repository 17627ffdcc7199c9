-- $1 catalog, $2 generation, $3 queue, $4 priority. The short way for a list of files alone: each
-- that was never started is one segment and one job. With a title among them the general way is
-- taken, which keeps the list's order.
WITH fresh AS MATERIALIZED (
    SELECT id, origin_id, url, key, expected_bytes, expected_sha256 FROM asset
    WHERE catalog_id = $1 AND generation = $2 AND state = 'new' AND kind = 'file'
      AND NOT EXISTS (SELECT FROM asset WHERE catalog_id = $1 AND generation = $2
                      AND state = 'new' AND kind <> 'file')
), segments AS (
    INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                         expected_sha256)
    SELECT id, origin_id, 0, 'file', url, key, expected_bytes, expected_sha256
    FROM fresh ORDER BY id
    RETURNING id, asset_id, origin_id
), jobs AS (
    INSERT INTO job (queue_id, catalog_id, origin_id, asset_id, segment_id, kind, priority)
    SELECT $3::bigint, $1::bigint, origin_id, asset_id, id, 'fetch', $4::smallint
    FROM segments ORDER BY asset_id
)
UPDATE asset a SET state = 'ready', resolved = true, segments = 1, changed_at = now()
FROM fresh WHERE a.id = fresh.id
