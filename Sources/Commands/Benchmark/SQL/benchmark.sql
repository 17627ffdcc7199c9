-- The benchmark's own SQL: the ceiling, which is the least that a queue in PostgreSQL does, and checks.

-- name: ceilingLock
-- A separate statement before the claim, which then sees all claims before the lock was acquired.
SELECT set_config('synchronous_commit', @synchronous_commit::text, true)
FROM lane WHERE id = @lane::bigint FOR UPDATE

-- name: ceilingClaim
-- The minimal claim of a batch of downloads: their numbers, URLs, keys, lengths and digests.
WITH picked AS MATERIALIZED (
    SELECT id, segment_id FROM job
    WHERE lane_id = @lane::bigint AND id > coalesce(
        (SELECT last_id FROM span WHERE lane_id = @lane::bigint ORDER BY last_id DESC LIMIT 1), 0)
    ORDER BY id LIMIT @most::int
), leased AS (
    INSERT INTO lease (id, worker_id, expires_at)
    SELECT @lease::uuid, @lease::uuid, now() + interval '1 hour' WHERE EXISTS (SELECT FROM picked)
), held AS (
    INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
    SELECT @lane::bigint, min(id), max(id), @lease::uuid, count(*) FROM picked HAVING count(*) > 0
)
SELECT p.id, s.url, s.key, s.expected_bytes, s.expected_sha256
FROM picked p JOIN segment s ON s.id = p.segment_id

-- name: ceilingComplete
-- Pairwise @jobs, @bytes and @digests. The minimal completion of a batch: deletes the jobs that the lease
-- holds, and inserts the results.
WITH gone AS (
    DELETE FROM job j
    USING unnest(@jobs::bigint[], @bytes::bigint[], @digests::text[]) AS r(job, bytes, sha256)
    WHERE j.lane_id = @lane::bigint AND j.id = r.job
      AND EXISTS (SELECT FROM lease WHERE id = @lease::uuid)
    RETURNING j.segment_id, j.attempt, r.bytes, r.sha256
)
INSERT INTO result (segment_id, done, bytes, sha256, attempts)
SELECT segment_id, true, bytes, sha256, attempt + 1 FROM gone

-- name: ceilingLanes
-- Lanes of segments of a queue.
SELECT l.id FROM lane l JOIN queue q ON q.id = l.queue_id
WHERE q.name = @queue::text AND l.rank = 3 ORDER BY l.id

-- name: queue
-- The only one.
SELECT name FROM queue

-- name: segmentsCounted
-- Number of segments with a job, and of segments that are done.
SELECT (SELECT count(*) FROM job WHERE kind = 'fetch')
           + (SELECT count(*) FROM delayed_job WHERE kind = 'fetch') AS waiting,
       (SELECT count(*) FROM result WHERE done) AS done

-- name: tablesUsed
-- Live and dead rows of each table, as the statistics count them, and its size with its indexes.
SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead,
       pg_total_relation_size(relid) AS bytes
FROM pg_stat_user_tables
WHERE pg_total_relation_size(relid) > 100 * 1024
ORDER BY bytes DESC, relname

-- name: connectionsUsed
-- Number of the coordinators' connections to this database.
SELECT count(*) AS connections FROM pg_stat_activity
WHERE backend_type = 'client backend' AND datname = current_database()
  AND application_name <> 'dray benchmark'

-- name: walPosition
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS bytes
