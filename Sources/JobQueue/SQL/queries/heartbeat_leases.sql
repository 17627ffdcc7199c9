-- $1 worker, $2 leases, $3 seconds. One row a lease; a lease that is gone is not in the answer.
UPDATE lease SET expires_at = now() + make_interval(secs => $3::float8)
WHERE id = ANY($2::uuid[]) AND worker_id = $1::uuid
RETURNING id
