-- The status of catalogs: their figures, why they wait, and what bounds when they end. `chosen` is
-- the one catalog of @catalog, or the latest ones.

-- template: status
-- Status of catalogs. The expected total is an estimate: unknown segments are taken to be like the known
-- ones. Counts that reports left in tallies are included.
WITH unwell AS MATERIALIZED (
    SELECT id FROM origin WHERE breaker <> 'closed'
), under_way AS MATERIALIZED (
    -- Counts of all catalogs, read once.
    SELECT a.catalog_id,
           least((e.value->>'receivedBytes')::bigint, {{lackingBytes}}) AS received,
           least(coalesce((e.value->>'resumedBytes')::bigint, 0), {{lackingBytes}}) AS resumed,
           least((e.value->>'expectedBytes')::bigint, {{lackingBytes}}) AS expected,
           least((e.value->>'transfers')::bigint, {{lackingSegments}}) AS transfers
    FROM worker w, jsonb_each(w.progress) AS e
    {{assetOfTransfers}}
    WHERE {{isReporting}} AND {{lackingSegments}} > 0
)
SELECT c.id, c.name, q.name AS queue, t.storage_url, c.state, c.generation, c.priority,
       c.traceparent,
       extract(epoch FROM c.not_before)::float8 AS not_before,
       extract(epoch FROM c.deadline)::float8 AS deadline, c.refresh_seconds,
       extract(epoch FROM c.refresh_at)::float8 AS next_refresh, c.assets,
       n.assets_completed, n.assets_failed, n.assets_cancelled,
       (SELECT count(*) FROM asset a WHERE a.catalog_id = c.id AND {{isPaused}}) AS assets_paused,
       (SELECT count(*) FROM asset a
        WHERE a.catalog_id = c.id AND a.is_purging) AS assets_removing,
       n.segments, n.segments_done,
       n.segments_failed, n.bytes, n.adopted_bytes, n.retries, c.freed_files, c.freed_bytes,
       coalesce(extract(epoch FROM coalesce(c.ended_at, now()) - c.started_at), 0)::float8
           AS seconds,
       CASE WHEN f.code IS NOT NULL THEN f.code
            ELSE coalesce(y.code, r.code, x.issue_code, b.code) END AS issue_code,
       CASE WHEN f.code IS NOT NULL THEN 'site' WHEN y.code IS NOT NULL THEN 'roots'
            WHEN r.code IS NOT NULL THEN 'room' WHEN x.issue_code IS NOT NULL THEN 'worker'
            WHEN b.code IS NOT NULL THEN 'origins' END AS issue_kind,
       CASE WHEN f.code IS NOT NULL THEN t.fault_message
            ELSE coalesce(y.roots, r.message, x.issue_message, b.url) END AS issue_subject,
       coalesce(r.number, b.number) AS issue_number,
       coalesce(y.has_symlink, false) AS has_symlink,
       CASE WHEN f.code IS NOT NULL THEN extract(epoch FROM now() - t.fault_since)::float8
            ELSE coalesce(y.seconds, r.seconds, x.issue_seconds, b.seconds)
       END AS issue_seconds,
       extract(epoch FROM c.deadline - coalesce(c.ended_at, now()))::float8 AS deadline_seconds,
       CASE WHEN c.state = 'running' AND c.pace[1] >= extract(epoch FROM c.started_at)
            THEN (extract(epoch FROM now()) - c.pace[1])::float8 END AS pace_seconds,
       n.segments_done + n.segments_failed - c.pace[2] AS pace_segments,
       n.bytes - n.adopted_bytes - c.pace[3] AS pace_bytes,
       p.received AS receiving_bytes, p.resumed AS resumed_bytes,
       (SELECT json_build_object('recording', count(*) FILTER (WHERE w.ended_at IS NULL),
                   'titles', count(*), 'segments', sum(w.segments), 'gaps', sum(w.gaps),
                   'behindSeconds', max({{behindLive}}),
                   'unrecorded', sum(cardinality(w.unrecorded)))::text
        FROM recording w WHERE w.catalog_id = c.id HAVING count(*) > 0) AS recording,
       CASE WHEN n.segments_done + p.transfers > 0 THEN
           least(n.bytes + p.expected
                 + (n.bytes + p.expected) / (n.segments_done + p.transfers)
                   * greatest(n.segments - n.segments_done - n.segments_failed - p.transfers,
                              0)::numeric,
                 9e18)::bigint
       END AS expected_bytes
