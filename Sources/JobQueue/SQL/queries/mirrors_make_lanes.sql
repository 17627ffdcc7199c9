-- Pairwise $1 lanes and $2 origins. For each a lane like it of that origin, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT l.queue_id, l.catalog_id, o.id, l.rank, l.own_priority
FROM unnest($1::bigint[], $2::text[]) AS r(lane, url)
JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
WHERE NOT EXISTS (SELECT FROM lane n WHERE (n.catalog_id, n.origin_id, n.rank, n.own_priority)
                  = (l.catalog_id, o.id, l.rank, l.own_priority))
ORDER BY 2, 3, 4, 5
ON CONFLICT DO NOTHING
