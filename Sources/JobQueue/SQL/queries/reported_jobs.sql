-- $1 jobs in the order of their numbers, $2 their leases (pairwise), $3 worker. Those that the named
-- lease of this worker holds, locked with their assets, each in the order of numbers: the fence.
-- Whatever is missing is stale. A number is granted once, so a job that is still there is held by
-- the lease whose span has it, if that lease still stands. Its segment may be younger than this
-- statement's snapshot, when a split came first: it is then unseen.
WITH spans AS MATERIALIZED (
    -- OFFSET 0 keeps the way from the leases that are named, by index, whatever the statistics say.
    SELECT p.lease_id, p.lane_id, p.first_id, p.last_id
    FROM (SELECT DISTINCT lease FROM unnest($2::uuid[]) AS u(lease)) AS named
    CROSS JOIN LATERAL (
        SELECT FROM lease WHERE id = named.lease AND worker_id = $3::uuid OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = named.lease OFFSET 0) AS p
), held AS MATERIALIZED (
    SELECT j.*
    FROM (
        SELECT p.lane_id, r.job
        FROM unnest($1::bigint[], $2::uuid[]) AS r(job, lease)
        JOIN spans p ON p.lease_id = r.lease AND r.job BETWEEN p.first_id AND p.last_id
        ORDER BY r.job OFFSET 0
    ) AS r
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = r.lane_id AND id = r.job FOR UPDATE
    ) AS j
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id = ANY(ARRAY(SELECT asset_id FROM held))
    ORDER BY id FOR NO KEY UPDATE
)
{{heldJobs}}
