-- $1 site, $2 directory, $3, $4 and $5 directory row, asset and ordinal of the last row before the page, $6 most rows.
-- What the whole assets of a directory consist of, catalog by catalog. The assets come first, in order, so that a page
-- reads of no more of them than it shows, however many catalogs have the directory.
SELECT p.key, p.sha256, p.recorded_seconds, b.directory, b.id, p.ordinal
FROM (
    SELECT d.id AS directory, a.id
    FROM (
        SELECT id FROM directory WHERE site_id = $1::bigint AND path = $2 AND id >= $3::bigint
        ORDER BY id OFFSET 0
    ) AS d
    CROSS JOIN LATERAL (
        -- Bounds of both columns, and not one directory: the planner could look for that along all assets' numbers.
        SELECT id FROM asset
        WHERE (directory_id, id) >= (d.id, CASE WHEN d.id = $3::bigint THEN $4::bigint ELSE 0 END)
          AND directory_id <= d.id AND state IN ('completed', 'refreshing', 'switching')
        ORDER BY directory_id, id LIMIT $6::int + 1
    ) AS a
    -- One is not new, where the page before ended within it.
    ORDER BY d.id, a.id LIMIT $6::int + 1
) AS b
CROSS JOIN LATERAL (
    SELECT s.key, r.sha256, extract(epoch FROM r.recorded_at)::float8 AS recorded_seconds, s.ordinal
    FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
    WHERE s.asset_id = b.id AND s.part = 0 AND (b.id > $4::bigint OR b.directory > $3::bigint OR s.ordinal > $5::int)
    ORDER BY s.ordinal LIMIT $6::int
) AS p
ORDER BY b.directory, b.id, p.ordinal LIMIT $6::int
