-- $1 leases. Jobs that were cancelled while they held them.
SELECT job_id FROM cancelled_job WHERE lease_id = ANY($1::uuid[]) ORDER BY job_id LIMIT 10000
