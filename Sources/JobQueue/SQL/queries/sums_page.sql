-- $1 site, $2 directory, $3 last key of the page before, $4 most rows. What the completed assets of
-- a directory consist of, over all catalogs of the site.
SELECT DISTINCT ON (s.key COLLATE "C") s.key, r.sha256
FROM directory d
JOIN asset a ON a.directory_id = d.id AND a.state = 'completed'
JOIN segment s ON s.asset_id = a.id AND s.part = 0
JOIN result r ON r.segment_id = s.id AND r.done
WHERE d.site_id = $1::bigint AND d.path = $2 AND s.key COLLATE "C" > $3
ORDER BY s.key COLLATE "C", r.recorded_at DESC LIMIT $4::int
