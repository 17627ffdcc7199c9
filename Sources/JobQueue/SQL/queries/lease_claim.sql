-- $1 queue, $2 most jobs, $3 lease, $4 worker, $5 seconds. Claims a batch under a new lease, and
-- answers with what its jobs need to be done, in the order they were queued.
-- Ids are picked in a materialized CTE first: a LIMIT above a locking join locks too much.
WITH cooling AS MATERIALIZED (
    SELECT coalesce(array_agg(id), '{}') AS ids FROM origin WHERE cooldown_until > now()
), picked AS MATERIALIZED (
    SELECT id FROM job
    WHERE queue_id = $1::bigint AND lease_id IS NULL AND available_at <= now()
      AND (origin_id IS NULL OR origin_id <> ALL((SELECT ids FROM cooling)::bigint[]))
    ORDER BY priority DESC, available_at, id
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED
), granted AS (
    INSERT INTO lease (id, worker_id, expires_at)
    SELECT $3::uuid, $4::uuid, now() + make_interval(secs => $5::float8)
    WHERE EXISTS (SELECT FROM picked)
), held AS (
    UPDATE job SET lease_id = $3::uuid, attempt = attempt + 1
    FROM picked WHERE job.id = picked.id
    RETURNING job.*
)
{{jobDetails}}
