-- Selections: cancelled, and put before or after other work.

-- fragment: chosen
-- The assets @assets. Jobs are not joined with them: with a number of assets that is not known a
-- join looks through all of them for each job.
chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest(@assets::bigint[]) AS u(id)
)

-- fragment: underWay
-- Assets and jobs of a catalog c that are under way; no column has these counts.
CASE WHEN c.state = 'running'
    THEN c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled ELSE 0 END AS assets,
CASE WHEN c.state = 'running'
    THEN c.segments - c.segments_done - c.segments_failed ELSE 0 END AS jobs

-- unprepared: assets
-- Assets by a selection. Each of its values may be null; @is_paused selects paused ones beside those in
-- @states. Assets of the present generation, and those that have not ended although a submission that is not
-- started yet has named them; with @of_left only those that the last submission did not name.
SELECT a.id, a.state, {{isPaused}} AS is_paused FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE c.id = @catalog::bigint
  AND CASE WHEN @of_left::bool THEN a.generation < c.generation AND a.state NOT IN ({{assetGone}})
           ELSE a.generation = c.generation OR a.state IN ({{assetUnsettled}}) END
  AND (@name::text IS NULL OR a.name = @name) AND (@failure_code::text IS NULL
                                                   OR a.failure_code = @failure_code)
  AND (@pattern::text IS NULL OR a.name LIKE @pattern)
  AND {{inStates}}
ORDER BY a.id

-- name: hasName
SELECT EXISTS (SELECT FROM asset WHERE catalog_id = @catalog::bigint AND name = @name) AS has_name

-- name: lockLanes
-- No claim takes from its lanes until the end of the transaction.
SELECT count(*) AS lanes FROM (SELECT id FROM lane WHERE catalog_id = @catalog
                               ORDER BY id FOR UPDATE) AS l

-- unprepared: lockJobs
-- Locks the jobs of assets. `lockAssets` follows, in the order of reports: from then on no report adds
-- jobs or parts to them.
WITH {{chosen}}, delayed AS MATERIALIZED (
    SELECT id FROM delayed_job WHERE catalog_id = @catalog
        AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
), jobs AS MATERIALIZED (
    SELECT id FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = @catalog))
      AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
)
SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM jobs) AS jobs

-- unprepared: cancelJobs
-- The catalog's lanes are locked. Deletes the jobs of these assets, except those that publish. The
-- workers that hold some of them are notified at their next heartbeat, and their reports are stale;
-- what they may have stored by then is noted.
WITH {{chosen}}, delayed AS (
    DELETE FROM delayed_job
    WHERE catalog_id = @catalog AND kind <> 'publish'
        AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING {{droppedDelayedJob}}
), leased AS (
    DELETE FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = @catalog))
      AND kind <> 'publish' AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING {{droppedJob}}
), gone AS MATERIALIZED (
    SELECT * FROM leased UNION ALL SELECT * FROM delayed
), storing AS (
    {{notingStored}}
), notified AS (
    {{noteCancelled}}
)
SELECT count(*) AS jobs FROM gone

-- unprepared: cancelAssets
-- raises: asset.cancel
-- Those under way, or interrupted, are cancelled: what they lack counts as failed. Of one that is
-- refreshed, the refresh has failed. Directories await nothing of interrupted ones. What was added since the
-- catalog's start is not among its counts, but in the figures of the day.
WITH chosen AS MATERIALIZED (
    SELECT a.id, a.segments_failed, a.state = 'refreshing' AS is_whole, {{isCounted}} AS is_counted,
           CASE WHEN a.state <> 'interrupted' THEN a.directory_id END AS directory_id
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    WHERE a.id IN (SELECT unnest(@assets::bigint[])) AND a.state IN ({{assetCancellable}})
    ORDER BY a.id FOR UPDATE OF a
), changed AS (
    UPDATE asset a SET
        state = CASE WHEN c.is_whole THEN 'completed' ELSE 'cancelled' END,
        refreshed = CASE WHEN c.is_whole THEN 'failed' ELSE a.refreshed END,
        segments_failed = a.segments - a.segments_done,
        verifies_failed = a.verifies - a.verifies_done,
        failure_code = coalesce(a.failure_code, @code),
        failure_message = CASE WHEN a.failure_code IS NULL THEN @message
                               ELSE a.failure_message END,
        changed_at = now()
    FROM chosen c WHERE a.id = c.id
    RETURNING a.id, a.catalog_id, c.directory_id, a.state, a.failure_code, a.failure_message,
              a.segments_failed - c.segments_failed AS failed, c.is_counted
), events AS (
    {{assetEvents}}
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_cancelled,
                       segments_failed)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'cancelled' AND is_counted), sum(failed)
    FROM changed GROUP BY catalog_id, directory_id
), uncounted AS (
    INSERT INTO outcome (catalog_id, assets_cancelled)
    SELECT catalog_id, count(*) FROM changed WHERE state = 'cancelled' AND NOT is_counted
    GROUP BY catalog_id
)
SELECT count(*) AS assets FROM changed

