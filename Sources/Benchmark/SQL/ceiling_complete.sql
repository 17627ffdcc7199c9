-- $1 jobs, $2 lease, $3 bytes, $4 sha256. The least that completing a batch can be: jobs out, under
-- the lease that holds them, and results in.
WITH gone AS (
    DELETE FROM job WHERE id = ANY($1::bigint[]) AND lease_id = $2::uuid
    RETURNING segment_id, attempt
)
INSERT INTO result (segment_id, done, bytes, sha256, attempts)
SELECT segment_id, true, $3::bigint, $4, attempt FROM gone
