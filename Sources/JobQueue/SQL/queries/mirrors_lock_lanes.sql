-- Pairwise $1 lanes and $2 origins. Locks the lanes and those like them of these origins, as far as nobody else
-- has: whoever has is not waited for.
SELECT id FROM lane
WHERE id = ANY($1::bigint[] || ARRAY(
    SELECT n.id FROM unnest($1::bigint[], $2::text[]) AS r(lane, url)
    JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
    JOIN lane n ON (n.catalog_id, n.origin_id, n.rank, n.own_priority)
        = (l.catalog_id, o.id, l.rank, l.own_priority)))
ORDER BY id FOR UPDATE SKIP LOCKED
