-- $1 asset, a part of whose manifest, read again, is staged. Segments get their fresh URLs by key, and what waits for one
-- is due. Answers how many are, and which segments are listed with the URL that they had.
WITH moved AS MATERIALIZED (
    SELECT g.* FROM staged_segment g
    WHERE NOT EXISTS (
        SELECT FROM segment s
        WHERE s.asset_id = $1::bigint AND s.ordinal = g.ordinal AND s.part = 0 AND s.key = g.key)
), matched AS MATERIALIZED (
    -- With its parts.
    SELECT s.id, s.url <> g.url AS is_fresh, g.url, g.mirrors, g.origin
    FROM staged_segment g
    CROSS JOIN LATERAL (
        SELECT id, url FROM segment
        WHERE asset_id = $1::bigint AND ordinal = g.ordinal AND key = g.key OFFSET 0
    ) AS s
    UNION ALL
    SELECT s.id, s.url <> g.url, g.url, g.mirrors, g.origin
    FROM moved g
    JOIN segment s ON s.asset_id = $1::bigint AND s.ordinal < {{firstSidecar}} AND s.key = g.key
), renewed AS (
    UPDATE segment s SET url = m.url, mirrors = m.mirrors, origin_id = o.id, renewed_at = now()
    FROM matched m JOIN origin o ON o.url = m.origin
    WHERE s.id = m.id
), released AS (
    UPDATE delayed_job d SET available_at = now(), refused_code = NULL, refused_message = NULL,
        origin_id = o.id
    FROM matched m JOIN origin o ON o.url = m.origin
    WHERE m.is_fresh AND d.asset_id = $1::bigint AND d.segment_id = m.id
      AND d.refused_code IS NOT NULL
    RETURNING 1
)
SELECT (SELECT count(*) FROM released) AS released,
       array(SELECT id FROM matched WHERE NOT is_fresh) AS unchanged
