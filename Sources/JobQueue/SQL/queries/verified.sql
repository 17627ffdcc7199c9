-- $1 job, $2 segment, $3 bytes, $4 sha256, $5 attempts, $6 lane, $7 compared with what is stated. The whole file is under its final key.
WITH gone AS (
    DELETE FROM job WHERE lane_id = $6::bigint AND id = $1::bigint
), assemblies AS (
    DELETE FROM assembly WHERE segment_id = $2::bigint RETURNING validator
), parts AS (
    DELETE FROM segment WHERE parent_id = $2::bigint RETURNING id
), part_results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
)
INSERT INTO result (segment_id, done, bytes, sha256, attempts, verified, validator)
VALUES ($2::bigint, true, $3::bigint, $4, $5::smallint, $7::bool,
        -- What all its parts were asked for with.
        (SELECT validator FROM assemblies WHERE length(validator) <= {{longestValidator}}))
ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
    sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
    verified = excluded.verified, validator = excluded.validator, attempts = excluded.attempts, recorded_at = excluded.recorded_at
