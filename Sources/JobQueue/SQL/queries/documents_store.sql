-- $1 asset, and pairwise $2 numbers of its segments, $3 what is to lie under their keys, or null for what
-- is served, and $4 the SHA-256 of what was served.
WITH given AS (
    SELECT s.id, g.content, g.served_sha256
    FROM unnest($2::int[], $3::text[], $4::text[]) AS g(ordinal, content, served_sha256)
    JOIN segment s ON s.asset_id = $1::bigint AND s.ordinal = g.ordinal AND s.part = 0
), gone AS (
    DELETE FROM document d USING given g WHERE d.segment_id = g.id AND g.content IS NULL
)
INSERT INTO document (segment_id, content, served_sha256)
SELECT id, content, served_sha256 FROM given WHERE content IS NOT NULL
ON CONFLICT (segment_id) DO UPDATE SET content = excluded.content,
    served_sha256 = excluded.served_sha256
