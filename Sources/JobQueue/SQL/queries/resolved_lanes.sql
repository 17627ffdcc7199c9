-- $1 lane of the resolve job, $2 asset, $3 origins of its segments. Their lanes, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT l.queue_id, l.catalog_id, o.id, 3, coalesce(a.priority, -1)
FROM lane l, asset a, unnest($3::bigint[]) AS o(id)
WHERE l.id = $1::bigint AND a.id = $2::bigint
ORDER BY o.id
ON CONFLICT DO NOTHING
