-- $1 queue, pairwise $2 leases, $3 workers and $4 most jobs, $5 seconds. Claims a batch under each new
-- lease.
SELECT * FROM claim_jobs($1::bigint, $2::uuid[], $3::uuid[], $4::int[], $5::float8)
