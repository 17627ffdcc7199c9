-- $1 job, $2 segment, $3 code, $4 message, $5 attempts, $6 lane.
WITH gone AS (
    DELETE FROM job WHERE lane_id = $6::bigint AND id = $1::bigint
)
INSERT INTO result (segment_id, done, failure_code, failure_message, attempts)
VALUES ($2::bigint, false, $3, $4, $5::smallint)
ON CONFLICT (segment_id) DO UPDATE SET done = false, bytes = NULL, sha256 = NULL,
    failure_code = excluded.failure_code, failure_message = excluded.failure_message,
    attempts = excluded.attempts, recorded_at = excluded.recorded_at