-- unprepared: cancelCatalog
-- raises: catalog.cancel
-- The catalog's lock is held and its lanes are locked. Ends it, once nothing of it is interrupted or
-- under way but jobs that publish refreshed files, which continue and change nothing about that: checksum files
-- that are still to be written go, and count as failed, so that a retry writes them. The workers
-- that hold some of these jobs are notified at their next heartbeat.
WITH over AS MATERIALIZED (
    SELECT c.id FROM catalog c
    WHERE c.id = @catalog::bigint AND c.state IN ({{catalogCancellable}})
      -- Assets that were named since its start are not part of the run, unless they ran by then.
      AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id
                      AND a.state IN ({{assetCancellable}})
                      AND (a.state <> 'interrupted' OR a.generation = c.generation))
), delayed AS (
    DELETE FROM delayed_job d USING over
    WHERE d.catalog_id = over.id AND d.directory_id IS NOT NULL
    RETURNING 1
), gone AS (
    DELETE FROM job USING over
    WHERE job.lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = @catalog::bigint
                                  AND rank IN (0, 1, 4)))
      AND job.directory_id IS NOT NULL
    RETURNING job.lane_id, job.id
), notified AS (
    {{noteCancelled}}
), lists AS (
    SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM gone) AS jobs
), ended AS (
    UPDATE catalog c SET state = 'cancelled', ended_at = now(), checksums_outstanding = 0,
        checksums_failed = c.checksums_failed + lists.jobs
    FROM over, lists WHERE c.id = over.id
)
SELECT jobs FROM lists

-- unprepared: lockDelayed
-- Locks what of assets is on its way to a lane, as claims do before they lock lanes. `lockAssets` follows.
WITH {{chosen}}
SELECT count(*) AS jobs FROM (
    SELECT id FROM delayed_job
    WHERE catalog_id = @catalog AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
) AS d

-- unprepared: lockAssets
-- Locks assets: a report that is under way ends first, and the next one sees their priority.
WITH {{chosen}}
SELECT count(*) AS assets FROM (
    SELECT id FROM asset WHERE id IN (SELECT id FROM chosen) ORDER BY id FOR UPDATE
) AS a

-- unprepared: reprioritise
-- Answers with each asset that had another priority, and the lanes where it belongs now.
UPDATE asset a SET priority = @priority::smallint
WHERE a.id = ANY(@assets::bigint[]) AND a.priority IS DISTINCT FROM @priority::smallint
RETURNING a.id, {{ownPriority}} AS own_priority

-- unprepared: pause
-- Pauses assets that are not paused, and notes the bytes that workers have received of them. Returns the same
-- as `reprioritise`. Assets that publish their files continue.
WITH receiving AS MATERIALIZED (
    {{receiving}}
), changed AS (
    UPDATE asset a SET is_paused = true, changed_at = now(),
        paused_received_bytes = coalesce(r.bytes, a.paused_received_bytes),
        paused_expected_bytes = coalesce(r.expected, a.paused_expected_bytes),
        paused_transfers = coalesce(r.transfers, a.paused_transfers)
    FROM unnest(@assets::bigint[]) AS n(id) LEFT JOIN receiving r ON r.asset_id = n.id
    WHERE a.id = n.id AND NOT a.is_paused
      AND a.state IN ({{assetUnsettled}}) AND a.state <> 'publishing'
    RETURNING a.id, a.catalog_id, 'paused' AS state, NULL::text AS failure_code,
              NULL::text AS failure_message, {{ownPriority}} AS own_priority
), events AS (
    {{assetEvents}}
)
SELECT id, own_priority FROM changed

-- unprepared: resume
-- Resumes paused assets. Returns the same as `reprioritise`.
WITH changed AS (
    UPDATE asset a SET is_paused = false, changed_at = now()
    WHERE a.id = ANY(@assets::bigint[]) AND a.is_paused
    RETURNING a.id, a.catalog_id, 'resumed' AS state, NULL::text AS failure_code,
              NULL::text AS failure_message, {{ownPriority}} AS own_priority
), events AS (
    {{assetEvents}}
)
SELECT id, own_priority FROM changed

