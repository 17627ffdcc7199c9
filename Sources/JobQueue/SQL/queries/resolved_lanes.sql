-- $1 lane of the resolve job, $2 asset. The lanes of its segments, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT l.queue_id, l.catalog_id, o.origin_id, 3, coalesce(a.priority, -1)
FROM lane l, asset a, (SELECT DISTINCT origin_id FROM segment WHERE asset_id = $2::bigint) AS o
WHERE l.id = $1::bigint AND a.id = $2::bigint
ORDER BY o.origin_id
ON CONFLICT DO NOTHING
