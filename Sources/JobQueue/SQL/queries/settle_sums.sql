-- $1 lanes and $2 jobs, pairwise, $3 failed (0 or 1). Directories whose SHA256SUMS is written, or was
-- given up.
WITH gone AS (
    DELETE FROM job j
    USING unnest($1::bigint[], $2::bigint[], $3::int[]) AS r(lane, job, failed)
    WHERE j.lane_id = r.lane AND j.id = r.job
    RETURNING j.lane_id, r.failed
)
INSERT INTO tally (catalog_id, sums_ended, sums_failed)
SELECT l.catalog_id, count(*), sum(g.failed)
FROM gone g JOIN lane l ON l.id = g.lane_id GROUP BY l.catalog_id
