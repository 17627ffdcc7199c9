-- Figures for metrics. They are read every few seconds, so no statement counts all that waits, and each has a bounded
-- number of rows.

-- unprepared: queues
-- A row a queue. Jobs that wait are what running catalogs lack beyond what is leased and delayed, by the counts that
-- they have; those of catalogs whose time has not come are apart. Of delayed jobs @max_delayed a queue are counted. The
-- oldest job that waits has done so since its lane has had jobs, at most. Workers are those that take the queue's jobs
-- and have reported; idle ones report every 30 seconds.
WITH lacking AS MATERIALIZED (
    SELECT c.site_id, c.state, coalesce(c.not_before > now(), false) AS is_scheduled,
           greatest(c.segments - c.segments_done - c.segments_failed + coalesce(y.segments, 0),
                    c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled
                        - coalesce(y.assets, 0), 0) AS jobs,
           c.stored_bytes + coalesce(y.stored_bytes, 0) AS bytes
    FROM catalog c
    -- Counts of reports that are not folded yet.
    LEFT JOIN (
        SELECT catalog_id, sum(segments - segments_done - segments_failed) AS segments,
               sum(assets_completed + assets_failed + assets_cancelled) AS assets,
               sum(stored_bytes) AS stored_bytes
        FROM tally GROUP BY catalog_id
    ) AS y ON y.catalog_id = c.id
), of_site AS MATERIALIZED (
    SELECT site_id, sum(bytes)::bigint AS used_bytes,
           coalesce(sum(jobs) FILTER (WHERE state = 'running' AND NOT is_scheduled), 0)::bigint
               AS ready,
           coalesce(sum(jobs) FILTER (WHERE state = 'running' AND is_scheduled), 0)::bigint
               AS scheduled
    FROM lacking GROUP BY site_id
), held AS MATERIALIZED (
    SELECT l.queue_id, sum(j.jobs)::bigint AS jobs, count(DISTINCT e.id) AS leases,
           min(p.granted_at) AS oldest, min(e.expires_at) AS next_end
    FROM (SELECT id, expires_at FROM lease LIMIT @max_leases::bigint) AS e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs FROM job
        WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id
    ) AS j
    WHERE j.jobs > 0
    GROUP BY l.queue_id
), ready AS MATERIALIZED (
    SELECT l.queue_id, min(greatest(l.ready_since, c.not_before)) AS oldest
    FROM lane l JOIN catalog c ON c.id = l.catalog_id
    WHERE l.ready_since IS NOT NULL AND c.state = 'running'
      AND (c.not_before IS NULL OR c.not_before <= now())
    GROUP BY l.queue_id
), reporting AS MATERIALIZED (
    -- Null for workers of all queues.
    SELECT u.name, count(*) AS workers
    FROM worker w CROSS JOIN LATERAL unnest(coalesce(w.queues, ARRAY[NULL]::text[])) AS u(name)
    WHERE w.last_seen > now() - interval '40 seconds' GROUP BY u.name
), bandwidth AS MATERIALIZED (
    SELECT resource_id, sum(held_bytes)::bigint AS held FROM quota
    WHERE kind = 'site' AND ends_at > now() GROUP BY resource_id
)
SELECT q.name, t.storage_url, q.state = 'paused' AS is_paused, t.closed,
       greatest(coalesce(s.ready, 0) - coalesce(h.jobs, 0) - d.jobs, 0)::bigint AS waiting,
       coalesce(s.scheduled, 0) AS scheduled, coalesce(h.jobs, 0) AS leased, d.jobs AS delayed,
       extract(epoch FROM now() - r.oldest)::float8 AS waiting_seconds,
       extract(epoch FROM now() - h.oldest)::float8 AS leased_seconds,
       extract(epoch FROM now() - d.oldest)::float8 AS delayed_seconds,
       coalesce(h.leases, 0) AS leases,
       extract(epoch FROM h.next_end - now())::float8 AS lease_left_seconds,
       (coalesce((SELECT workers FROM reporting WHERE name = q.name), 0)
        + coalesce((SELECT workers FROM reporting WHERE name IS NULL), 0))::bigint AS workers,
       t.available_bytes, t.floor_bytes, t.quota_bytes, greatest(coalesce(s.used_bytes, 0) - t.shared_bytes, 0) AS used_bytes,
       t.fault_code, t.bytes_per_second, b.held AS held_bytes_per_second
FROM queue q
JOIN site t ON t.id = q.site_id
LEFT JOIN of_site s ON s.site_id = q.site_id
LEFT JOIN held h ON h.queue_id = q.id
LEFT JOIN ready r ON r.queue_id = q.id
LEFT JOIN bandwidth b ON b.resource_id = q.site_id
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, min(available_at) AS oldest
    FROM (SELECT available_at FROM delayed_job WHERE queue_id = q.id
          ORDER BY available_at LIMIT @max_delayed::bigint) AS f
) AS d
-- Those with work first: there may be more than are shown.
ORDER BY coalesce(s.ready, 0) DESC, q.name LIMIT @limit::bigint

-- unprepared: workers
-- Workers that have reported.
SELECT count(*) AS workers, count(*) FILTER (WHERE issue_code IS NOT NULL) AS failing
FROM worker WHERE last_seen > now() - interval '40 seconds'

-- unprepared: catalogs
SELECT state, count(*) AS catalogs FROM catalog GROUP BY state

-- unprepared: deadlines
-- Running catalogs whose time has come and that have a deadline, the nearest first, with the jobs that they lack.
SELECT c.id, c.name, q.name AS queue, extract(epoch FROM c.deadline)::float8 AS deadline,
       greatest(c.segments - c.segments_done - c.segments_failed + n.segments,
                c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled - n.assets,
                0)::bigint AS jobs
