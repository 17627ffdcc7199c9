-- $1 catalog, $2 generation; what others have stored as files is staged. Notes with the segments of files that are
-- started for the first time what was stored under their keys from their URLs; the jobs look whether it is there.
WITH known AS MATERIALIZED (
    SELECT DISTINCT ON (s.id) s.id, t.bytes, t.sha256, t.verified, t.validator
    FROM directory d
    -- OFFSET 0 keeps the order of the steps.
    CROSS JOIN LATERAL (
        SELECT id FROM asset
        WHERE directory_id = d.id AND generation = $2::int AND kind = 'file'
          -- Those without sidecars have their jobs by now.
          AND (state = 'new' OR state = 'ready' AND changed_at = now())
        OFFSET 0
    ) AS a
    CROSS JOIN LATERAL (SELECT * FROM segment WHERE asset_id = a.id AND part = 0 OFFSET 0) AS s
    CROSS JOIN LATERAL (
        SELECT * FROM told_file
        WHERE hashtextextended(key, 0) = hashtextextended(s.key, 0) AND key = s.key
          AND url = s.url
          -- What is to be compared now was compared then.
          AND (s.expected_bytes IS NULL OR s.expected_bytes = bytes)
          AND (s.expected_sha256 IS NULL OR s.expected_sha256 = sha256)
          AND (s.expected_digests IS NULL OR s.expected_digests = expected_digests)
        OFFSET 0
    ) AS t
    WHERE d.catalog_id = $1::bigint AND EXISTS (SELECT FROM told_file)
    ORDER BY s.id, t.stored_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id
