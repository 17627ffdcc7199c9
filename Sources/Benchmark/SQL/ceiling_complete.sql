-- $1 lane, $2 jobs, $3 lease, $4 bytes, $5 sha256. The least that completing a batch can be: jobs out,
-- under the lease that holds them, and results in.
WITH gone AS (
    DELETE FROM job
    WHERE lane_id = $1::bigint AND id = ANY($2::bigint[])
      AND EXISTS (SELECT FROM lease WHERE id = $3::uuid)
    RETURNING segment_id, attempt
)
INSERT INTO result (segment_id, done, bytes, sha256, attempts)
SELECT segment_id, true, $4::bigint, $5, attempt + 1 FROM gone