FROM ({{chosen}}) AS c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
CROSS JOIN LATERAL (
    SELECT (c.assets_completed + coalesce(sum(y.assets_completed), 0))::bigint AS assets_completed,
           (c.assets_failed + coalesce(sum(y.assets_failed), 0))::bigint AS assets_failed,
           (c.assets_cancelled + coalesce(sum(y.assets_cancelled), 0))::bigint AS assets_cancelled,
           (c.segments + coalesce(sum(y.segments), 0))::bigint AS segments,
           (c.segments_done + coalesce(sum(y.segments_done), 0))::bigint AS segments_done,
           (c.segments_failed + coalesce(sum(y.segments_failed), 0))::bigint AS segments_failed,
           (c.bytes + coalesce(sum(y.bytes), 0))::bigint AS bytes,
           (c.adopted_bytes + coalesce(sum(y.adopted_bytes), 0))::bigint AS adopted_bytes,
           (c.retries + coalesce(sum(y.retries), 0))::bigint AS retries
    FROM tally y WHERE y.catalog_id = c.id
) AS n
CROSS JOIN LATERAL (
    SELECT coalesce(sum(t.received), 0)::bigint AS received,
           coalesce(sum(t.resumed), 0)::bigint AS resumed,
           coalesce(sum(t.expected), 0)::bigint AS expected,
           coalesce(sum(t.transfers), 0)::bigint AS transfers
    FROM (
        SELECT received, resumed, expected, transfers FROM under_way WHERE catalog_id = c.id
        UNION ALL
        -- Bytes of assets that were paused or interrupted under way, until a worker has them again.
        SELECT least(a.paused_received_bytes, {{lackingBytes}}),
               least(a.paused_received_bytes, {{lackingBytes}}),
               least(a.paused_expected_bytes, {{lackingBytes}}),
               least(a.paused_transfers, {{lackingSegments}})
        FROM asset a
        WHERE a.catalog_id = c.id AND a.paused_transfers > 0
          AND (a.state IN ({{assetUnsettled}})
               OR a.state = 'interrupted' AND a.generation >= c.generation)
          AND {{lackingSegments}} > 0 AND {{keepsReceived}}
          AND a.id NOT IN (SELECT k::bigint FROM worker w, jsonb_object_keys(w.progress) AS k
                           WHERE {{isReporting}})
    ) AS t
    WHERE c.state IN ({{catalogCancellable}})
) AS p
-- Nothing of it continues while its site cannot be written.
CROSS JOIN LATERAL (SELECT CASE WHEN c.state = 'running' THEN t.fault_code END AS code) AS f
-- Nor while no worker that reports may write to it; since the last of them came.
LEFT JOIN LATERAL (
    SELECT {{storage.outsideRoots}} AS code, o.roots, o.has_symlink,
           (SELECT extract(epoch FROM now() - max(first_seen)) FROM worker
            WHERE last_seen > now() - interval '60 seconds')::float8 AS seconds
    FROM outside_roots(t.id) AS o
    WHERE c.state = 'running'
) AS y ON true
-- Nor when all that is left waits for room.
LEFT JOIN LATERAL (
    SELECT (array_agg(d.failure_code ORDER BY d.id))[1] AS code,
           (array_agg(d.failure_message ORDER BY d.id))[1] AS message, count(*) AS number,
           greatest(extract(epoch FROM now() - min(d.available_at)) + 60, 0)::float8 AS seconds
    FROM delayed_job d
    WHERE d.catalog_id = c.id AND d.failure_code IS NOT NULL AND c.state = 'running'
    HAVING count(*) >= n.segments - n.segments_done - n.segments_failed
) AS r ON true
-- Nor while no worker that reports gets work.
LEFT JOIN LATERAL (
    SELECT (array_agg(w.issue_code ORDER BY w.issue_since DESC))[1] AS issue_code,
           (array_agg(w.issue_message ORDER BY w.issue_since DESC))[1] AS issue_message,
           extract(epoch FROM now() - max(w.issue_since))::float8 AS issue_seconds
    FROM worker w WHERE w.last_seen > now() - interval '60 seconds' AND c.state = 'running'
    HAVING bool_and(w.issue_code IS NOT NULL)
) AS x ON true
-- Nor while all its origins that are still to serve something are in a cooldown: until a moment
-- after its end, so that a follower does not see the contrary between two tries, and while they are
-- tried, unless something arrives.
LEFT JOIN LATERAL (
    SELECT (array_agg(o.cooldown_reason ORDER BY o.id))[1] AS code,
           (array_agg(o.url ORDER BY o.id))[1] AS url, count(*) AS number,
           extract(epoch FROM now() - min(s.since))::float8 AS seconds
    FROM (
        SELECT l.origin_id FROM lane l
        WHERE l.queue_id = c.queue_id AND l.catalog_id = c.id AND l.origin_id <> 0
          AND (l.ready_since IS NOT NULL
               -- Or a worker holds some of it. Spans stay when all of them was done.
               OR EXISTS (SELECT FROM span p JOIN lease e ON e.id = p.lease_id
                          WHERE p.lane_id = l.id AND e.expires_at > now()
                            AND EXISTS (SELECT FROM job WHERE lane_id = p.lane_id
                                        AND id BETWEEN p.first_id AND p.last_id)))
        UNION
        SELECT origin_id FROM delayed_job WHERE catalog_id = c.id AND origin_id <> 0
    ) AS l
    JOIN origin o ON o.id = l.origin_id
    CROSS JOIN LATERAL (
        -- Since it was last well.
        SELECT coalesce(min(decided_at), o.noted_at) AS since FROM origin_decision
        WHERE origin_id = o.id AND decision = 'open' AND id > coalesce(
            (SELECT id FROM origin_decision WHERE origin_id = o.id AND decision = 'closed'
             ORDER BY id DESC LIMIT 1), 0)
    ) AS s
    WHERE c.state = 'running' AND p.received = 0
      -- Before what waits is looked through.
      AND EXISTS (SELECT FROM unwell u JOIN lane e ON e.origin_id = u.id
                  WHERE e.catalog_id = c.id)
    HAVING bool_and(o.cooldown_reason IS NOT NULL
                    AND (o.breaker = 'halfOpen'
                         OR o.breaker = 'open' AND o.cooldown_until > now() - interval '2 seconds'
                         -- In this run: it may have recovered since an earlier one.
                         OR o.breaker = 'failing' AND o.noted_at >= c.started_at))
) AS b ON true
ORDER BY c.id DESC