-- unprepared: pin
-- Excepts them from eviction, or not.
WITH changed AS (
    UPDATE asset SET is_pinned = @is_pinned::bool
    WHERE id = ANY(@assets::bigint[]) AND is_pinned <> @is_pinned::bool
    RETURNING 1
)
SELECT count(*) AS assets, 0::bigint AS jobs FROM changed

-- unprepared: notePaused
-- The catalog's lanes are locked. Notes for the workers that hold jobs of these assets.
WITH {{chosen}}
INSERT INTO paused_job (lease_id, job_id)
SELECT e.id, j.id
FROM lane l
JOIN span p ON p.lane_id = l.id
JOIN lease e ON e.id = p.lease_id
{{jobsOfSpan}}
WHERE l.catalog_id = @catalog AND j.kind <> 'publish'
  AND (j.asset_id IN (SELECT id FROM chosen)) IS TRUE
ON CONFLICT DO NOTHING

-- unprepared: forgetPaused
-- Notes that are not needed any more: what workers hold of these assets continues.
WITH {{chosen}}
DELETE FROM paused_job x USING lease e, span p, job j
WHERE e.id = x.lease_id AND p.lease_id = e.id AND x.job_id BETWEEN p.first_id AND p.last_id
  AND j.lane_id = p.lane_id AND j.id = x.job_id
  AND (j.asset_id IN (SELECT id FROM chosen)) IS TRUE

-- unprepared: moveJobs
-- The catalog's lanes are locked. What waits moves to lanes of that priority; what workers hold
-- stays in its lane.
WITH {{chosen}}, places AS MATERIALIZED (
    SELECT l.*, coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                          ORDER BY last_id DESC LIMIT 1), 0) AS last_id
    FROM lane l WHERE l.catalog_id = @catalog AND l.own_priority <> @priority::smallint
), waiting AS (
    DELETE FROM job j USING places p
    WHERE j.lane_id = p.id AND j.id > p.last_id AND (j.asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING p.queue_id, p.origin_id, p.rank, j.id, j.asset_id, j.segment_id, j.whole_id,
              j.directory_id, j.kind, j.attempt
), moved AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, whole_id, directory_id, kind, attempt)
    SELECT queue_id, @catalog, origin_id, rank, @priority::smallint, asset_id, segment_id, whole_id,
           directory_id, kind, attempt
    FROM waiting ORDER BY id RETURNING 1
), delayed AS (
    UPDATE delayed_job SET own_priority = @priority::smallint
    WHERE catalog_id = @catalog AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
      AND own_priority <> @priority::smallint
    RETURNING 1
)
SELECT (SELECT count(*) FROM moved) + (SELECT count(*) FROM delayed) AS jobs

-- name: reprioritiseCatalog
-- Answers how much of it is under way, which is not written: its lanes take the priority of their
-- catalog.
UPDATE catalog c SET priority = @priority::smallint WHERE id = @catalog::bigint
RETURNING {{underWay}}

-- name: reschedule
-- Times are in seconds since 1970, @refresh_seconds between refreshes: 0 for none, null to keep it. Answers how much of the catalog is
-- under way, which is not written. No row when the deadline of the latest submission would come
-- first. A deadline holds for what was started and for what was only opened.
WITH next AS (
    SELECT id, opened_generation > generation AS is_opened,
           CASE WHEN @not_before::float8 IS NULL THEN not_before
                WHEN @not_before::float8 > 0 THEN to_timestamp(@not_before::float8)
                    END AS not_before,
           CASE WHEN @deadline::float8 IS NULL THEN deadline
                WHEN @deadline::float8 > 0 THEN to_timestamp(@deadline::float8) END AS deadline,
           CASE WHEN @deadline::float8 IS NULL THEN opened_deadline
                WHEN @deadline::float8 > 0 THEN to_timestamp(@deadline::float8)
                    END AS opened_deadline
    FROM catalog WHERE id = @catalog::bigint
)
UPDATE catalog c SET not_before = n.not_before, deadline = n.deadline,
    opened_deadline = n.opened_deadline,
    refresh_seconds = CASE WHEN @refresh_seconds::float8 IS NULL THEN c.refresh_seconds
                           WHEN @refresh_seconds::float8 > 0 THEN @refresh_seconds::float8 END,
    refresh_at = CASE WHEN @refresh_seconds::float8 IS NULL THEN c.refresh_at
                      WHEN @refresh_seconds::float8 > 0
                          THEN now() + make_interval(secs => @refresh_seconds::float8) END
FROM next n
WHERE c.id = n.id
  AND (CASE WHEN n.is_opened THEN n.opened_deadline ELSE n.deadline END > n.not_before)
      IS NOT FALSE
RETURNING {{underWay}}
