-- Catalogs as a whole: their locks, their fold, their interruption.

-- name: lock
-- Submissions to a catalog, its start and its interruption come one at a time. An advisory lock,
-- not the row's: reports lock jobs, assets and the catalog in this order.
SELECT pg_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(),
                                              @catalog::bigint))

-- name: tryLock
-- Locks a catalog without waiting; false when another session has the lock. For a fold, which a crash of the
-- server undoes as a whole: the next one does it again, and no transaction waits for the disk.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(),
                                                  @catalog::bigint)) AS locked,
       set_config('synchronous_commit', 'off', true)

-- name: read
SELECT site_id, queue_id, has_mirrors, has_neighbours, priority, opened_generation, generation, state, assets,
       (SELECT state FROM queue WHERE queue.id = catalog.queue_id) AS queue_state,
       (SELECT storage_url FROM site WHERE site.id = catalog.site_id) AS storage_url,
       checksums_failed + (SELECT coalesce(sum(t.checksums_failed), 0)
                           FROM tally t WHERE t.catalog_id = catalog.id) AS checksums_failed
FROM catalog
WHERE id = @catalog::bigint

-- name: select
-- The catalog of that number, else those of that name, at a site or at all, else those with an asset
-- of that failure code, if one is given, in one of the states; each with the name of its queue.
SELECT c.id, n.name AS queue FROM catalog c JOIN queue n ON n.id = c.queue_id
WHERE CASE WHEN @catalog::bigint IS NOT NULL THEN c.id = @catalog
           WHEN @name::text IS NOT NULL THEN c.name = @name
           ELSE EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id
                        AND (a.generation = c.generation OR a.state IN ({{assetUnsettled}}))
                        AND (@failure_code::text IS NULL OR a.failure_code = @failure_code)
                        AND {{inStates}}) END
  AND (@site::text IS NULL OR c.site_id = ({{siteNamed}}))
ORDER BY c.id

-- name: running
SELECT id FROM catalog WHERE state = 'running' ORDER BY id

