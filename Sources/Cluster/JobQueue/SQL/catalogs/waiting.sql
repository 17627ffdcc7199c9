-- Why catalogs wait.

-- name: waits
-- @catalog is null for the 100 most recent. Why running catalogs have nothing under way: a row a
-- reason, with what it names and when it ends, if that is known, and whether some of the catalog's
-- jobs wait for nothing but a worker. No rows of a catalog that a worker works on. Jobs are looked
-- for behind the last span of a lane, or within a span, and never counted.
WITH running AS MATERIALIZED (
    SELECT c.id, c.not_before, c.started_at, q.name AS queue, q.state AS queue_state,
           t.schedule_closed, t.next_change, t.fault_code IS NOT NULL AS is_faulty,
           t.bytes_per_second IS NOT NULL AS is_limited,
           EXISTS (SELECT FROM worker w WHERE w.last_seen > now() - interval '40 seconds'
                     AND (w.queues IS NULL OR q.name = ANY(w.queues))) AS has_worker
    FROM (SELECT id, queue_id, site_id, state, not_before, started_at FROM catalog
          -- A range, so that the one is found through the index.
          WHERE id BETWEEN coalesce(@catalog::bigint, 0)
              AND coalesce(@catalog::bigint, 9223372036854775807)
          ORDER BY id DESC LIMIT 100) AS c
    JOIN queue q ON q.id = c.queue_id
    JOIN site t ON t.id = c.site_id
    WHERE c.state = 'running'
), idle AS MATERIALIZED (
    SELECT r.* FROM running r
    WHERE NOT EXISTS (
        SELECT FROM (SELECT id, origin_id FROM lane WHERE catalog_id = r.id LIMIT 4096) AS l
        CROSS JOIN LATERAL (
            -- The newest first: what is under way is among them.
            SELECT lease_id, first_id, last_id FROM span WHERE lane_id = l.id
            ORDER BY last_id DESC LIMIT 1000
        ) AS p
        JOIN lease e ON e.id = p.lease_id AND e.expires_at > now()
        LEFT JOIN worker w ON w.id = e.worker_id
        WHERE greatest(w.last_seen, e.granted_at) > now() - interval '6 seconds'
          -- A worker may hold jobs that no limit lets it begin.
          AND NOT (coalesce(w.active_transfers, 0) = 0
                   AND e.granted_at < now() - interval '3 seconds'
                   AND (r.is_limited OR l.origin_id <> 0 AND EXISTS (
                       SELECT FROM origin o JOIN origin_limit m ON m.id = o.id
                       WHERE o.id = l.origin_id
                         AND (o.cooldown_until > now()
                              OR coalesce(m.connections::float8, m.requests_per_second,
                                          m.bytes_per_second)
                                 IS NOT NULL))))
          AND EXISTS (SELECT FROM job WHERE lane_id = l.id AND id BETWEEN p.first_id AND p.last_id)
    )
), lanes AS MATERIALIZED (
    -- With jobs that no lease holds.
    SELECT i.id AS catalog_id, l.origin_id
    FROM idle i
    CROSS JOIN LATERAL (
        SELECT id, origin_id FROM lane WHERE catalog_id = i.id AND ready_since IS NOT NULL
            LIMIT 4096
    ) AS l
    WHERE EXISTS (SELECT FROM job WHERE lane_id = l.id AND id > coalesce(
        (SELECT last_id FROM span WHERE lane_id = l.id ORDER BY last_id DESC LIMIT 1), 0))
), held AS MATERIALIZED (
    SELECT i.id AS catalog_id, l.origin_id, e.id AS lease_id, w.name AS worker,
           i.is_limited AS is_site_limited,
           -- One that holds a job that is tried alone is swept a lease's time later.
           greatest(e.expires_at, now())
           + CASE WHEN e.isolated THEN make_interval(secs => @lease_seconds::float8)
               ELSE interval '0' END AS ends_at,
           e.expires_at <= now()
           OR greatest(w.last_seen, e.granted_at) <= now() - interval '6 seconds' AS is_lost
    FROM idle i
    CROSS JOIN LATERAL (SELECT id, origin_id FROM lane WHERE catalog_id = i.id LIMIT 4096) AS l
    CROSS JOIN LATERAL (
        SELECT lease_id, first_id, last_id FROM span WHERE lane_id = l.id ORDER BY last_id DESC
            LIMIT 1000
    ) AS p
    JOIN lease e ON e.id = p.lease_id
    LEFT JOIN worker w ON w.id = e.worker_id
    WHERE EXISTS (SELECT FROM job WHERE lane_id = l.id AND id BETWEEN p.first_id AND p.last_id)
), origins AS MATERIALIZED (
    SELECT n.catalog_id, n.is_held, o.url, o.cooldown_until, o.cooldown_reason,
           coalesce(o.cooldown_until > now(), false) AS is_cooling,
           coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second) IS NOT NULL
           AND (n.is_held OR EXISTS (SELECT FROM quota u WHERE u.kind = 'origin'
                                     AND u.resource_id = o.id
                                       AND u.ends_at > now())) AS is_limited
    FROM (
        SELECT catalog_id, origin_id, false AS is_held FROM lanes WHERE origin_id <> 0
        UNION
        SELECT catalog_id, origin_id, true FROM held WHERE origin_id <> 0 AND NOT is_lost
    ) AS n
    JOIN origin o ON o.id = n.origin_id
    JOIN origin_limit m ON m.id = n.origin_id
), free AS MATERIALIZED (
    -- With jobs that any worker could take now.
    SELECT catalog_id FROM lanes WHERE origin_id = 0
    UNION
    SELECT catalog_id FROM origins WHERE NOT is_held AND NOT is_cooling AND NOT is_limited
    UNION
    SELECT i.id FROM idle i
    WHERE EXISTS (SELECT FROM delayed_job WHERE catalog_id = i.id AND available_at <= now())
), busy AS MATERIALIZED (
    -- That workers work on.
    SELECT DISTINCT l.catalog_id
    FROM (SELECT id FROM lease WHERE expires_at > now() LIMIT 1000) AS e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    WHERE EXISTS (SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id)
)
SELECT i.id AS catalog_id, x.reason, x.subject, x.code, x.number,
       extract(epoch FROM x.until)::float8 AS until,
       greatest(extract(epoch FROM x.until - now()), 0)::float8 AS seconds,
       i.id IN (SELECT catalog_id FROM free) AS has_ready_jobs
