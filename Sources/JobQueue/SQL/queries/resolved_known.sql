-- $1 asset, a title all of whose segments are there and none of which was ever reported; what others and itself have
-- stored is staged. Notes with each segment what was stored under its key from its URL. Of another title, or another
-- choice of tracks, only where the manifests that both have are the same: media may be packaged anew under the same
-- URLs. What was put aside of a title that is another one by now is forgotten.
WITH listed AS MATERIALIZED (
    SELECT s.id, s.key, s.url, s.expected_bytes, s.expected_sha256, s.expected_digests,
           {{manifestServed}} AS manifest_sha256
    FROM segment s LEFT JOIN document d ON d.segment_id = s.id AND s.role = 'playlist'
    WHERE s.asset_id = $1::bigint AND s.part = 0
), sources AS MATERIALIZED (
    SELECT t.source, bool_and(coalesce(t.manifest_sha256 = n.manifest_sha256, false)) AS is_same
    FROM listed n
    JOIN told_file t ON hashtextextended(t.key, 0) = hashtextextended(n.key, 0) AND t.key = n.key
        AND t.url = n.url
    WHERE n.manifest_sha256 IS NOT NULL
    GROUP BY t.source
), gone AS (
    DELETE FROM former_file f
    WHERE f.asset_id = $1::bigint
      AND NOT EXISTS (SELECT FROM sources o WHERE o.source = $1::bigint AND o.is_same)
), known AS MATERIALIZED (
    SELECT DISTINCT ON (n.id) n.id, t.bytes, t.sha256, t.verified, t.validator
    FROM listed n
    JOIN told_file t ON hashtextextended(t.key, 0) = hashtextextended(n.key, 0) AND t.key = n.key
        AND t.url = n.url
    JOIN sources o ON o.source = t.source AND o.is_same
    -- The origin is asked whether it is still that.
    WHERE t.validator IS NOT NULL
      -- What is to be compared now was compared then.
      AND (n.expected_bytes IS NULL OR n.expected_bytes = t.bytes)
      AND (n.expected_sha256 IS NULL OR n.expected_sha256 = t.sha256)
      AND (n.expected_digests IS NULL OR n.expected_digests = t.expected_digests)
    ORDER BY n.id, t.stored_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id
