-- $1 queue, pairwise $2 leases, $3 workers and $4 most jobs, $5 seconds; pairwise $6 places of leases and
-- $7 slow origins, and $8 by lease the most jobs of these. Claims a batch under each new lease.
SELECT * FROM claim_jobs($1::bigint, $2::uuid[], $3::uuid[], $4::int[], $5::float8,
    $6::int[], $7::text[], $8::int[])
