-- Leases: claims, heartbeats, releases, and the sweep of those whose time is over.

-- name: queues
-- @names is empty for all.
SELECT q.id, q.site_id, t.storage_url, q.name, (SELECT id FROM cluster) AS cluster
FROM queue q JOIN site t ON t.id = q.site_id
WHERE cardinality(@names::text[]) = 0 OR q.name = ANY(@names::text[]) LIMIT @limit::int

-- name: queuesWithWork
-- Queues that have a job to lease now; @names is empty for all.
SELECT id, site_id, storage_url, name, cluster FROM queues_with_work(@names::text[])

-- name: claim
-- raises: origin.probe
-- Claims a batch under each new lease: pairwise @leases, @workers and @max_jobs. Pairwise
-- @slow_leases, numbers of leases from 1, and @slow_origins; @slow_max_jobs has the most jobs of
-- these by lease.
SELECT is_known, is_guarded, is_worth_another, granted, alone,
       coalesce(is_isolating, false) AS is_isolating
FROM claim_jobs(@queue::bigint, @leases::uuid[], @workers::uuid[], @max_jobs::int[],
                @seconds::float8,
    @slow_leases::int[], @slow_origins::text[], @slow_max_jobs::int[])

-- name: leasedJobs
-- Reads what the jobs of that queue need that these leases hold, of the workers that name them (pairwise),
-- with the number of each one's lease. The columns are the fields of `Job`, in snake case.
SELECT * FROM leased_jobs(@queue::bigint, @leases::uuid[], @workers::uuid[])

-- name: traces
-- Traces of the jobs that these leases hold, of the workers that name them (pairwise), with the number
-- of each one's lease. Only for workers that ask for traces.
WITH held AS MATERIALIZED (
    SELECT named.place, p.lane_id, p.first_id, p.last_id,
           (SELECT traceparent FROM catalog
            WHERE id = (SELECT catalog_id FROM lane WHERE id = p.lane_id)) AS traceparent
    FROM unnest(@leases::uuid[], @workers::uuid[]) WITH ORDINALITY AS named(lease, worker, place)
    {{spansOfHeldLeases}}
)
SELECT p.place, p.traceparent, array_agg(j.id) AS jobs
FROM (SELECT * FROM held WHERE traceparent IS NOT NULL) AS p
{{jobsOfSpan}}
GROUP BY p.place, p.traceparent

-- name: parts
-- Parts of files as they were recorded, in order.
SELECT mf.id AS multipart_id, s.range_offset, s.range_length, r.sha256
FROM multipart_file mf
JOIN segment s ON s.parent_id = mf.segment_id
JOIN result r ON r.segment_id = s.id AND r.done
WHERE mf.id = ANY(@ids::uuid[])
ORDER BY mf.id, s.part

-- name: dropLease
-- A lease that a claim left with nothing, because its jobs were taken away while it ran. It has
-- spans, which one that was released before it was granted has not. One that still holds a job runs
-- out.
DELETE FROM lease WHERE id = @lease::uuid AND EXISTS (SELECT FROM span
                                                      WHERE lease_id = @lease::uuid)
  AND NOT EXISTS (
      SELECT FROM span p CROSS JOIN LATERAL (
          SELECT FROM job
          WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
      ) AS j
      WHERE p.lease_id = @lease::uuid)

-- name: release
-- Takes the id of a lease that is not granted yet, so that it never is; one row when it was free.
-- Waits for a grant of it that is under way.
INSERT INTO lease (id, worker_id, expires_at)
VALUES (@lease::uuid, @worker::uuid, now() + interval '1 minute')
ON CONFLICT (id) DO NOTHING
RETURNING id

-- name: jobsHeld
SELECT j.id
FROM lease e
JOIN span p ON p.lease_id = e.id
{{jobsOfSpan}}
WHERE e.id = @lease::uuid AND e.worker_id = @worker::uuid

-- name: worker
-- @progress is by asset. @issue_code is what keeps the worker from getting work, or null; @roots
-- are the storage URLs that it may write to, or null for all; @queues is null for all.
INSERT INTO worker (id, name, active_transfers, idle_connections, surplus_jobs, progress,
                    issue_code, issue_message, issue_since, roots, refused_sites, queues,
                    version)
VALUES (@worker::uuid, @name, @active_transfers::int, @idle_connections::int, @surplus_jobs::int,
        @progress::jsonb, @issue_code::text, @issue_message::text, CASE WHEN @issue_code::text IS NOT NULL THEN now() END,
        @roots::text[], @refused_sites::bigint[], @queues::text[], @version::text)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, active_transfers = excluded.active_transfers,
    idle_connections = excluded.idle_connections, surplus_jobs = excluded.surplus_jobs,
    progress = excluded.progress, last_seen = now(), silent_since = NULL,
    issue_code = excluded.issue_code,
    issue_message = excluded.issue_message, roots = excluded.roots,
    refused_sites = excluded.refused_sites, queues = excluded.queues, version = excluded.version,
    issue_since = CASE WHEN excluded.issue_code IS NOT NULL
                         THEN coalesce(worker.issue_since, now()) END

