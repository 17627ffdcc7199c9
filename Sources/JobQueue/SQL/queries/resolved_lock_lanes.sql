-- $1 lane of the resolve job, $2 asset, $3 origins of its segments. Locks their lanes, before numbers
-- are drawn.
SELECT n.id FROM lane l
JOIN asset a ON a.id = $2::bigint
JOIN lane n ON n.catalog_id = l.catalog_id AND n.rank = 3
    AND n.own_priority = coalesce(a.priority, -1)
WHERE l.id = $1::bigint AND n.origin_id = ANY($3::bigint[])
ORDER BY n.id FOR UPDATE OF n
