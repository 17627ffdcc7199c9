-- Sites: schedules, limits, room, faults and volumes.

-- fragment: failuresOfOneWorker
-- Faults that one worker finds, and others may not: they end when a worker can use the site.
{{storage.otherVolume}}, {{storage.sitePermission}}, {{storage.sharedDirectory}}

-- name: named
SELECT storage_url FROM site WHERE id = ({{siteNamed}})

-- name: status
-- @site is a queue's name or a storage URL, or null for all.
SELECT t.id, q.name AS queue, t.storage_url, t.schedule, t.max_bytes_per_second,
       t.schedule_closed AS closed,
       t.bytes_per_second, extract(epoch FROM t.next_change)::float8 AS next_change,
       t.floor_bytes, t.quota_bytes, t.keep_seconds, t.available_bytes, t.volume_id,
       extract(epoch FROM t.not_before)::float8 AS not_before,
       extract(epoch FROM t.expires_at)::float8 AS expires_at,
       t.audit_seconds, t.audit_deep, t.audit_repairs, t.serves_url,
       t.evict, t.max_fetches, t.fetch_seconds, t.max_sites,
       t.fault_code, t.fault_message,
       CASE WHEN t.fault_code IS NOT NULL
            THEN extract(epoch FROM t.fault_since)::float8 END AS fault_since,
       {{storedBytes}} AS used_bytes,
       (SELECT count(*) FROM catalog c WHERE c.site_id = t.id) AS catalogs,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM site t JOIN queue q ON q.site_id = t.id
WHERE @site::text IS NULL OR q.name = @site OR t.storage_url = @site
ORDER BY q.name

-- name: bounded
-- Reads whether any site has a bandwidth in force or any origin a limit, and whether any site has a bound to
-- its space, cannot be written or has something that is to be removed.
SELECT coalesce(bool_or(bytes_per_second IS NOT NULL), false)
           OR EXISTS (SELECT FROM origin WHERE max_connections IS NOT NULL
                      OR requests_per_second IS NOT NULL
                          OR bytes_per_second IS NOT NULL) AS is_limited,
       coalesce(bool_or(floor_bytes IS NOT NULL OR quota_bytes IS NOT NULL
                        OR fault_code IS NOT NULL), false)
           OR EXISTS (SELECT FROM abandoned_multipart_file) AS is_narrow
FROM site

-- name: set
UPDATE site SET schedule = @schedule, max_bytes_per_second = @max_bytes_per_second::bigint,
    floor_bytes = @floor_bytes::bigint, quota_bytes = @quota_bytes::bigint,
    not_before = to_timestamp(@not_before::float8),
    expires_at = to_timestamp(@expires_at::float8),
    keep_seconds = @keep_seconds::float8, max_fetches = @max_fetches::int,
    fetch_seconds = @fetch_seconds::float8, max_sites = @max_sites::int,
    evict = coalesce(@evict::text, evict), evict_retry_at = NULL,
    audit_seconds = @audit_seconds::int, audit_deep = coalesce(@audit_deep::bool, audit_deep),
    audit_repairs = coalesce(@audit_repairs::bool, audit_repairs),
    serves_url = @serves_url::text,
    serves_origin_id = (SELECT id FROM origin WHERE url = @serves_origin::text)
WHERE id = @site::bigint

-- name: apply
-- @schedule and @max_bytes_per_second are as they were when the rest was calculated from them;
-- @next_change is in seconds since 1970. One row when that is new.
UPDATE site t SET schedule_closed = @closed::bool, bytes_per_second = @bytes_per_second::bigint,
    next_change = to_timestamp(@next_change::float8)
WHERE t.id = @site::bigint AND t.schedule = @schedule
  AND t.max_bytes_per_second IS NOT DISTINCT FROM @max_bytes_per_second::bigint
  AND (t.schedule_closed, t.bytes_per_second, t.next_change)
      IS DISTINCT FROM (@closed::bool, @bytes_per_second::bigint,
                        to_timestamp(@next_change::float8))
RETURNING t.id

-- name: due
-- Sites whose schedule changes now; with @all, all that have a schedule.
SELECT id, schedule, max_bytes_per_second, extract(epoch FROM clock_timestamp())::float8 AS now
FROM site WHERE schedule <> '' AND (@all::bool OR next_change <= clock_timestamp())