-- name: wantedJobs
-- Returns how many of its @surplus jobs a worker is to return: its part, among all workers with surplus jobs,
-- of the free connections, both of workers that may take jobs of its queues. Parts are rounded in the order
-- of workers, so that their sum is the number of connections. Idle workers report every 30 seconds: one that
-- was silent for longer than 5 may have been killed, and counts as one connection until it takes a job.
WITH held_queue AS MATERIALIZED (
    SELECT q.name, t.id AS site_id, t.storage_url
    FROM (
        SELECT DISTINCT l.queue_id FROM lease e
        JOIN span p ON p.lease_id = e.id JOIN lane l ON l.id = p.lane_id
        WHERE e.worker_id = @worker::uuid
    ) AS h
    JOIN queue q ON q.id = h.queue_id JOIN site t ON t.id = q.site_id
)
SELECT (div(least(idle.connections, held.jobs) * (held.before + @surplus::int), held.jobs)
        - div(least(idle.connections, held.jobs) * held.before, held.jobs))::int AS jobs
FROM (
    SELECT coalesce(sum(CASE WHEN w.last_seen > now() - interval '5 seconds'
                             THEN w.idle_connections ELSE 1 END), 0)::numeric AS connections
    FROM worker w
    WHERE w.id <> @worker::uuid AND w.idle_connections > 0 AND w.issue_code IS NULL
      AND w.last_seen > now() - interval '40 seconds' AND {{takesHeldQueues}}
) AS idle
CROSS JOIN LATERAL (
    SELECT coalesce(sum(w.surplus_jobs), 0)::numeric + @surplus::int AS jobs,
           coalesce(sum(w.surplus_jobs) FILTER (WHERE w.id < @worker::uuid), 0)::numeric AS before
    FROM worker w
    WHERE idle.connections > 0 AND w.id <> @worker::uuid AND w.surplus_jobs > 0
      AND w.last_seen > now() - interval '5 seconds' AND {{takesHeldQueues}}
) AS held

-- fragment: takesHeldQueues
-- True if worker w may take jobs of a queue of `held_queue`.
EXISTS (SELECT FROM held_queue h
        WHERE (w.queues IS NULL OR h.name = ANY (w.queues)) AND h.site_id <> ALL (w.refused_sites)
          AND (w.roots IS NULL
               OR EXISTS (SELECT FROM unnest(w.roots) AS r WHERE is_site_within(h.storage_url, r))))

-- name: extend
-- One row a lease; a lease that is gone is not in the answer.
UPDATE lease SET expires_at = now() + make_interval(secs => @seconds::float8)
WHERE id = ANY(@leases::uuid[]) AND worker_id = @worker::uuid
RETURNING id

-- name: stoppedJobs
-- Jobs that were cancelled while these leases held them, and those of paused assets.
SELECT x.job_id, x.is_paused
FROM lease l
CROSS JOIN LATERAL (
    SELECT job_id, false AS is_paused FROM cancelled_job WHERE lease_id = l.id
    UNION ALL
    SELECT job_id, true FROM paused_job WHERE lease_id = l.id
) AS x
WHERE l.id = ANY(@leases::uuid[]) AND l.worker_id = @worker::uuid
ORDER BY x.job_id LIMIT 10000

-- name: served
-- Records that a coordinator serves. A pause of @pause_seconds begins a new period of service. In a
-- private cluster, which has a @machine, a pause on a machine that did not restart is a crash, and
-- the period continues.
UPDATE cluster SET
    served_since = CASE WHEN served_at > now() - make_interval(secs => @pause_seconds::float8)
        OR machine = @machine::text
                        THEN served_since ELSE now() END,
    served_at = now(),
    machine = @machine::text
WHERE served_at IS NULL OR served_at NOT BETWEEN now() - interval '1 s' AND now()
   OR machine IS DISTINCT FROM @machine::text

-- name: sweep
-- Ends up to @limit leases whose time is over; a heartbeat that came first wins the row. Of each,
-- its worker, and whether that is thought dead: not seen when it was to extend the lease, nor
-- since, while coordinators served all that time. A job that is tried alone is kept @lease_seconds
-- longer, so that a worker that only lost its connection is seen before its job is held against it.
DELETE FROM lease e WHERE id IN (
    SELECT id FROM lease
    WHERE expires_at < now()
      AND (NOT isolated OR expires_at < now() - make_interval(secs => @lease_seconds::float8))
    ORDER BY id LIMIT @limit::int FOR UPDATE SKIP LOCKED
)
RETURNING id, worker_id, (SELECT name FROM worker w WHERE w.id = e.worker_id) AS worker_name,
    NOT EXISTS (SELECT FROM worker w WHERE w.id = e.worker_id
                AND w.last_seen > e.expires_at - make_interval(secs => @lease_seconds::float8 / 2))
    AND (SELECT served_since <= e.expires_at - make_interval(secs => @lease_seconds::float8)
         FROM cluster) AS is_dead

