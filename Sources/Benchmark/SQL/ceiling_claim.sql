-- $1 queue, $2 most jobs, $3 lease. The least that claiming a batch can be: their numbers.
WITH picked AS MATERIALIZED (
    SELECT id FROM job
    WHERE queue_id = $1::bigint AND lease_id IS NULL AND available_at <= now()
    ORDER BY priority DESC, available_at, id
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
)
UPDATE job SET lease_id = $3::uuid, attempt = attempt + 1
FROM picked WHERE job.id = picked.id
RETURNING job.id
