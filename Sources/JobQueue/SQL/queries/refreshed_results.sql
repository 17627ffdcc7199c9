-- $1 asset, $2 the try of its job. What is at the edge by now becomes what is known.
WITH files AS MATERIALIZED (
    SELECT s.id, f.*
    FROM refreshed_file f
    JOIN segment s ON s.asset_id = f.asset_id AND s.ordinal = f.ordinal AND s.part = 0
    WHERE f.asset_id = $1::bigint
), documents AS (
    DELETE FROM document d USING files f WHERE d.segment_id = f.id AND f.content IS NULL
), written AS (
    INSERT INTO document (segment_id, content, served_sha256)
    SELECT id, content, served_sha256 FROM files WHERE content IS NOT NULL
    ON CONFLICT (segment_id) DO UPDATE SET content = excluded.content,
        served_sha256 = excluded.served_sha256
)
INSERT INTO result AS r (segment_id, done, bytes, sha256, attempts, verified, validator)
SELECT id, true, bytes, sha256, $2::smallint, verified, validator FROM files ORDER BY id
ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
    sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
    verified = excluded.verified, validator = excluded.validator, attempts = excluded.attempts,
    recorded_at = CASE WHEN r.sha256 = excluded.sha256 THEN r.recorded_at ELSE now() END
WHERE (r.done, r.bytes, r.sha256, r.verified, r.validator) IS DISTINCT FROM
      (true, excluded.bytes, excluded.sha256, excluded.verified, excluded.validator)