FROM catalog c
JOIN queue q ON q.id = c.queue_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(y.segments - y.segments_done - y.segments_failed), 0) AS segments,
           coalesce(sum(y.assets_completed + y.assets_failed + y.assets_cancelled), 0) AS assets
    FROM tally y WHERE y.catalog_id = c.id
) AS n
WHERE c.state = 'running' AND c.deadline IS NOT NULL
  AND (c.not_before IS NULL OR c.not_before <= now())
ORDER BY c.deadline, c.id LIMIT @limit::bigint

-- unprepared: origins
SELECT breaker, count(*) AS origins FROM origin WHERE id <> 0 GROUP BY breaker

-- unprepared: cooldowns
-- Origins in a cooldown or with an open circuit breaker, those that fail first.
SELECT url, breaker, greatest(extract(epoch FROM cooldown_until - now()), 0)::float8 AS seconds
FROM origin WHERE id <> 0 AND (cooldown_until > now() OR breaker <> 'closed')
ORDER BY breaker = 'failing' DESC, failures DESC, id LIMIT @limit::bigint

-- unprepared: quotas
-- Limits of origins in use, and what workers hold of them; the most used first.
SELECT o.url, m.connections, m.requests_per_second, m.bytes_per_second, n.held_connections,
       n.held_requests, n.held_bytes
FROM (
    SELECT resource_id, sum(held_connections)::bigint AS held_connections,
           sum(held_requests)::bigint AS held_requests, sum(held_bytes)::bigint AS held_bytes
    FROM quota WHERE kind = 'origin' AND ends_at > now() GROUP BY resource_id
) AS n
JOIN origin o ON o.id = n.resource_id
JOIN origin_limit m ON m.id = n.resource_id
ORDER BY greatest(n.held_connections::float8 / m.connections,
                  n.held_requests / m.requests_per_second,
                  n.held_bytes::float8 / m.bytes_per_second) DESC NULLS LAST, o.id
LIMIT @limit::bigint

-- unprepared: webhooks
-- Deliveries of each webhook that wait, of which @max_waiting are counted, and the age of the oldest.
SELECT w.id, d.waiting, extract(epoch FROM now() - o.waiting_since)::float8 AS oldest_seconds
FROM webhook w
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting
    FROM (SELECT FROM webhook_delivery WHERE webhook_id = w.id AND state = 'waiting'
          LIMIT @max_waiting::bigint) AS n
) AS d
LEFT JOIN LATERAL (
    SELECT waiting_since FROM webhook_delivery WHERE webhook_id = w.id AND state = 'waiting'
    ORDER BY waiting_since LIMIT 1
) AS o ON true
ORDER BY d.waiting DESC, w.id LIMIT @limit::bigint

-- name: audits
-- Reads the findings that the last ended audit of each site did not repair, and its time.
SELECT q.name AS queue, extract(epoch FROM a.ended_at)::float8 AS ended,
       coalesce(sum(c.found - c.repaired) FILTER (WHERE c.kind IN ({{auditDamage}})), 0)::bigint AS damaged,
       coalesce(sum(c.found) FILTER (WHERE c.kind = 'foreign'), 0)::bigint AS foreign_files,
       coalesce(sum(c.found - c.repaired) FILTER (WHERE c.kind NOT IN ({{auditDamage}})
                                                AND c.kind <> 'foreign'), 0)::bigint AS others
FROM queue q
CROSS JOIN LATERAL (
    SELECT id, ended_at FROM site_audit
    WHERE site_id = q.site_id AND state = 'completed' AND NOT is_of_leftovers
    ORDER BY id DESC LIMIT 1
) AS a
LEFT JOIN site_audit_count c ON c.audit_id = a.id
GROUP BY q.name, a.ended_at ORDER BY q.name LIMIT @limit::bigint

-- unprepared: server
-- This and the statements that follow are those by which `dray doctor` reads a server: none needs more
-- than the rights of a coordinator, and each has a bounded number of rows. Client sessions are those of
-- all databases; sessions of other roles are counted too.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS version_number,
       extract(epoch FROM clock_timestamp())::float8 AS now,
       pg_is_in_recovery() AS is_in_recovery,
       pg_database_size(current_database())::bigint AS bytes,
       current_setting('max_connections')::int AS max_connections,
       current_setting('superuser_reserved_connections')::int AS reserved_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
           AS used_connections,
       (SELECT count(*) FROM pg_stat_activity
        WHERE application_name LIKE 'dray%' AND backend_type = 'client backend') AS own_connections

-- unprepared: settings
SELECT name, setting || coalesce(' ' || unit, '') AS value
FROM pg_settings WHERE name = ANY(@names::text[]) ORDER BY name

-- unprepared: transactions
-- The oldest transactions, which keep vacuum from removing rows that died since. Only members of pg_read_all_stats see
-- those of other roles.
SELECT pid, coalesce(application_name, '') AS application, coalesce(state, '') AS state,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
FROM pg_stat_activity
WHERE xact_start < clock_timestamp() - make_interval(secs => @seconds::float8)
    AND backend_type = 'client backend'
ORDER BY xact_start LIMIT @limit::int

-- unprepared: tables
-- The tables of this schema with the most dead rows.
SELECT relname::text AS name, n_live_tup AS live_rows, n_dead_tup AS dead_rows,
       pg_total_relation_size(relid)::bigint AS bytes,
       extract(epoch FROM clock_timestamp() - greatest(last_vacuum, last_autovacuum))::float8
           AS vacuumed_seconds
FROM pg_stat_user_tables WHERE schemaname = current_schema()
ORDER BY n_dead_tup DESC, relname LIMIT @limit::int
