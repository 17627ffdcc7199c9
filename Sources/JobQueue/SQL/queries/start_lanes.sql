-- $1 catalog, $2 generation, $3 queue. The lanes that the start may need, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT $3::bigint, $1::bigint, n.origin_id, n.rank, n.own_priority
FROM (
    SELECT origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2 END AS rank,
           coalesce(priority, -1) AS own_priority
    FROM asset WHERE catalog_id = $1 AND generation = $2
      AND state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
    UNION
    SELECT s.origin_id, 3, coalesce(a.priority, -1)
    FROM asset a JOIN segment s ON s.asset_id = a.id
    WHERE a.catalog_id = $1 AND a.generation = $2 AND a.kind <> 'file'
      AND a.state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
    UNION
    SELECT o.id, 3, coalesce(a.priority, -1)
    FROM asset a, jsonb_to_recordset(a.sidecars) AS s(origin text) JOIN origin o ON o.url = s.origin
    WHERE a.catalog_id = $1 AND a.generation = $2 AND a.sidecars IS NOT NULL
      AND a.state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
    UNION
    SELECT 0, 0, coalesce(a.priority, -1)
    FROM asset a JOIN segment s ON s.asset_id = a.id JOIN assembly y ON y.segment_id = s.id
    WHERE a.catalog_id = $1 AND a.generation = $2
) AS n
ORDER BY 3, 4, 5
ON CONFLICT DO NOTHING