-- unprepared: active
-- Those under way, most recently changed first, with the bytes of transfers that have no result
-- yet, also of those that wait for their first byte: until its first result an asset is recorded as `ready`,
-- and only a worker knows more.
WITH receiving AS (
    {{receiving}}
), leased AS (
    -- Those with work in hand; bounded, because thousands of files may be.
    SELECT j.asset_id
    FROM lane n
    JOIN span p ON p.lane_id = n.id
    JOIN lease l ON l.id = p.lease_id
    {{jobsOfSpan}}
    WHERE n.catalog_id = @catalog::bigint AND j.directory_id IS NULL LIMIT 300
), active AS (
    SELECT asset_id AS id FROM leased UNION SELECT asset_id FROM receiving
)
SELECT a.id, a.name, a.url, a.kind,
       CASE WHEN a.state = 'ready' AND a.id IN (SELECT asset_id FROM leased) THEN 'inProgress' ELSE a.state END
           AS state,
       a.failure_code, a.failure_message, a.segments, a.segments_done,
       a.bytes + {{receivedBytes}} AS bytes, a.adopted_bytes,
       least(coalesce(r.resumed, a.paused_received_bytes), {{receivedBytes}}) AS resumed_bytes,
       -- A file that is fetched in one transfer is as long as its answer says.
       coalesce(a.expected_bytes, CASE WHEN a.kind = 'file' AND a.segments = 1 THEN r.expected END)
           AS expected_bytes,
       a.retries, a.refreshed, {{isPaused}} AS is_paused, a.is_pinned, a.freed_files, a.freed_bytes,
       {{rights}}, NULL::text AS recording,
       NULL::text AS left_out
