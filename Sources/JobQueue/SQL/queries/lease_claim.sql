-- $1 queue, $2 lease, $3 worker, $4 seconds, $5 most jobs. Claims a batch under a new lease.
SELECT * FROM claim_jobs($1::bigint, $2::uuid, $3::uuid, $4::float8, $5::int)
