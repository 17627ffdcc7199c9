-- $1 test, or null for all, latest first, 100 at most.
SELECT t.id, t.name, q.name AS queue, t.state, t.workers, t.at_least,
       extract(epoch FROM t.created_at)::float8 AS created,
       extract(epoch FROM t.join_until)::float8 AS join_until,
       extract(epoch FROM t.start_at)::float8 AS started,
       extract(epoch FROM t.ended_at)::float8 AS ended,
       t.failure_code, t.failure_message, extract(epoch FROM clock_timestamp())::float8 AS now
FROM load_test t LEFT JOIN queue q ON q.id = t.queue_id
WHERE $1::uuid IS NULL OR t.id = $1::uuid
ORDER BY t.created_at DESC, t.id LIMIT 100
