-- $1 lane, $2 jobs, $3 lease, $4 bytes and $5 sha256 of each job. The minimal completion of a
-- batch: deletes the jobs that the lease holds, and inserts the results.
WITH gone AS (
    DELETE FROM job j USING unnest($2::bigint[], $4::bigint[], $5::text[]) AS r(job, bytes, sha256)
    WHERE j.lane_id = $1::bigint AND j.id = r.job
      AND EXISTS (SELECT FROM lease WHERE id = $3::uuid)
    RETURNING j.segment_id, j.attempt, r.bytes, r.sha256
)
INSERT INTO result (segment_id, done, bytes, sha256, attempts)
SELECT segment_id, true, bytes, sha256, attempt + 1 FROM gone
