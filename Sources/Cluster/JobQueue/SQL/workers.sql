-- Workers, and what there is to do for them.

-- name: seen
-- Workers seen in the last minute, with the leases that they hold, the age of the oldest, and the time since the minute of
-- their last result, if that was in the last @seconds.
SELECT w.id, w.name, w.active_transfers,
       extract(epoch FROM now() - w.last_seen)::float8 AS silent_seconds,
       w.issue_code, w.issue_message, w.version, l.leases,
       extract(epoch FROM now() - l.oldest)::float8 AS lease_seconds,
       extract(epoch FROM now() - m.minute - interval '1 minute')::float8 AS result_seconds
FROM worker w
CROSS JOIN LATERAL (
    SELECT count(*) AS leases, min(e.granted_at) AS oldest FROM lease e
    WHERE e.worker_id = w.id AND e.expires_at > now()
) AS l
LEFT JOIN (
    SELECT worker_id, max(minute) AS minute FROM worker_minute
    WHERE minute >= now() - make_interval(secs => @seconds::float8) GROUP BY worker_id
) AS m ON m.worker_id = w.id
WHERE w.last_seen > now() - interval '60 seconds' ORDER BY w.name, w.id

-- name: backlog
-- @queue is a name, or null for all. What each running catalog lacks, leased or not: segments, and
-- of titles that are not resolved yet at least one each.
SELECT q.state <> 'paused' AND NOT t.schedule_closed AS is_open,
       t.fault_code IS NOT NULL OR EXISTS (SELECT FROM outside_roots(t.id)) AS is_faulty,
       greatest(c.segments - c.segments_done - c.segments_failed + n.segments,
                c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled + n.assets,
                    0)::bigint AS jobs,
       extract(epoch FROM c.deadline - now())::float8 AS deadline_seconds,
       coalesce(extract(epoch FROM greatest(c.not_before, CASE
           -- While nothing can be leased, the first of its assets may begin then.
           WHEN NOT EXISTS (SELECT FROM lane l WHERE l.catalog_id = c.id AND l.ready_since IS NOT NULL)
                AND NOT EXISTS (SELECT FROM delayed_job d WHERE d.catalog_id = c.id)
               THEN (SELECT min(a.not_before) FROM asset a
                     WHERE a.catalog_id = c.id AND {{startsLater}})
           END) - now()), 0)::float8 AS begins_seconds,
       coalesce(extract(epoch FROM now() - greatest(c.started_at, c.not_before)), 0)::float8
           AS running_seconds
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
-- Joins the counts of reports that are not folded yet.
CROSS JOIN LATERAL (
    SELECT coalesce(sum(y.segments - y.segments_done - y.segments_failed), 0) AS segments,
           coalesce(sum(-y.assets_completed - y.assets_failed - y.assets_cancelled), 0) AS assets
    FROM tally y WHERE y.catalog_id = c.id
) AS n
WHERE c.state = 'running' AND (@queue::text IS NULL OR q.name = @queue)

-- name: busy
-- @queue is a name, or null for all. Jobs that are leased, workers that hold them or have a shard
-- of a load test, and workers that are alive: idle ones report every 30 seconds.
SELECT count(*) AS leased,
       count(DISTINCT e.worker_id)
       + (SELECT count(*) FROM load_shard s
          JOIN load_test t ON t.id = s.test_id
          LEFT JOIN queue o ON o.id = t.queue_id
          WHERE s.state IN ({{loadShardUnderWay}})
              AND (t.queue_id IS NULL OR @queue::text IS NULL OR o.name = @queue)
            AND NOT EXISTS (SELECT FROM lease h WHERE h.worker_id = s.worker_id)) AS busy,
       (SELECT count(*) FROM worker WHERE last_seen > now() - interval '40 seconds') AS workers
FROM lease e
JOIN span p ON p.lease_id = e.id
JOIN lane l ON l.id = p.lane_id
JOIN queue q ON q.id = l.queue_id
{{jobsOfSpan}}
WHERE @queue::text IS NULL OR q.name = @queue

-- name: ofQueue
-- Counts live workers that take jobs of this queue by name.
SELECT count(*) AS workers FROM worker
WHERE @queue = ANY (queues) AND last_seen > now() - interval '40 seconds'

-- name: noteMinute
-- Records a worker's work since it began. @seconds to @seconds4 are sums of powers of a fetch's seconds;
-- @cpu_seconds may be null.
INSERT INTO worker_minute AS m (minute, worker_id, fetches, bytes, busy_seconds, seconds, seconds2,
                                seconds3, seconds4, cpu_seconds, connections, cores)
VALUES (date_trunc('minute', now()), @worker::uuid, @fetches::bigint, @bytes::bigint,
        @busy_seconds::float8, @seconds::float8, @seconds2::float8, @seconds3::float8,
        @seconds4::float8, @cpu_seconds::float8, @connections::int, @cores::int)
ON CONFLICT (minute, worker_id) DO UPDATE SET fetches = excluded.fetches, bytes = excluded.bytes,
    busy_seconds = excluded.busy_seconds, seconds = excluded.seconds, seconds2 = excluded.seconds2,
    seconds3 = excluded.seconds3, seconds4 = excluded.seconds4, cpu_seconds = excluded.cpu_seconds,
    connections = excluded.connections, cores = excluded.cores
-- One that comes late reports nothing new.
WHERE m.fetches < excluded.fetches

-- name: noteRuns
-- Records a worker's work for runs of catalogs, pairwise, since it got their first jobs, so many seconds ago.
INSERT INTO run_work AS w (run_id, worker_id, began_at, connections, fetches, seconds, seconds2,
                           connection_seconds)