FROM active JOIN asset a USING (id) LEFT JOIN receiving r ON r.asset_id = a.id
WHERE a.catalog_id = @catalog::bigint AND (a.state <> 'ready' OR r.asset_id IS NOT NULL)
ORDER BY a.changed_at DESC, a.id LIMIT 20

-- MARK: Waits

-- fragment: heldSpans
-- Spans of leases of the catalogs `running`, by lane. Spans stay when all of their jobs are done.
SELECT l.catalog_id, l.origin_id, l.rank, e.id AS lease_id, e.worker_id, e.granted_at, e.expires_at,
       e.isolated
FROM running r
JOIN lane l ON l.catalog_id = r.id
JOIN span p ON p.lane_id = l.id
JOIN lease e ON e.id = p.lease_id
WHERE EXISTS (SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id)

-- fragment: hasJobs
-- A lane has jobs that no lease holds.
EXISTS (SELECT FROM job WHERE lane_id = n.lane_id AND id > coalesce(
    (SELECT last_id FROM span WHERE lane_id = n.lane_id ORDER BY last_id DESC LIMIT 1), 0))

-- fragment: isJustDue
-- Job d is tried again, and became due a moment ago: coordinators look for such jobs each second.
(d.retry_code IS NOT NULL AND d.available_at BETWEEN now() - interval '2 seconds' AND now())

-- fragment: areOriginsLimited
EXISTS (SELECT FROM origin WHERE max_connections IS NOT NULL OR requests_per_second IS NOT NULL
        OR bytes_per_second IS NOT NULL)

-- fragment: hasLimit
coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second) IS NOT NULL