-- name: tallied
-- Catalogs that have tallies, by a loose index scan.
WITH RECURSIVE tallied AS (
    (SELECT catalog_id FROM tally ORDER BY catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM tallied t CROSS JOIN LATERAL (
        SELECT catalog_id FROM tally WHERE catalog_id > t.catalog_id ORDER BY catalog_id LIMIT 1
    ) AS n
)
SELECT catalog_id AS id FROM tallied

-- name: fold
-- raises: asset.progressed, asset.partsStored, asset.finished, asset.gaveUp, directory.settle
-- raises: catalog.finished, catalog.gaveUp, catalog.cancel, catalog.emptied
-- The catalog's lock is held. Adds what reports left in tallies to the counts of its assets, its
-- directories and itself. A directory without unsettled assets gets its SHA256SUMS written, except of a
-- cache; after the last of them the catalog has ended. One row: the new jobs, and what was added.
WITH gone AS MATERIALIZED (
    DELETE FROM tally WHERE catalog_id = @catalog::bigint RETURNING *
), assets AS (
    UPDATE asset a SET
        segments_done = a.segments_done + t.done,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        state = CASE WHEN a.state NOT IN ({{assetUnderWay}}) THEN a.state
                     ELSE settled_state(a.segments, a.segments_done + t.done, a.segments_failed,
                                        a.verifies, a.verifies_done, a.verifies_failed,
                                        a.may_lack) END,
        changed_at = now()
    FROM (
        SELECT asset_id, sum(segments_done) AS done, sum(bytes) AS bytes,
               sum(adopted_bytes) AS adopted_bytes,
               (SELECT state FROM asset WHERE id = gone.asset_id) AS old_state
        FROM gone WHERE asset_id IS NOT NULL GROUP BY asset_id ORDER BY asset_id
    ) AS t
    WHERE a.id = t.asset_id
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message,
              a.state IN ({{assetEnded}}) AS has_ended, a.state <> t.old_state AS has_changed
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.' || state, catalog_id, id, failure_code, failure_message FROM assets
    WHERE has_changed ORDER BY id
), ended AS (
    SELECT directory_id, sum(assets_completed) AS completed, sum(assets_failed) AS failed,
           sum(assets_cancelled) AS cancelled
    FROM (
        SELECT directory_id, assets_completed, assets_failed, assets_cancelled FROM gone
        WHERE directory_id IS NOT NULL OR assets_cancelled > 0
        UNION ALL
        SELECT directory_id, (state = 'completed')::int, (state = 'failed')::int, 0 FROM assets
        WHERE has_ended
    ) AS e
    GROUP BY directory_id
), directories AS (
    UPDATE directory d SET unsettled = d.unsettled - (e.completed + e.failed + e.cancelled),
        checksum_state = CASE WHEN d.unsettled = e.completed + e.failed + e.cancelled THEN 'due'
                              ELSE d.checksum_state END
    FROM ended e
    WHERE d.id = e.directory_id AND e.completed + e.failed + e.cancelled > 0 AND d.unsettled > 0
    RETURNING d.id, d.unsettled
), checksum_jobs AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, d.id, 'checksums'
    FROM directories d, catalog c WHERE d.unsettled = 0 AND c.id = @catalog::bigint
      AND {{keepsFiles}}
    RETURNING 1
), added AS (
    SELECT count(*) AS rows, coalesce((SELECT sum(completed) FROM ended), 0) AS completed,
           coalesce((SELECT sum(failed) FROM ended), 0) AS failed,
           coalesce((SELECT sum(cancelled) FROM ended), 0) AS cancelled,
           sum(segments) AS segments, sum(segments_done) AS segments_done,
           sum(segments_failed) AS segments_failed, sum(bytes) AS bytes,
           sum(adopted_bytes) AS adopted_bytes, sum(stored_bytes) AS stored_bytes,
           sum(retries) AS retries,
           sum(checksums_ended) AS checksums_ended, sum(checksums_failed) AS checksums_failed
    FROM gone
), daily AS (
    INSERT INTO outcome (catalog_id, assets_completed, assets_failed, assets_cancelled)
    SELECT @catalog::bigint, completed, failed, cancelled FROM added
    WHERE completed <> 0 OR failed <> 0 OR cancelled <> 0
), reckoned AS (
    SELECT t.*,
           c.state = 'running' AND c.checksums_outstanding - t.checksums_ended <= 0
               AND c.assets_completed + c.assets_failed + c.assets_cancelled
                   + t.completed + t.failed + t.cancelled >= c.assets
               AS ends,
           c.assets_failed + t.failed + c.checksums_failed + t.checksums_failed > 0 AS fails,
           -- Nothing of it is left, and something was.
           c.assets = 0 AND EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id AND a.state IN ({{assetCleared}}))
               AS is_emptied,
           c.assets_cancelled + t.cancelled > 0 AS is_cancelled
    FROM added t, catalog c WHERE t.rows > 0 AND c.id = @catalog::bigint
), counted AS (
    UPDATE catalog c SET
        assets_completed = c.assets_completed + t.completed,
        assets_failed = c.assets_failed + t.failed,
        assets_cancelled = c.assets_cancelled + t.cancelled,
        segments = c.segments + t.segments,
        segments_done = c.segments_done + t.segments_done,
        segments_failed = c.segments_failed + t.segments_failed,
        bytes = c.bytes + t.bytes,
        adopted_bytes = c.adopted_bytes + t.adopted_bytes,
        stored_bytes = c.stored_bytes + t.stored_bytes,
        retries = c.retries + t.retries,
        checksums_outstanding = greatest(c.checksums_outstanding - t.checksums_ended, 0),
        checksums_failed = c.checksums_failed + t.checksums_failed,
        state = CASE WHEN NOT t.ends THEN c.state WHEN t.fails THEN 'failed'
                     WHEN t.is_emptied THEN 'removed'
                     WHEN t.is_cancelled THEN 'cancelled' ELSE 'completed' END,
        ended_at = CASE WHEN t.ends THEN now() ELSE c.ended_at END,
        -- Samples of its rate, reset after a start and after two minutes without a fold.
        pace = CASE WHEN c.pace IS NULL OR c.pace[4] < extract(epoch FROM c.started_at)
                         OR s.seconds - c.pace[4] > 120
                    THEN ARRAY[s.seconds, s.segments, s.bytes, s.seconds, s.segments, s.bytes]
                    WHEN s.seconds - c.pace[4] >= 30
                    THEN ARRAY[c.pace[4], c.pace[5], c.pace[6], s.seconds, s.segments, s.bytes]
                    ELSE c.pace END
    FROM reckoned t CROSS JOIN LATERAL (
        SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds,
               (b.segments_done + b.segments_failed + t.segments_done + t.segments_failed)::float8
                   AS segments,
               (b.bytes - b.adopted_bytes + t.bytes - t.adopted_bytes)::float8 AS bytes
        FROM catalog b WHERE b.id = @catalog::bigint
    ) AS s
    WHERE c.id = @catalog::bigint
)
SELECT (SELECT count(*) FROM checksum_jobs) AS jobs,
       coalesce((SELECT q.name FROM catalog c JOIN queue q ON q.id = c.queue_id
                 WHERE c.id = @catalog::bigint), '') AS queue,
       completed::bigint, failed::bigint, cancelled::bigint,
       coalesce(segments_done, 0)::bigint AS segments_done,
       coalesce(segments_failed, 0)::bigint AS segments_failed,
       coalesce(bytes, 0)::bigint AS bytes, coalesce(adopted_bytes, 0)::bigint AS adopted_bytes,
       coalesce(retries, 0)::bigint AS retries
