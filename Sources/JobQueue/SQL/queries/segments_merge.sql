-- $1 asset. A segment that is listed as before keeps its result; another signature or token makes no other one.
WITH changed AS MATERIALIZED (
    SELECT s.id
    FROM staged_segment g
    CROSS JOIN LATERAL (
        SELECT id, url, key, role, expected_sha256 FROM segment
        WHERE asset_id = $1::bigint AND ordinal = g.ordinal AND part = 0 OFFSET 0
    ) AS s
    WHERE (s.key, s.role, s.expected_sha256) IS DISTINCT FROM (g.key, g.role, g.expected_sha256)
       OR CASE WHEN s.url = g.url THEN false ELSE {{titleOfS}} <> {{titleOfG}} END
), merged AS (
    INSERT INTO segment AS s (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                              expected_sha256, mirrors)
    SELECT $1::bigint, o.id, g.ordinal, g.role, g.url, g.key, g.expected_bytes, g.expected_sha256,
           g.mirrors
    FROM staged_segment g JOIN origin o ON o.url = g.origin
    ORDER BY g.ordinal
    ON CONFLICT (asset_id, ordinal, part) DO UPDATE SET
        origin_id = excluded.origin_id, role = excluded.role, url = excluded.url,
        key = excluded.key, expected_bytes = excluded.expected_bytes,
        expected_sha256 = excluded.expected_sha256, renewed_at = NULL, known_bytes = NULL,
        known_sha256 = NULL, known_verified = NULL, known_validator = NULL
    WHERE (s.url, s.key, s.role, s.expected_sha256)
          IS DISTINCT FROM (excluded.url, excluded.key, excluded.role, excluded.expected_sha256)
)
DELETE FROM result USING changed WHERE result.segment_id = changed.id
