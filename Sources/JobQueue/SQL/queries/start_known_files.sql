-- $1 catalog, $2 generation. Files that are started for the first time: what other catalogs of the site, the last
-- four that have the directory, have stored under their keys from their URLs is noted with their segments. The jobs
-- look whether it is there.
WITH others AS MATERIALIZED (
    SELECT d.id AS directory_id, o.id AS other_id
    FROM directory d
    CROSS JOIN LATERAL (
        SELECT id FROM directory e
        WHERE e.site_id = d.site_id AND e.path = d.path AND e.catalog_id <> d.catalog_id
        ORDER BY id DESC LIMIT 4
    ) AS o
    WHERE d.catalog_id = $1::bigint
), known AS (
    SELECT DISTINCT ON (s.id) s.id, r.bytes, r.sha256, r.verified, r.validator
    FROM others o
    JOIN asset a ON a.directory_id = o.directory_id
    JOIN asset b ON b.directory_id = o.other_id AND b.key = a.key AND b.url = a.url
    JOIN segment s ON s.asset_id = a.id
    JOIN segment t ON t.asset_id = b.id AND t.key = s.key AND t.url = s.url
    JOIN result r ON r.segment_id = t.id AND r.done
    WHERE a.generation = $2::int AND a.kind = 'file' AND b.kind = 'file'
      -- Those without sidecars have their jobs by now.
      AND (a.state = 'new' OR a.state = 'ready' AND a.changed_at = now())
      AND s.part = 0 AND t.part = 0
      -- What is to be compared now was compared then.
      AND (s.expected_bytes IS NULL OR s.expected_bytes = r.bytes)
      AND (s.expected_sha256 IS NULL OR s.expected_sha256 = r.sha256)
      AND (s.expected_digests IS NULL OR s.expected_digests = t.expected_digests)
    ORDER BY s.id, r.recorded_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id
