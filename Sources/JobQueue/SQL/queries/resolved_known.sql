-- $1 asset, a title all of whose segments are there and none of which was ever reported, $2 itself and other
-- titles that may tell of its files. Notes with each segment what was stored under its key from its URL. Of another
-- title, or another choice of tracks, only where the manifests that both have are the same: media may be packaged
-- anew under the same URLs. What was put aside of a title that is another one by now is forgotten.
WITH listed AS MATERIALIZED (
    SELECT s.id, s.key, s.url, s.expected_bytes, s.expected_sha256, s.expected_digests,
           {{manifestServed}} AS manifest_sha256
    FROM segment s LEFT JOIN document d ON d.segment_id = s.id AND s.role = 'playlist'
    WHERE s.asset_id = $1::bigint AND s.part = 0
), told AS MATERIALIZED (
    SELECT s.asset_id AS source, s.key, s.url, s.expected_digests,
           {{manifestServed}} AS manifest_sha256,
           r.bytes, r.sha256, r.verified, r.validator, r.recorded_at AS stored_at
    FROM segment s
    LEFT JOIN result r ON r.segment_id = s.id AND r.done
    LEFT JOIN document d ON d.segment_id = s.id AND s.role = 'playlist'
    WHERE s.asset_id = ANY($2::bigint[]) AND s.asset_id <> $1::bigint AND s.part = 0
    UNION ALL
    SELECT asset_id, key, url, expected_digests, manifest_sha256, bytes, sha256, verified, validator,
           stored_at
    FROM former_file WHERE asset_id = ANY($2::bigint[])
), sources AS MATERIALIZED (
    SELECT t.source, bool_and(coalesce(t.manifest_sha256 = n.manifest_sha256, false)) AS is_same
    FROM told t JOIN listed n ON n.key = t.key AND n.url = t.url
    WHERE n.manifest_sha256 IS NOT NULL
    GROUP BY t.source
), gone AS (
    DELETE FROM former_file f USING sources o
    WHERE f.asset_id = $1::bigint AND o.source = $1::bigint AND NOT o.is_same
), known AS (
    SELECT DISTINCT ON (n.id) n.id, t.bytes, t.sha256, t.verified, t.validator
    FROM listed n
    JOIN told t ON t.key = n.key AND t.url = n.url
    JOIN sources o ON o.source = t.source AND o.is_same
    WHERE t.sha256 IS NOT NULL
      -- What is to be compared now was compared then.
      AND (n.expected_bytes IS NULL OR n.expected_bytes = t.bytes)
      AND (n.expected_sha256 IS NULL OR n.expected_sha256 = t.sha256)
      AND (n.expected_digests IS NULL OR n.expected_digests = t.expected_digests)
    ORDER BY n.id, t.stored_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id