-- name: noteLost
-- Pairwise leases that ran out and lanes of jobs that they held; @dead are those of dead workers, of which some
-- jobs may have been taken away. What their workers left at the lanes' sites is removed. Buckets have no
-- such files.
INSERT INTO lost_lease (id, site_id)
SELECT DISTINCT u.lease, q.site_id
FROM (
    SELECT lease, lane FROM unnest(@leases::uuid[], @lanes::bigint[]) AS u(lease, lane)
    UNION ALL
    SELECT p.lease_id, p.lane_id FROM span p
    WHERE p.lease_id = ANY(@dead::uuid[])
      AND (EXISTS (SELECT FROM cancelled_job x WHERE x.lease_id = p.lease_id
                   AND x.job_id BETWEEN p.first_id AND p.last_id)
           OR EXISTS (SELECT FROM paused_job x WHERE x.lease_id = p.lease_id
                      AND x.job_id BETWEEN p.first_id AND p.last_id))
) AS u
JOIN lane l ON l.id = u.lane JOIN queue q ON q.id = l.queue_id JOIN site t ON t.id = q.site_id
WHERE NOT starts_with(t.storage_url, 's3://')
ORDER BY 1, 2
ON CONFLICT DO NOTHING

-- name: jobsOfLeases
-- Every job that these leases hold, locked.
SELECT p.lane_id, j.id, p.lease_id
FROM (
    SELECT lane_id, first_id, last_id, lease_id FROM span WHERE lease_id = ANY(@leases::uuid[])
    ORDER BY lane_id, last_id
) AS p
CROSS JOIN LATERAL (
    SELECT id FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id
    ORDER BY id FOR UPDATE
) AS j

-- name: lostJobs
-- Pairwise @lanes and @jobs. As `reportedJobs` of reporting.sql, for jobs whose lease ran out (the
-- sweep has ended the lease itself).
WITH held AS MATERIALIZED (
    SELECT j.*
    FROM unnest(@lanes::bigint[], @jobs::bigint[]) AS r(lane, job)
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = r.lane AND id = r.job FOR UPDATE
    ) AS j
{{heldJobs}}

-- name: recordLosses
-- Pairwise lanes and jobs, which are locked, workers that died with them and their names. Notes the
-- losses. Of each job how many workers have died with it by now, and the latest of them with their
-- times; of a part those count that died with the whole file. A worker that was seen since has not
-- died.
WITH lost AS MATERIALIZED (
    SELECT j.id, j.kind,
           CASE WHEN j.kind = 'purge' THEN l.catalog_id
                ELSE coalesce(j.segment_id, j.directory_id, j.asset_id) END AS target_id,
           CASE WHEN j.kind = 'fetch' THEN j.whole_id END AS whole_id, l.catalog_id,
           r.worker, r.name
    FROM unnest(@lanes::bigint[], @jobs::bigint[], @workers::uuid[], @names::text[]) AS r(lane, job,
            worker, name)
    {{jobOfEach}}
    JOIN lane l ON l.id = r.lane
), recorded AS (
    INSERT INTO job_loss (kind, target_id, worker_id, worker_name, catalog_id)
    SELECT DISTINCT ON (kind, target_id, worker) kind, target_id, worker, name, catalog_id FROM lost
    ON CONFLICT (kind, target_id, worker_id) DO UPDATE SET lost_at = now()
)
SELECT t.id, d.deaths, d.workers, d.lost_seconds
FROM lost t
CROSS JOIN LATERAL (
    SELECT count(*) AS deaths,
           array_agg(coalesce(x.worker_name, x.worker_id::text) ORDER BY x.lost_at)
               FILTER (WHERE x.place <= 4) AS workers,
           array_agg(extract(epoch FROM x.lost_at)::bigint ORDER BY x.lost_at)
               FILTER (WHERE x.place <= 4) AS lost_seconds
    FROM (
        SELECT y.*, row_number() OVER (ORDER BY y.lost_at DESC) AS place FROM (
            SELECT t.worker AS worker_id, t.name AS worker_name, now() AS lost_at
            UNION ALL
            SELECT z.worker_id, z.worker_name, z.lost_at FROM job_loss z
            WHERE z.kind = t.kind AND z.target_id IN (t.target_id, t.whole_id)
              AND z.worker_id <> t.worker
              AND NOT EXISTS (SELECT FROM worker w
                              WHERE w.id = z.worker_id AND w.last_seen > z.lost_at)
        ) AS y
    ) AS x
) AS d