SELECT r.run, @worker::uuid, now() - make_interval(secs => r.age), r.connections, r.fetches,
       r.seconds, r.seconds2, r.used
FROM unnest(@runs::bigint[], @ages::float8[], @connections::int[], @fetches::bigint[],
            @seconds::float8[], @seconds2::float8[], @connection_seconds::float8[])
    AS r(run, age, connections, fetches, seconds, seconds2, used)
ON CONFLICT (run_id, worker_id) DO UPDATE SET reported_at = now(), fetches = excluded.fetches,
    seconds = excluded.seconds, seconds2 = excluded.seconds2,
    connection_seconds = excluded.connection_seconds
-- One that comes late reports nothing new.
WHERE w.connection_seconds < excluded.connection_seconds OR w.fetches < excluded.fetches

-- name: ofRun
-- Sums the work of workers for the present or last run of a catalog, and the work that they could have done:
-- the seconds of their connections from their first job to its end. No row for an unknown catalog.
SELECT count(w.worker_id) AS workers, coalesce(sum(w.connections), 0)::bigint AS connections,
       coalesce(sum(w.fetches), 0)::bigint AS fetches, coalesce(sum(w.seconds), 0) AS seconds,
       coalesce(sum(w.seconds2), 0) AS seconds2,
       coalesce(sum(w.connection_seconds), 0) AS used_seconds,
       coalesce(sum(w.connections * greatest(
           extract(epoch FROM coalesce(c.ended_at, now()) - w.began_at), 0)), 0)::float8
           AS connection_seconds
FROM catalog c LEFT JOIN run_work w ON w.run_id = c.run_id
WHERE c.id = @catalog::bigint GROUP BY c.id

-- name: history
-- Reads the work of all workers, by minute, newest first: the difference of what each had done to what it had
-- done before. Work before the first row that is read is not known, unless it is little: then the worker had
-- just begun.
WITH row AS (
    SELECT * FROM worker_minute
    WHERE minute >= date_trunc('minute', now()) - make_interval(secs => @seconds::float8)
), step AS (
    SELECT minute, connections, cores,
           lag(minute) OVER w IS NOT NULL OR busy_seconds <= 120 AS is_known,
           fetches - coalesce(lag(fetches) OVER w, 0) AS fetches,
           bytes - coalesce(lag(bytes) OVER w, 0) AS bytes,
           busy_seconds - coalesce(lag(busy_seconds) OVER w, 0) AS busy_seconds,
           seconds - coalesce(lag(seconds) OVER w, 0) AS seconds,
           seconds2 - coalesce(lag(seconds2) OVER w, 0) AS seconds2,
           seconds3 - coalesce(lag(seconds3) OVER w, 0) AS seconds3,
           seconds4 - coalesce(lag(seconds4) OVER w, 0) AS seconds4,
           cpu_seconds - coalesce(lag(cpu_seconds) OVER w, 0) AS cpu_seconds
    FROM row
    WINDOW w AS (PARTITION BY worker_id ORDER BY minute)
)
SELECT extract(epoch FROM minute)::float8 AS start, count(*) AS workers,
       max(busy_seconds) AS longest, sum(connections * busy_seconds) AS slot_seconds,
       sum(fetches)::bigint AS fetches, sum(bytes)::bigint AS bytes,
       sum(busy_seconds) AS busy_seconds, sum(seconds) AS seconds, sum(seconds2) AS seconds2,
       sum(seconds3) AS seconds3, sum(seconds4) AS seconds4,
       CASE WHEN bool_and(cpu_seconds IS NOT NULL) THEN sum(cpu_seconds) END AS cpu_seconds,
       sum(connections)::bigint AS connections, sum(cores)::bigint AS cores
FROM step
WHERE is_known AND fetches > 0 AND busy_seconds > 0
GROUP BY minute ORDER BY minute DESC LIMIT @limit::int

-- name: silent
-- Notes which workers were not seen for so long. One row each.
WITH lost AS MATERIALIZED (
    SELECT id FROM worker
    WHERE silent_since IS NULL AND last_seen < now() - make_interval(secs => @seconds::float8)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE worker w SET silent_since = w.last_seen FROM lost l WHERE w.id = l.id
RETURNING w.id

-- name: forgetWorkers
-- Workers that have gone: what they may have written to, and what they had under way, no longer
-- counts. Those of processes of a private cluster, which `@names` is a pattern for, are not shown as
-- alive either.
WITH gone AS MATERIALIZED (
    SELECT id, name ~ @names AS is_own FROM worker
    WHERE roots IS NOT NULL OR refused_sites <> '{}' OR queues IS NOT NULL OR name ~ @names
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE worker w SET roots = NULL, refused_sites = '{}', queues = NULL,
    progress = CASE WHEN g.is_own THEN '{}' ELSE w.progress END,
    active_transfers = CASE WHEN g.is_own THEN 0 ELSE w.active_transfers END,
    idle_connections = CASE WHEN g.is_own THEN 0 ELSE w.idle_connections END,
    surplus_jobs = CASE WHEN g.is_own THEN 0 ELSE w.surplus_jobs END,
    silent_since = CASE WHEN g.is_own THEN coalesce(w.silent_since, w.last_seen)
                   ELSE w.silent_since END,
    last_seen = CASE WHEN g.is_own THEN least(w.last_seen, now() - interval '1 minute')
                ELSE w.last_seen END
FROM gone g WHERE w.id = g.id
