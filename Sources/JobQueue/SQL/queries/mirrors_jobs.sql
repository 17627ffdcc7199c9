-- Pairwise $1 lanes and $2 jobs of theirs, $3 most jobs a lane. The jobs after those that nobody holds, in order,
-- with the schemes and hosts that they can be had from, a line each: their own URL's first; null for those
-- without mirrors.
SELECT r.lane, j.id, CASE WHEN x.urls IS NOT NULL THEN array_to_string(ARRAY(
           SELECT substring(u.url FROM '^[^/]*//[^/?#]*')
           FROM unnest(s.url || string_to_array(x.urls, E'\n')) WITH ORDINALITY AS u(url, place)
           ORDER BY u.place), E'\n') END AS origins
FROM unnest($1::bigint[], $2::bigint[]) AS r(lane, after)
CROSS JOIN LATERAL (
    SELECT c.has_mirrors FROM lane l JOIN catalog c ON c.id = l.catalog_id WHERE l.id = r.lane OFFSET 0
) AS c
CROSS JOIN LATERAL (
    SELECT id, asset_id, segment_id, kind = 'fetch' AND whole_id IS NULL AS is_whole FROM job
    WHERE lane_id = r.lane AND id > greatest(r.after, coalesce(
        (SELECT last_id FROM span WHERE lane_id = r.lane ORDER BY last_id DESC LIMIT 1), 0))
    ORDER BY id LIMIT $3::int
) AS j
LEFT JOIN LATERAL (
    SELECT url, ordinal, mirrors FROM segment WHERE j.is_whole AND id = j.segment_id OFFSET 0
) AS s ON true
LEFT JOIN LATERAL (
    -- Those of an asset are its file's, and not its sidecars'.
    SELECT array_to_string(urls, E'\n') AS urls FROM mirror
    WHERE c.has_mirrors AND s.ordinal = 0 AND asset_id = j.asset_id OFFSET 0
) AS m ON true
CROSS JOIN LATERAL (SELECT coalesce(m.urls, s.mirrors) AS urls) AS x
ORDER BY r.lane, j.id
