-- $1 catalog, $2 asset and $3 ordinal of the last row before the page, $4 most rows.
SELECT s.asset_id, s.ordinal, s.key, s.url, r.bytes, r.sha256, r.verified,
       extract(epoch FROM r.recorded_at - c.started_at)::float8 AS after_seconds
FROM asset a
JOIN catalog c ON c.id = a.catalog_id
JOIN segment s ON s.asset_id = a.id AND s.part = 0
JOIN result r ON r.segment_id = s.id AND r.done
WHERE a.catalog_id = $1::bigint AND a.generation >= c.generation
  AND (s.asset_id, s.ordinal) > ($2::bigint, $3::int) AND a.id >= $2::bigint
ORDER BY s.asset_id, s.ordinal LIMIT $4::int