-- template: waits
-- Reasons why catalogs that run, or whose files are deleted, have nothing under way: a row a reason, with what
-- it names and when it ends, if that is known, and whether some of the catalog's jobs wait for nothing but a
-- worker. No rows of a catalog that a worker works on. Jobs are looked for behind the last span of a lane, or
-- within a span, and never counted.
WITH running AS MATERIALIZED (
    SELECT c.id, c.state, c.not_before, c.started_at, q.name AS queue, q.state AS queue_state,
           t.schedule_closed, t.next_change, t.fault_code IS NOT NULL AS is_faulty,
           t.bytes_per_second IS NOT NULL AS is_limited,
           EXISTS (SELECT FROM worker w WHERE w.last_seen > now() - interval '40 seconds'
                     AND (w.queues IS NULL OR q.name = ANY(w.queues))) AS has_worker,
           EXISTS (SELECT FROM worker w WHERE w.last_seen > now() - interval '40 seconds'
                     AND w.idle_connections > 0
                     AND (w.queues IS NULL OR q.name = ANY(w.queues))) AS has_idle_worker
    FROM ({{chosen}}) AS c
    JOIN queue q ON q.id = c.queue_id
    JOIN site t ON t.id = c.site_id
    WHERE c.state = 'running'
       -- Removed assets leave it as it is.
       OR c.state = 'interrupted'
          AND EXISTS (SELECT FROM delayed_job d WHERE d.catalog_id = c.id AND d.kind = 'purge')
), held AS MATERIALIZED (
    SELECT s.*, w.name AS worker, greatest(w.last_seen, s.granted_at) AS reported_at,
           coalesce(w.active_transfers, 0) AS active_transfers,
           o.url, o.cooldown_until, o.cooldown_reason,
           coalesce(o.cooldown_until > now(), false) AS in_cooldown, {{hasLimit}} AS has_limit
    FROM ({{heldSpans}}) AS s
    LEFT JOIN worker w ON w.id = s.worker_id
    LEFT JOIN origin o ON o.id = s.origin_id AND o.id <> 0
    LEFT JOIN origin_limit m ON m.id = o.id
), idle AS MATERIALIZED (
    SELECT r.* FROM running r
    WHERE NOT EXISTS (
        SELECT FROM held h
        WHERE h.catalog_id = r.id AND h.expires_at > now()
          AND h.reported_at > now() - interval '6 seconds'
          -- A worker may hold jobs that no limit lets it begin.
          AND NOT (h.active_transfers = 0 AND h.granted_at < now() - interval '3 seconds'
                   AND (r.is_limited OR h.in_cooldown OR h.has_limit)))
), lost AS MATERIALIZED (
    SELECT h.catalog_id, h.lease_id, h.worker,
           -- One that holds a job that is tried alone is swept a lease's time later.
           greatest(h.expires_at, now())
           + CASE WHEN h.isolated THEN make_interval(secs => @lease_seconds::float8)
               ELSE interval '0' END AS ends_at
    FROM held h JOIN idle i ON i.id = h.catalog_id
    WHERE h.expires_at <= now() OR h.reported_at <= now() - interval '6 seconds'
), busy_origins AS MATERIALIZED (
    -- In a cooldown, or with a limit that workers use.
    SELECT o.id, o.url, o.cooldown_until, o.cooldown_reason,
           coalesce(o.cooldown_until > now(), false) AS in_cooldown,
           n.is_used AND {{hasLimit}} AS is_limited
    FROM (
        SELECT id, bool_or(is_used) AS is_used FROM (
            SELECT id, false AS is_used FROM origin WHERE cooldown_until > now()
            UNION ALL
            SELECT resource_id, true FROM quota WHERE kind = 'origin' AND ends_at > now()
        ) AS found GROUP BY id
    ) AS n
    JOIN origin o ON o.id = n.id
    JOIN origin_limit m ON m.id = n.id
), unwell AS MATERIALIZED (
    SELECT l.catalog_id, l.id AS lane_id, o.url, o.cooldown_until, o.cooldown_reason,
           o.in_cooldown, o.is_limited
    FROM busy_origins o
    JOIN lane l ON l.origin_id = o.id AND l.ready_since IS NOT NULL
    JOIN idle i ON i.id = l.catalog_id
    WHERE o.in_cooldown OR o.is_limited
), origins AS MATERIALIZED (
    -- That jobs wait for.
    SELECT catalog_id, url, cooldown_until, cooldown_reason, in_cooldown, is_limited
    FROM unwell n WHERE {{hasJobs}}
    UNION ALL
    SELECT h.catalog_id, h.url, h.cooldown_until, h.cooldown_reason, h.in_cooldown, h.has_limit
    FROM held h JOIN idle i ON i.id = h.catalog_id
    WHERE h.url IS NOT NULL AND h.expires_at > now()
      AND h.reported_at > now() - interval '6 seconds'
), silent AS MATERIALIZED (
    SELECT catalog_id, (array_agg(worker ORDER BY ends_at))[1] AS worker,
           count(DISTINCT lease_id) AS leases, min(ends_at) AS ends_at
    FROM lost GROUP BY catalog_id
), cooldowns AS MATERIALIZED (
    SELECT catalog_id, (array_agg(url ORDER BY cooldown_until))[1] AS url,
           (array_agg(cooldown_reason ORDER BY cooldown_until))[1] AS reason,
           count(DISTINCT url) AS origins, min(cooldown_until) AS ends_at
    FROM origins WHERE in_cooldown GROUP BY catalog_id
), full_origins AS MATERIALIZED (
    SELECT catalog_id, min(url) AS url, count(DISTINCT url) AS origins
    FROM origins WHERE is_limited AND NOT in_cooldown GROUP BY catalog_id
), paused AS MATERIALIZED (
    SELECT a.catalog_id, count(*) AS assets
    FROM idle i JOIN asset a ON a.catalog_id = i.id
    WHERE {{isPaused}} GROUP BY a.catalog_id
), awaiting AS MATERIALIZED (
    SELECT i.id AS catalog_id, count(*) AS assets, (
               SELECT q.name FROM neighbour n JOIN queue q ON q.site_id = n.site_id
               WHERE n.catalog_id = i.id ORDER BY n.place LIMIT 1) AS queue
    FROM idle i JOIN asset a ON a.catalog_id = i.id
    WHERE a.awaits_neighbour AND a.state IN ({{assetUnsettled}}) GROUP BY i.id
), free AS MATERIALIZED (
    -- With jobs that any worker could take now.
    SELECT i.id AS catalog_id
    FROM idle i
    CROSS JOIN LATERAL (
        SELECT FROM (
            SELECT id AS lane_id FROM lane
            WHERE catalog_id = i.id AND ready_since IS NOT NULL AND origin_id NOT IN (
                SELECT id FROM busy_origins WHERE in_cooldown OR is_limited)
            LIMIT 4096
        ) AS n
        WHERE {{hasJobs}} LIMIT 1
    ) AS first
    UNION
    SELECT i.id FROM idle i
    WHERE EXISTS (SELECT FROM delayed_job d
                  WHERE d.catalog_id = i.id AND d.available_at <= now() AND NOT {{isJustDue}})
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
    WHERE i.not_before > now() AND i.state = 'running'
    UNION ALL
    SELECT 'assetsNotBefore', NULL, NULL, NULL, n.not_before
    FROM (SELECT min(a.not_before) AS not_before FROM asset a
          WHERE a.catalog_id = i.id AND {{startsLater}}) AS n
    WHERE n.not_before IS NOT NULL AND i.state = 'running'
      AND NOT EXISTS (SELECT FROM free f WHERE f.catalog_id = i.id)
    UNION ALL
    SELECT 'schedule', NULL, NULL, NULL, i.next_change
    WHERE i.schedule_closed AND i.state = 'running'
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
     -- Jobs that wait for something else than time have no end.
     WHERE d.catalog_id = i.id AND d.kind <> 'purge'
       AND d.available_at > now() - interval '2 seconds' AND d.available_at < 'infinity'
       AND (d.available_at > now() OR {{isJustDue}})
       -- The next reload of a recording is no retry.
       AND NOT (d.kind = 'resolve' AND d.retry_code IS NULL
                AND EXISTS (SELECT FROM recording w WHERE w.asset_id = d.asset_id))
     ORDER BY d.available_at LIMIT 1)
    UNION ALL
    -- Files that are not deleted yet: a worker may still be storing them, or the last try failed.
    (SELECT CASE WHEN f.due_at > now() AND coalesce(d.retry_code, f.failure_code) IS NULL
                 THEN 'workerStoring' ELSE 'retry' END,
            NULL, coalesce(d.retry_code, f.failure_code), NULL, greatest(f.due_at, d.available_at)
     FROM delayed_job d
     CROSS JOIN LATERAL (
         SELECT u.due_at, a.failure_code
         FROM (SELECT asset_id, due_at FROM unneeded_file
               WHERE catalog_id = i.id AND due_at < 'infinity' ORDER BY id LIMIT 1) AS u
         JOIN asset a ON a.id = u.asset_id
     ) AS f
     WHERE d.catalog_id = i.id AND d.kind = 'purge' AND d.available_at > now()
     ORDER BY d.available_at LIMIT 1)
    UNION ALL
    SELECT 'workerSilent', s.worker, NULL, s.leases, s.ends_at
    FROM silent s WHERE s.catalog_id = i.id
    UNION ALL
    SELECT 'originCooldown', o.url, o.reason, o.origins, o.ends_at
    FROM cooldowns o WHERE o.catalog_id = i.id
    UNION ALL
    SELECT 'originLimit', o.url, NULL, o.origins, NULL
    FROM full_origins o WHERE o.catalog_id = i.id
    UNION ALL
    SELECT 'paused', NULL, NULL, p.assets, NULL FROM paused p WHERE p.catalog_id = i.id
    UNION ALL
    SELECT 'neighbour', n.queue, NULL, n.assets, NULL FROM awaiting n WHERE n.catalog_id = i.id
    UNION ALL
    SELECT 'siteLimit', NULL, NULL, NULL, NULL
    WHERE i.is_limited AND EXISTS (SELECT FROM held h WHERE h.catalog_id = i.id
                                   AND h.expires_at > now()
                                   AND h.reported_at > now() - interval '6 seconds')
    UNION ALL
    SELECT 'otherCatalogs', NULL, NULL, count(*), NULL
    FROM busy u
    WHERE u.catalog_id <> i.id AND EXISTS (SELECT FROM free f WHERE f.catalog_id = i.id)
      AND i.has_worker AND NOT i.has_idle_worker
      AND (i.not_before IS NULL OR i.not_before <= now()) AND NOT i.schedule_closed
          AND i.queue_state <> 'paused'
      AND NOT i.is_faulty
    HAVING count(*) > 0
) AS x

