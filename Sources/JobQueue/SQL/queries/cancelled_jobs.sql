-- $1 leases, $2 their worker. Jobs that were cancelled while they held them.
SELECT x.job_id FROM lease l JOIN cancelled_job x ON x.lease_id = l.id
WHERE l.id = ANY($1::uuid[]) AND l.worker_id = $2::uuid
ORDER BY x.job_id LIMIT 10000
