-- Pairwise $1 lanes and $2 origins, $3 lanes that are locked, $4 jobs that keep a lane fed. Where each leads to, and
-- how many jobs that lane lacks.
SELECT r.lane, r.url, n.id AS target,
       $4::bigint - (SELECT count(*) FROM (
           SELECT FROM job WHERE lane_id = n.id AND id > coalesce(
               (SELECT last_id FROM span WHERE lane_id = n.id ORDER BY last_id DESC LIMIT 1), 0)
           LIMIT $4::bigint) AS j) AS room
FROM unnest($1::bigint[], $2::text[]) AS r(lane, url)
JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
JOIN lane n ON (n.catalog_id, n.origin_id, n.rank, n.own_priority)
    = (l.catalog_id, o.id, l.rank, l.own_priority)
WHERE l.id = ANY($3::bigint[]) AND n.id = ANY($3::bigint[]) AND n.id <> l.id
