-- $1 catalog, $2 generation. What others of its site have stored as files: in each directory with files that are
-- started for the first time the last four that have it, of each as many as are looked through soon enough.
-- OFFSET 0 keeps the order of the steps.
INSERT INTO told_file (key, url, expected_digests, bytes, sha256, verified, validator, stored_at)
SELECT t.key, t.url, t.expected_digests, r.bytes, r.sha256, r.verified, r.validator, r.recorded_at
FROM directory d
CROSS JOIN LATERAL (
    SELECT id FROM directory e
    WHERE e.site_id = d.site_id AND e.path = d.path AND e.catalog_id <> d.catalog_id
    ORDER BY id DESC LIMIT 4
) AS o
CROSS JOIN LATERAL (
    SELECT id FROM asset WHERE directory_id = o.id AND kind = 'file' LIMIT 100000
) AS b
CROSS JOIN LATERAL (SELECT * FROM segment WHERE asset_id = b.id AND part = 0 OFFSET 0) AS t
CROSS JOIN LATERAL (
    -- The origin is asked whether it is still that.
    SELECT * FROM result WHERE segment_id = t.id AND done AND validator IS NOT NULL OFFSET 0
) AS r
WHERE d.catalog_id = $1::bigint
  AND EXISTS (
      SELECT FROM asset WHERE directory_id = d.id AND generation = $2::int AND kind = 'file'
        AND (state = 'new' OR state = 'ready' AND changed_at = now()))
