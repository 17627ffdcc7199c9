-- The lines of SHA256SUMS.

-- name: checksum_page
-- A page of the segments of whole assets in a directory of the site, catalog by catalog. The assets
-- come first, in order, so that a page reads of no more of them than it shows, however many
-- catalogs have the directory.
CREATE OR REPLACE FUNCTION checksum_page(
    of_site bigint, of_path text, after_directory bigint, after_asset bigint, after_ordinal int,
    max_rows int)
RETURNS TABLE (key text, sha256 text, recorded_seconds float8, directory bigint, id bigint,
               ordinal int)
LANGUAGE plpgsql STABLE {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT p.key, p.sha256, p.recorded_seconds, b.directory, b.id, p.ordinal
    FROM (
        SELECT d.id AS directory, a.id
        FROM (
            SELECT id FROM directory
            WHERE site_id = of_site AND path = of_path AND id >= after_directory
            ORDER BY id
        ) AS d
        CROSS JOIN LATERAL (
            -- Bounds of both columns, and not one directory: the planner could look for that along
            -- all assets' numbers.
            SELECT id FROM asset
            WHERE (directory_id, id) >= (d.id, CASE WHEN d.id = after_directory
                                         THEN after_asset ELSE 0 END)
              AND directory_id <= d.id AND state IN ({{assetWhole}})
            ORDER BY directory_id, id LIMIT max_rows + 1
        ) AS a
        -- One is not new, where the page before ended within it.
        ORDER BY d.id, a.id LIMIT max_rows + 1
    ) AS b
    CROSS JOIN LATERAL (
        SELECT s.key, r.sha256, extract(epoch FROM r.recorded_at)::float8 AS recorded_seconds,
               s.ordinal
        FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
        WHERE s.asset_id = b.id AND s.part = 0
          AND (b.id > after_asset OR b.directory > after_directory OR s.ordinal > after_ordinal)
        ORDER BY s.ordinal LIMIT max_rows
    ) AS p
    ORDER BY b.directory, b.id, p.ordinal LIMIT max_rows;
END $$