FROM idle i
CROSS JOIN LATERAL (
    SELECT 'notBefore' AS reason, NULL::text AS subject, NULL::text AS code, NULL::bigint AS number,
           i.not_before AS until
    WHERE i.not_before > now()
    UNION ALL
    SELECT 'schedule', NULL, NULL, NULL, i.next_change WHERE i.schedule_closed
    UNION ALL
    SELECT 'queuePaused', i.queue, NULL, NULL, NULL WHERE i.queue_state = 'paused'
    UNION ALL
    SELECT 'noWorker', i.queue, NULL, (SELECT count(*) FROM worker
                                       WHERE last_seen > now() - interval '40 seconds'),
           NULL
    WHERE NOT i.has_worker
      -- One may hold jobs before its first heartbeat.
      AND NOT EXISTS (SELECT FROM held h WHERE h.catalog_id = i.id)
    UNION ALL
    (SELECT 'retry', NULL, coalesce(d.retry_code, d.failure_code), NULL, d.available_at
     FROM delayed_job d
     -- What waits for something else than time has no end.
     WHERE d.catalog_id = i.id AND d.available_at > now() AND d.available_at < 'infinity'
     ORDER BY d.available_at LIMIT 1)
    UNION ALL
    SELECT 'workerSilent', (array_agg(h.worker ORDER BY h.ends_at))[1], NULL,
           count(DISTINCT h.lease_id), min(h.ends_at)
    FROM held h WHERE h.catalog_id = i.id AND h.is_lost HAVING count(*) > 0
    UNION ALL
    SELECT 'originCooldown', (array_agg(o.url ORDER BY o.cooldown_until))[1],
           (array_agg(o.cooldown_reason ORDER BY o.cooldown_until))[1], count(DISTINCT o.url),
               min(o.cooldown_until)
    FROM origins o WHERE o.catalog_id = i.id AND o.is_cooling HAVING count(*) > 0
    UNION ALL
    SELECT 'originLimit', min(o.url), NULL, count(DISTINCT o.url), NULL
    FROM origins o WHERE o.catalog_id = i.id AND o.is_limited
        AND NOT o.is_cooling HAVING count(*) > 0
    UNION ALL
    SELECT 'siteLimit', NULL, NULL, NULL, NULL
    WHERE EXISTS (SELECT FROM held h WHERE h.catalog_id = i.id AND h.is_site_limited
                  AND NOT h.is_lost)
    UNION ALL
    SELECT 'otherCatalogs', NULL, NULL, count(*), NULL
    FROM busy u
    WHERE u.catalog_id <> i.id AND EXISTS (SELECT FROM free f WHERE f.catalog_id = i.id)
        AND i.has_worker
      AND (i.not_before IS NULL OR i.not_before <= now()) AND NOT i.schedule_closed
          AND i.queue_state <> 'paused'
      AND NOT i.is_faulty
    HAVING count(*) > 0
) AS x