FROM added

-- unprepared: interruptJobs
-- The catalogs' lanes are locked. Deletes jobs, except those of the kinds @kept, which continue. Jobs that
-- workers still hold become stale; what they store of them is noted. At their next heartbeat they
-- stop, and keep what they have received for who continues. Those that write a checksum file stop
-- writing: another one may begin.
WITH delayed AS (
    DELETE FROM delayed_job WHERE catalog_id = ANY(@catalogs::bigint[]) AND kind <> ALL(@kept::text[])
    RETURNING {{droppedDelayedJob}}
), leased AS (
    DELETE FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = ANY(@catalogs::bigint[])))
        AND kind <> ALL(@kept::text[])
    RETURNING {{droppedJob}}
), gone AS MATERIALIZED (
    SELECT * FROM leased UNION ALL SELECT * FROM delayed
), storing AS (
    {{notingStored}}
), paused AS (
    {{notingPaused}}
)
INSERT INTO cancelled_job (lease_id, job_id)
SELECT e.id, g.id
FROM gone g
JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
JOIN lease e ON e.id = p.lease_id
WHERE g.kind = 'checksums'
ON CONFLICT DO NOTHING

-- unprepared: lockLanes
-- No claim takes from the lanes of these catalogs until the end of the transaction.
SELECT count(*) AS lanes FROM (SELECT id FROM lane WHERE catalog_id = ANY(@catalogs::bigint[])
                               ORDER BY id FOR UPDATE) AS l

-- unprepared: haveJobs
-- True when a report that was under way has left new jobs.
SELECT EXISTS (SELECT FROM delayed_job
               WHERE catalog_id = ANY(@catalogs::bigint[]) AND kind <> ALL(@kept::text[]))
    OR EXISTS (SELECT FROM lane l JOIN job j ON j.lane_id = l.id
               WHERE l.catalog_id = ANY(@catalogs::bigint[]) AND j.kind <> ALL(@kept::text[])) AS have_jobs

-- unprepared: noteReceived
-- The bytes that workers have received of assets that are interrupted next, and keep.
WITH receiving AS MATERIALIZED (
    {{receiving}}
)
UPDATE asset a SET paused_received_bytes = r.bytes, paused_expected_bytes = r.expected,
    paused_transfers = r.transfers
FROM receiving r
WHERE a.id = r.asset_id AND r.transfers > 0 AND a.catalog_id = ANY(@catalogs::bigint[])
  AND a.state IN ({{assetInterruptible}}) AND a.state <> 'refreshing'

-- unprepared: interruptAssets
-- raises: asset.interrupt
-- A refreshed asset is whole, as it was before. A publication continues.
WITH changed AS (
    UPDATE asset SET state = CASE WHEN state = 'refreshing' THEN 'completed' ELSE 'interrupted' END,
        changed_at = now()
    WHERE catalog_id = ANY(@catalogs::bigint[]) AND state IN ({{assetInterruptible}})
    RETURNING id, catalog_id, state, failure_code, failure_message
), events AS (
    {{assetEvents}}
)
UPDATE catalog c SET assets_completed = c.assets_completed + i.n
FROM (SELECT catalog_id, count(*) AS n FROM changed WHERE state = 'completed'
      GROUP BY catalog_id) AS i
WHERE c.id = i.catalog_id

-- unprepared: settle
-- raises: catalog.finished, catalog.gaveUp, catalog.cancel
-- Ends those of the catalogs whose assets have all ended: only their SHA256SUMS are left, which workers still write.
WITH ended AS (
    UPDATE catalog SET ended_at = now(),
        state = CASE WHEN assets_failed + checksums_failed > 0 THEN 'failed'
                     WHEN assets_cancelled > 0 THEN 'cancelled' ELSE 'completed' END
    WHERE id = ANY(@catalogs::bigint[]) AND state = 'running' AND assets > 0
      AND assets_completed + assets_failed + assets_cancelled >= assets
    RETURNING id
), directories AS (
    UPDATE directory SET unsettled = 0 WHERE catalog_id IN (SELECT id FROM ended) AND unsettled > 0
)
SELECT id FROM ended

-- unprepared: interrupt
-- raises: catalog.interrupt
WITH directories AS (
    UPDATE directory SET unsettled = 0 WHERE catalog_id = ANY(@catalogs::bigint[]) AND unsettled > 0
)
UPDATE catalog SET state = 'interrupted', ended_at = now(), checksums_outstanding = 0
WHERE id = ANY(@catalogs::bigint[]) AND state = 'running'
