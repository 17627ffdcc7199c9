-- $1 lanes and $2 jobs, pairwise. As reported_jobs, for jobs whose lease ran out (the sweep has ended
-- the lease itself).
WITH held AS MATERIALIZED (
    SELECT j.*
    FROM unnest($1::bigint[], $2::bigint[]) AS r(lane, job)
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = r.lane AND id = r.job FOR UPDATE
    ) AS j
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id = ANY(ARRAY(SELECT asset_id FROM held))
    ORDER BY id FOR NO KEY UPDATE
)
{{heldJobs}}
