-- $1 site, $2 directory, $3 and $4 asset and ordinal of the last row before the page, $5 most rows.
-- What the whole assets of a directory consist of, over all catalogs of the site. The assets come first, in order, so
-- that a page reads of no more of them than it shows, however many catalogs have the directory.
SELECT p.key, p.sha256, p.recorded_seconds, b.id, p.ordinal
FROM (
    SELECT a.id
    FROM directory d
    CROSS JOIN LATERAL (
        SELECT id FROM asset
        WHERE directory_id = d.id AND state IN ('completed', 'refreshing', 'switching') AND id >= $3::bigint
        ORDER BY id LIMIT $5::int + 1
    ) AS a
    WHERE d.site_id = $1::bigint AND d.path = $2
    -- One is not new, where the page before ended within it.
    ORDER BY a.id LIMIT $5::int + 1
) AS b
CROSS JOIN LATERAL (
    SELECT s.key, r.sha256, extract(epoch FROM r.recorded_at)::float8 AS recorded_seconds, s.ordinal
    FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
    WHERE s.asset_id = b.id AND s.part = 0 AND (b.id > $3::bigint OR s.ordinal > $4::int)
    ORDER BY s.ordinal LIMIT $5::int
) AS p
ORDER BY b.id, p.ordinal LIMIT $5::int
