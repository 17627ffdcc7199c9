-- $1 asset. A segment that is listed as before keeps its result.
WITH merged AS (
    INSERT INTO segment AS s (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                              expected_sha256, mirrors)
    SELECT $1::bigint, o.id, g.ordinal, g.role, g.url, g.key, g.expected_bytes, g.expected_sha256,
           g.mirrors
    FROM staged_segment g JOIN origin o ON o.url = g.origin
    ORDER BY g.ordinal
    ON CONFLICT (asset_id, ordinal, part) DO UPDATE SET
        origin_id = excluded.origin_id, role = excluded.role, url = excluded.url,
        key = excluded.key, expected_bytes = excluded.expected_bytes,
        expected_sha256 = excluded.expected_sha256, known_bytes = NULL, known_sha256 = NULL,
        known_verified = NULL, known_validator = NULL
    WHERE (s.url, s.key, s.role, s.expected_sha256)
          IS DISTINCT FROM (excluded.url, excluded.key, excluded.role, excluded.expected_sha256)
    RETURNING s.id
)
DELETE FROM result USING merged WHERE result.segment_id = merged.id