-- MARK: Ends

-- template: limits
-- A row for each that runs: what bounds its rate. Its origins are those with jobs left, of 4096 lanes
-- that wait at most. An origin is `full` while workers use all its connections. The last pace is that
-- between two samples, so a wait after them does not change it. Room is what the site's floor and
-- quota leave.
WITH running AS MATERIALIZED (
    SELECT * FROM ({{chosen}}) AS c
    WHERE state = 'running'
), remaining AS MATERIALIZED (
    -- Needed only while there are limits.
    SELECT c.id AS catalog_id, l.origin_id
    FROM running c
    CROSS JOIN LATERAL (
        SELECT origin_id FROM lane
        WHERE catalog_id = c.id AND origin_id <> 0 AND ready_since IS NOT NULL LIMIT 4096
    ) AS l
    WHERE {{areOriginsLimited}}
    UNION
    SELECT h.catalog_id, h.origin_id FROM ({{heldSpans}}) AS h
    WHERE h.origin_id <> 0 AND h.expires_at > now() AND {{areOriginsLimited}}
), used AS MATERIALIZED (
    SELECT resource_id AS origin_id, sum(active) AS active FROM quota
    WHERE kind = 'origin' AND ends_at > now()
      AND resource_id IN (SELECT origin_id FROM remaining)
    GROUP BY resource_id
), origins AS MATERIALIZED (
    SELECT r.catalog_id, count(*) AS origins, count(m.bytes_per_second) AS bytes_limited,
           sum(m.bytes_per_second)::float8 AS bytes_per_second,
           count(m.requests_per_second) AS requests_limited,
           sum(m.requests_per_second)::float8 AS requests_per_second,
           count(*) FILTER (WHERE u.active >= m.connections) AS full_origins,
           -- A full one, or the slowest.
           (min(ARRAY[(NOT coalesce(u.active >= m.connections, false))::int::float8,
                      coalesce(m.bytes_per_second::float8, 'infinity'),
                      coalesce(m.requests_per_second, 'infinity'), m.id]))[4]::bigint AS first_id
    FROM remaining r
    JOIN origin_limit m ON m.id = r.origin_id
    LEFT JOIN used u ON u.origin_id = m.id
    GROUP BY r.catalog_id
)
SELECT c.id AS catalog_id, q.name AS queue, t.schedule, t.max_bytes_per_second, t.bytes_per_second,
       greatest(extract(epoch FROM c.not_before - now()), 0)::float8 AS not_before_seconds,
       extract(epoch FROM (SELECT max(a.not_before) FROM asset a
                           WHERE a.catalog_id = c.id AND {{startsLater}}) - now())::float8
           AS last_start_seconds,
       extract(epoch FROM now())::float8 AS now,
       (SELECT count(*) FROM worker w WHERE w.last_seen > now() - interval '40 seconds'
           AND (w.queues IS NULL OR q.name = ANY(w.queues))) AS workers,
       least(t.available_bytes - coalesce(t.floor_bytes, 0),
             CASE WHEN t.quota_bytes IS NOT NULL THEN
           t.quota_bytes - (SELECT coalesce(sum(b.bytes), 0) FROM catalog b WHERE b.site_id = t.id)
           END)::bigint AS room_bytes,
       CASE WHEN c.pace[1] >= extract(epoch FROM c.started_at) THEN c.pace[4] - c.pace[1] END
           AS last_seconds,
       c.pace[5] - c.pace[2] AS last_segments, c.pace[6] - c.pace[3] AS last_bytes,
       coalesce(o.origins, 0) AS origins, coalesce(o.bytes_limited, 0) AS bytes_limited,
       o.bytes_per_second AS origins_bytes_per_second,
       coalesce(o.requests_limited, 0) AS requests_limited, o.requests_per_second,
       coalesce(o.full_origins, 0) AS full_origins, f.url AS origin
FROM running c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
LEFT JOIN origins o ON o.catalog_id = c.id
LEFT JOIN origin f ON f.id = o.first_id