-- name: tryRoom
-- There may be room for what waits for some: it is tried now.
UPDATE delayed_job d SET available_at = now()
FROM queue q
WHERE q.site_id = @site::bigint AND d.queue_id = q.id AND d.failure_code IS NOT NULL
  AND d.available_at > now()

-- name: resume
-- Clears its fault.
UPDATE site SET fault_code = NULL, fault_message = NULL, fault_retry_at = NULL, fault_tries = 0,
    fault_ended_at = NULL, resumed_at = clock_timestamp()
WHERE id = @site::bigint

-- name: bounds
-- Bytes of its volume that stay free, what its quota leaves besides what others have under way and
-- what files in parts still need, whether it is to be tried before anything is fetched (also where
-- another worker's try has failed since the claim), and whether something is to be removed.
SELECT coalesce(t.floor_bytes, 0) AS floor_bytes,
       CASE WHEN t.quota_bytes IS NOT NULL
           THEN greatest(t.quota_bytes - greatest(t.under_way_bytes - (
           SELECT coalesce(sum({{bytesUnderWay}}), 0)
           FROM worker w, jsonb_each(w.progress) AS e
           {{assetOfTransfers}}
           JOIN catalog c ON c.id = a.catalog_id
           WHERE w.id = @worker::uuid AND c.site_id = t.id), 0)
           - {{storedBytes}} - (
           SELECT coalesce(sum(mf.total_bytes - mf.bytes_done), 0)
           FROM multipart_file mf JOIN segment s ON s.id = mf.segment_id
           JOIN asset a ON a.id = s.asset_id JOIN catalog c ON c.id = a.catalog_id
           WHERE c.site_id = t.id AND a.state IN ({{assetUnsettled}})), 0)::bigint
               END AS quota_left,
       t.fault_code IS NOT NULL AS is_tried,
       EXISTS (SELECT FROM abandoned_multipart_file WHERE site_id = t.id) AS is_littered
FROM site t WHERE t.id = @site::bigint

-- name: retry
-- Lets workers try again to write the sites whose time has come: those that get its jobs, or after 5
-- seconds one that is asked to. One row a site.
WITH locked AS MATERIALIZED (
    SELECT id FROM site WHERE fault_code IS NOT NULL AND fault_retry_at <= clock_timestamp()
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE site t SET fault_retry_at = NULL, fault_probe_at = clock_timestamp() + interval '5 seconds'
FROM locked l WHERE t.id = l.id
RETURNING t.id

-- name: unprobed
-- Sites that workers try again to write, and that no job of theirs has tried by now: a worker is to
-- probe each. Of each the workers that are not asked, because others have their turn.
SELECT t.id, q.name AS queue, t.storage_url,
       CASE WHEN {{isOthersTurn}} THEN t.fault_probed_by ELSE '{}' END AS asked
FROM site t JOIN queue q ON q.site_id = t.id
WHERE {{isUnprobed}}
ORDER BY t.fault_probe_at, t.id LIMIT 1000

-- name: probe
-- Asks a worker to probe a site: one row, unless another was asked, or the fault has ended. The next
-- one is asked after the time between tries, as if this one had failed.
UPDATE site t SET
    fault_probe_at = clock_timestamp() + make_interval(secs => least(5 * 2 ^ t.fault_tries, 60)),
    fault_tries = least(t.fault_tries + 1, 10),
    fault_probed_by = CASE
        WHEN @worker::uuid = ANY(t.fault_probed_by) OR cardinality(t.fault_probed_by) >= 1000
        THEN ARRAY[@worker::uuid] ELSE t.fault_probed_by || @worker::uuid END
FROM queue q
WHERE t.id = @site::bigint AND q.site_id = t.id AND {{isUnprobed}}
  AND NOT ({{isOthersTurn}} AND @worker::uuid = ANY(t.fault_probed_by))
RETURNING t.storage_url, t.volume_id

-- fragment: isUnprobed
-- No job has tried site t of queue q since its time came.
t.fault_code IS NOT NULL AND t.fault_retry_at IS NULL AND t.fault_probe_at <= clock_timestamp()
AND q.state <> 'paused'

-- fragment: isOthersTurn
-- Workers that were asked to probe site t leave it to others for 10 seconds.
t.fault_probe_at > clock_timestamp() - interval '10 seconds'

-- name: noteUnderWay
-- Notes what is under way at sites that have a quota.
WITH {{sitesUnderWay}}, locked AS MATERIALIZED (
    SELECT t.id, coalesce(u.bytes, 0) AS bytes
    FROM site t LEFT JOIN under_way u ON u.site_id = t.id
    WHERE t.quota_bytes IS NOT NULL AND t.under_way_bytes <> coalesce(u.bytes, 0)
    ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE site t SET under_way_bytes = l.bytes
FROM locked l WHERE t.id = l.id

-- name: quotaChanges
-- @site is null for all. Locks those to be paused, because their quota is used up, and those to be
-- resumed, of which that is no longer true: where it is used up to the byte, not before the files in
-- parts are put together. Of each the bytes that are used.
WITH looked AS MATERIALIZED (
    SELECT t.id, n.used, n.used > t.quota_bytes OR n.used = t.quota_bytes AND NOT EXISTS (
               SELECT FROM multipart_file mf JOIN segment g ON g.id = mf.segment_id
               JOIN asset a ON a.id = g.asset_id JOIN catalog c ON c.id = a.catalog_id
               WHERE c.site_id = t.id AND a.state IN ({{assetUnsettled}})) AS is_over
    FROM site t
    CROSS JOIN LATERAL (SELECT {{storedBytes}} AS used) AS n
    WHERE (@site::bigint IS NULL OR t.id = @site)
      AND (t.quota_bytes IS NOT NULL OR t.fault_retry_at = 'infinity')
)
SELECT t.id, coalesce(u.is_over, false) AS is_over, u.used, t.quota_bytes
FROM looked u JOIN site t ON t.id = u.id
WHERE CASE WHEN u.is_over THEN t.fault_code IS NULL OR t.fault_retry_at <> 'infinity'
                               OR t.fault_retry_at IS NULL
           ELSE t.fault_retry_at = 'infinity' END
ORDER BY t.id FOR NO KEY UPDATE OF t

-- name: sharedOutdated
-- Sites whose catalogs have recorded something else as stored since files were counted that several
-- assets share: @site, or all whose time has come.
SELECT t.id FROM site t
WHERE CASE WHEN @site::bigint IS NULL THEN t.shared_due_at <= clock_timestamp() ELSE t.id = @site END
  AND t.shared_of IS DISTINCT FROM {{storedSums}}
ORDER BY t.id

-- name: tryLockShared
-- One count of a site at a time.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.shared.' || current_schema(), @site::bigint))
    AS locked

-- unprepared: countShared
-- Counts the bytes that records of files of @site have more than once: of each key all but the longest
-- record. Keys are compared by their hashes. A site with one catalog of files without sidecars, of which
-- each has a key of its own, is not read. The next count waits twenty times as long as this one took.
WITH sharing AS MATERIALIZED (
    SELECT (SELECT count(*) > 1 FROM catalog WHERE site_id = @site::bigint)
        -- The order takes the index, which has no row where all assets are such files.
        OR EXISTS (SELECT FROM (SELECT FROM segment WHERE role <> 'file' AND part = 0
                                ORDER BY hashtextextended(key, 0) LIMIT 1) AS s)
           AND EXISTS (SELECT FROM catalog c JOIN asset a ON a.catalog_id = c.id
                       WHERE c.site_id = @site::bigint
                         AND (a.kind <> 'file' OR a.sidecars IS NOT NULL)) AS is_possible
), record (key, bytes) AS (
    SELECT hashtextextended(s.key, 0), r.bytes
    FROM catalog c JOIN asset a ON a.catalog_id = c.id
    JOIN segment s ON s.asset_id = a.id AND s.part = 0
    JOIN result r ON r.segment_id = s.id AND r.done
    WHERE c.site_id = @site::bigint AND (SELECT is_possible FROM sharing)
    UNION ALL
    SELECT hashtextextended(f.key, 0), f.bytes
    FROM catalog c JOIN asset a ON a.catalog_id = c.id JOIN previous_file f ON f.asset_id = a.id
    WHERE c.site_id = @site::bigint AND f.bytes IS NOT NULL AND (SELECT is_possible FROM sharing)
    UNION ALL
    SELECT hashtextextended(f.key, 0), f.bytes FROM unneeded_file f
    WHERE f.site_id = @site::bigint AND f.key <> {{bodiesKey}}
      AND (SELECT is_possible FROM sharing)
), shared AS MATERIALIZED (
    SELECT coalesce(sum(k.bytes), 0)::bigint AS bytes
    FROM (
        SELECT sum(bytes) - max(bytes) AS bytes FROM record GROUP BY key HAVING count(*) > 1
    ) AS k
)
UPDATE site t SET shared_bytes = n.bytes, shared_of = {{storedSums}},
    shared_due_at = clock_timestamp() + 20 * (clock_timestamp() - statement_timestamp())
FROM shared n WHERE t.id = @site::bigint

-- name: applyQuota
-- Pairwise sites, which are locked, and why each is paused, null for those that resume.
UPDATE site t SET fault_code = CASE WHEN q.message IS NOT NULL THEN {{storage.quota}} END,
    fault_message = q.message,
    fault_since = CASE WHEN q.message IS NOT NULL THEN clock_timestamp() ELSE t.fault_since END,
    -- No job tries the site: the quota decides.
    fault_retry_at = CASE WHEN q.message IS NOT NULL THEN 'infinity'::timestamptz END,
    fault_ended_at = CASE WHEN q.message IS NOT NULL THEN t.fault_ended_at ELSE clock_timestamp() END
FROM unnest(@sites::bigint[], @messages::text[]) AS q(id, message)
WHERE t.id = q.id

-- name: seen
-- Pairwise what a worker saw: sites, their free bytes or null, and whether it has just written
-- there. A site that was being tried then resumes; one that a worker could not use, at once. Free
-- bytes are noted every few seconds, whatever the number of workers. One row a site that resumes.
WITH seen AS (
    SELECT * FROM unnest(@sites::bigint[], @available::bigint[], @is_sound::bool[]) AS u(id,
            available, is_sound)
), locked AS MATERIALIZED (
    SELECT t.id, coalesce(t.fault_code IS NOT NULL AND t.fault_retry_at IS NULL
               OR t.fault_code IN ({{failuresOfOneWorker}}),
               false) AS is_tried
    FROM site t
    WHERE t.id = ANY(@sites::bigint[])
      AND (coalesce(t.seen_at < clock_timestamp() - interval '5 seconds', true)
           OR t.fault_code IS NOT NULL
              AND (t.fault_retry_at IS NULL
                   OR t.fault_code IN ({{failuresOfOneWorker}}))
              AND t.id = ANY(ARRAY(SELECT id FROM seen WHERE is_sound)))
    ORDER BY t.id FOR NO KEY UPDATE
), noted AS (
    UPDATE site t SET
        fault_code = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_code END,
        fault_message = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_message END,
        fault_ended_at = CASE WHEN l.is_tried AND u.is_sound THEN clock_timestamp()
                              ELSE t.fault_ended_at END,
        fault_retry_at = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_retry_at END,
        -- A worker that has only tested the site has not read them.
        available_bytes = coalesce(u.available, t.available_bytes), seen_at = clock_timestamp()
    FROM locked l JOIN seen u ON u.id = l.id
    WHERE t.id = l.id
    RETURNING t.id, l.is_tried AND u.is_sound AS continues
)
SELECT id FROM noted WHERE continues

-- name: fail
-- Pairwise. The sites of these lanes cannot be written and are paused, unless they are already; for
-- 5 seconds, and for twice as long each time that it happens again within a minute, up to a minute.
-- One row a site that is new.
WITH failed AS MATERIALIZED (
    SELECT DISTINCT ON (q.site_id) q.site_id, u.code, u.message
    FROM unnest(@lanes::bigint[], @codes::text[], @messages::text[]) AS u(lane, code, message)
    JOIN lane l ON l.id = u.lane
    JOIN queue q ON q.id = l.queue_id
    ORDER BY q.site_id, u.lane
), locked AS MATERIALIZED (
    SELECT s.id, s.fault_code IS NULL AS is_new,
           -- A worker that cannot use the site reports so now and then: that grows no pause of the
           -- others.
           CASE WHEN f.code IN ({{failuresOfOneWorker}}) THEN 1
                WHEN s.fault_code IS NOT NULL
                     OR s.fault_ended_at > clock_timestamp() - interval '1 minute'
                THEN least(s.fault_tries + 1, 10) ELSE 1 END AS tries
    FROM site s JOIN failed f ON f.site_id = s.id
    WHERE s.id = ANY(ARRAY(SELECT site_id FROM failed))
      AND (s.fault_code IS NULL OR s.fault_retry_at IS NULL)
    ORDER BY s.id FOR NO KEY UPDATE OF s
)
UPDATE site t SET fault_code = f.code, fault_message = f.message,
    fault_since = CASE WHEN n.is_new THEN clock_timestamp() ELSE t.fault_since END,
    fault_tries = n.tries,
    fault_probed_by = CASE WHEN n.is_new THEN '{}' ELSE t.fault_probed_by END,
    fault_retry_at = clock_timestamp() + make_interval(secs => least(5 * 2 ^ (n.tries - 1), 60))
FROM locked n JOIN failed f ON f.site_id = n.id
WHERE t.id = n.id
RETURNING t.id

-- name: volume
-- The volume that it is on, null while none is recorded; the file system that this was last found
-- on; and seconds since an operator resumed the site.
SELECT volume_id, volume_file_system,
       extract(epoch FROM clock_timestamp() - resumed_at)::float8 AS resumed_seconds
FROM site WHERE id = @site::bigint

-- name: lockVolumes
-- Records of volumes come one at a time, so that no two sites record the same one.
SELECT pg_advisory_xact_lock(hashtextextended('dray.volumes.' || current_schema(), 0))

-- name: othersOnVolume
-- Other sites with catalogs whose volume is one of @marks. If @site has a volume: those before it that have the same.
SELECT q.name AS queue, t.storage_url, t.volume_id, own.storage_url AS own_url,
       own.volume_id IS NULL AS is_new
FROM site own JOIN site t ON t.id <> own.id JOIN queue q ON q.site_id = t.id
WHERE own.id = @site::bigint
  AND CASE WHEN own.volume_id IS NULL THEN t.volume_id = ANY(@marks::uuid[])
           ELSE t.volume_id = own.volume_id AND t.id < own.id END
  AND EXISTS (SELECT FROM catalog c WHERE c.site_id = t.id)
ORDER BY t.id LIMIT 100

-- name: takeVolume
-- Sites without catalogs leave their directory, and its volume, to others.
UPDATE site t SET volume_id = NULL, volume_file_system = NULL
WHERE t.volume_id = @volume::uuid AND t.id <> @site::bigint
  AND NOT EXISTS (SELECT FROM catalog c WHERE c.site_id = t.id)

-- name: recordVolume
-- Records the volume that a site is on, unless one is recorded, and the file system of the recorded
-- one, for a worker whose lease holds jobs of the site. What is recorded then; no row where it holds
-- none.
UPDATE site t SET volume_id = coalesce(t.volume_id, @volume::uuid),
    volume_file_system = CASE WHEN coalesce(t.volume_id, @volume::uuid) = @volume::uuid
                              THEN @file_system::text ELSE t.volume_file_system END
WHERE t.id = @site::bigint
  AND EXISTS (SELECT FROM lease WHERE id = @lease::uuid AND worker_id = @worker::uuid)
  AND EXISTS (SELECT FROM span p JOIN lane n ON n.id = p.lane_id JOIN queue q ON q.id = n.queue_id
              JOIN job j ON j.lane_id = p.lane_id AND j.id BETWEEN p.first_id AND p.last_id
              WHERE p.lease_id = @lease::uuid AND q.site_id = @site::bigint)
RETURNING volume_id, volume_file_system

-- name: forgetVolume
-- Makes the next volume that a worker finds there the site's.
UPDATE site SET volume_id = NULL, volume_file_system = NULL WHERE id = @site::bigint

-- name: notify
-- Notifies coordinators that something else is in force at a site, which may be work for the idle.
SELECT pg_notify('dray_work', 'sites')
