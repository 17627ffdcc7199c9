-- $1 catalog, $2 generation, $3 queue. The lanes of what can be refreshed, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT $3::bigint, $1::bigint, origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2 END,
       coalesce(priority, -1)
FROM asset WHERE catalog_id = $1::bigint AND generation = $2::int AND state = 'completed'
ORDER BY 3, 4, 5
ON CONFLICT DO NOTHING
