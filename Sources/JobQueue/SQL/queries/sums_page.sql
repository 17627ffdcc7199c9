-- $1 site, $2 directory, $3 and $4 asset and ordinal of the last row before the page, $5 most rows.
-- What the whole assets of a directory consist of, over all catalogs of the site.
SELECT p.key, p.sha256, p.recorded_seconds, p.id, p.ordinal
FROM directory d
CROSS JOIN LATERAL (
    SELECT s.key, r.sha256, extract(epoch FROM r.recorded_at)::float8 AS recorded_seconds, a.id,
           s.ordinal
    FROM asset a
    JOIN segment s ON s.asset_id = a.id AND s.part = 0
    JOIN result r ON r.segment_id = s.id AND r.done
    WHERE a.directory_id = d.id AND a.state IN ('completed', 'refreshing', 'switching') AND a.id >= $3::bigint
      AND (a.id, s.ordinal) > ($3::bigint, $4::int)
    ORDER BY a.id, s.ordinal LIMIT $5::int
) AS p
WHERE d.site_id = $1::bigint AND d.path = $2
ORDER BY p.id, p.ordinal LIMIT $5::int
