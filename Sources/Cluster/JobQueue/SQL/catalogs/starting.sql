-- A start of a catalog: every asset that is not done gets its jobs.

-- name: hasNeighbours
-- True if another catalog of its site has files in any of its directories.
SELECT EXISTS (
    SELECT FROM directory d
    CROSS JOIN LATERAL (
        SELECT FROM directory e
        WHERE e.site_id = d.site_id AND e.path = d.path AND e.catalog_id <> d.catalog_id
    ) AS o
    WHERE d.catalog_id = @catalog::bigint
      -- Looked at once: most sites have one catalog.
      AND EXISTS (
          SELECT FROM catalog c JOIN catalog n ON n.site_id = c.site_id AND n.id <> c.id
          WHERE c.id = @catalog::bigint)
) AS has_neighbours

-- unprepared: contents
-- What a start has to look for, in one scan. `is_new`: nothing of the catalog was started before, or
-- named otherwise, so that no statement of a start that ends earlier work has anything to do.
-- `is_plain`: all assets are files without sidecars. The catalog is locked.
SELECT coalesce(bool_and(state = 'new' AND generation = @generation::int AND NOT redefined
                         AND NOT url_changed AND NOT sidecars_changed AND renewing_since IS NULL),
                true) AS is_new,
       coalesce(bool_and(kind = 'file' AND sidecars IS NULL AND NOT key_taken), true) AS is_plain,
       coalesce(bool_and(name = key AND sidecars IS NULL), true) AS has_own_keys,
       coalesce(bool_or(is_waiting OR not_before IS NOT NULL), false) AS has_start_times,
       coalesce(bool_or(expires_at IS NOT NULL OR max_sites IS NOT NULL
                        OR max_fetches IS NOT NULL), false) AS has_rights,
       EXISTS (SELECT FROM found_file) AS has_found_files
FROM asset WHERE catalog_id = @catalog::bigint

-- fragment: losingWork
-- Assets whose work the start takes away from workers: those that leave the catalog, have other
-- sidecars, are redefined, have their manifests read again or are to be rejected.
leaving AS MATERIALIZED (
    SELECT id FROM asset a
    WHERE catalog_id = @catalog AND (redefined OR renewing_since IS NOT NULL
        OR ((generation < @generation OR sidecars_changed) AND state IN ({{assetUnsettled}}))
        OR {{cannotEnd}})
)

-- fragment: cannotEnd
-- Asset a is under way, was never complete, and now has rights that contradict each other: it is interrupted, so
-- that the start rejects it.
(a.state IN ({{assetUnsettled}}) AND a.state <> 'new' AND a.completed_at IS NULL
 AND {{isContradictory}})

-- unprepared: lockWork
-- Locks the jobs of assets that lose their work, and checksum files that may come too early. Answers
-- how many jobs there were and how many are locked. `lockAssets` follows, in the order of reports.
-- Jobs that a claim or a report was moving meanwhile lie elsewhere by now, and what reports added
-- before the assets were locked is not seen: both are to be run a second time, and until the numbers
-- are equal. From then on nothing adds jobs or parts to them.
WITH {{losingWork}}, delayed_there AS MATERIALIZED (
    SELECT id FROM delayed_job
    WHERE catalog_id = @catalog
      AND (directory_id IS NOT NULL OR asset_id IN (SELECT id FROM leaving))
), delayed AS MATERIALIZED (
    SELECT id FROM delayed_job WHERE id IN (SELECT id FROM delayed_there) ORDER BY id FOR UPDATE
), there AS MATERIALIZED (
    SELECT j.lane_id, j.id FROM lane l JOIN job j ON j.lane_id = l.id
    WHERE l.catalog_id = @catalog
      AND (j.directory_id IS NOT NULL OR j.asset_id IN (SELECT id FROM leaving))
), jobs AS MATERIALIZED (
    SELECT j.id FROM there t JOIN job j ON j.lane_id = t.lane_id AND j.id = t.id
    ORDER BY j.id FOR UPDATE OF j
)
SELECT (SELECT count(*) FROM delayed_there) + (SELECT count(*) FROM there) AS found,
       (SELECT count(*) FROM delayed) + (SELECT count(*) FROM jobs) AS locked

-- unprepared: lockAssets
-- Locks the assets that lose their work.
WITH {{losingWork}}
SELECT count(*) AS assets FROM (
    SELECT id FROM asset WHERE id IN (SELECT id FROM leaving) ORDER BY id FOR UPDATE
) AS a

-- name: awaitedPublication
-- An asset that is to be dropped or restarted while its files are published. The start has locked
-- its work.
SELECT name, url FROM asset
WHERE catalog_id = @catalog AND state = 'publishing'
    AND (redefined OR generation < @generation OR sidecars_changed)
LIMIT 1

-- name: endRenewals
-- Ends reads of manifests for fresh URLs that outlived what waited for them: their titles have
-- ended, and a start may give these a job that reads the manifest for the first time.
WITH ended AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = @catalog::bigint AND renewing_since IS NOT NULL
        AND state NOT IN ({{assetUnsettled}})
    ORDER BY id FOR NO KEY UPDATE
), jobs AS (
    DELETE FROM job USING ended e, lane l
    WHERE l.catalog_id = @catalog::bigint AND job.lane_id = l.id AND job.asset_id = e.id
        AND job.kind = 'resolve'
), delayed AS (
    DELETE FROM delayed_job d USING ended e
    WHERE d.catalog_id = @catalog::bigint AND d.asset_id = e.id AND d.kind = 'resolve'
)
UPDATE asset a SET renewing_since = NULL FROM ended e WHERE a.id = e.id

-- name: forget
-- raises: asset.redefine, asset.interrupt
-- The catalog's lanes are locked. Drops the jobs of assets that left the catalog, have other sidecars,
-- are to be rejected or were redefined, and what was known of the last; of titles that is put aside. One that is
-- refreshed is whole, and was. Workers that hold some of the jobs are notified at their next
-- heartbeat; what they may have stored by then is noted.
WITH leaving AS MATERIALIZED (
    SELECT id, kind, redefined, state, state = 'refreshing' AND NOT redefined AS is_whole
    FROM asset a
    WHERE catalog_id = @catalog AND (redefined
        OR ((generation < @generation OR sidecars_changed) AND state IN ({{assetUnsettled}}))
        OR {{cannotEnd}})
    ORDER BY id FOR UPDATE
), leased AS (
    DELETE FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = @catalog))
      AND (asset_id IN (SELECT id FROM leaving)) IS TRUE
    RETURNING {{droppedJob}}
), delayed AS (
    DELETE FROM delayed_job
    WHERE catalog_id = @catalog AND (asset_id IN (SELECT id FROM leaving)) IS TRUE
    RETURNING {{droppedDelayedJob}}
), gone AS MATERIALIZED (
    SELECT * FROM leased UNION ALL SELECT * FROM delayed
), storing AS (
    {{notingStored}}
), notified AS (
    {{notingPaused}}
), {{puttingAside}}, recordings AS (
    DELETE FROM recording r USING leaving WHERE leaving.redefined AND r.asset_id = leaving.id
), recorded AS (
    DELETE FROM recorded_segment r USING leaving WHERE leaving.redefined AND r.asset_id = leaving.id
), unneeded AS (
    -- Nothing is put aside of an asset that is a file now.
    INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes)
    SELECT c.site_id, c.id, s.asset_id, s.key, s.bytes FROM results s, catalog c
    WHERE c.id = @catalog AND s.kind = 'file' AND s.part = 0 AND s.done
      AND {{keepsFiles}}
    ORDER BY s.asset_id, s.ordinal DESC
), forgotten AS (
    UPDATE asset a SET
        state = CASE WHEN a.redefined THEN 'new' WHEN leaving.is_whole THEN 'completed'
                     ELSE 'interrupted' END,
        is_purging = false, is_cleared = false,
        directory_id = CASE WHEN NOT a.redefined THEN a.directory_id ELSE (
            SELECT d.id FROM directory d
            WHERE d.catalog_id = @catalog AND d.path = regexp_replace(a.key, '/?[^/]*$', '')) END,
        redefined = false, resolved = a.resolved AND NOT a.redefined,
        completed_at = CASE WHEN NOT a.redefined THEN a.completed_at END,
        kept_until = CASE WHEN NOT a.redefined THEN a.kept_until END,
        is_fetch_counted = a.is_fetch_counted AND NOT a.redefined,
        paused_received_bytes = CASE WHEN NOT a.redefined THEN a.paused_received_bytes ELSE 0 END,
        paused_expected_bytes = CASE WHEN NOT a.redefined THEN a.paused_expected_bytes ELSE 0 END,
        paused_transfers = CASE WHEN NOT a.redefined THEN a.paused_transfers ELSE 0 END,
        segments = CASE WHEN leaving.is_whole THEN a.segments ELSE 0 END,
        segments_done = CASE WHEN leaving.is_whole THEN a.segments_done ELSE 0 END,
        segments_failed = 0,
        verifies = CASE WHEN leaving.is_whole THEN a.verifies ELSE 0 END,
        verifies_done = CASE WHEN leaving.is_whole THEN a.verifies_done ELSE 0 END,
        verifies_failed = 0,
        bytes = CASE WHEN leaving.is_whole THEN a.bytes ELSE 0 END,
        adopted_bytes = CASE WHEN leaving.is_whole THEN a.adopted_bytes ELSE 0 END,
        refreshed = NULL,
        failure_code = NULL, failure_message = NULL,
        warnings = CASE WHEN NOT a.redefined THEN a.warnings END, changed_at = now()
    FROM leaving WHERE a.id = leaving.id
    RETURNING a.id, a.catalog_id, a.state, a.failure_code, a.failure_message,
              a.state <> leaving.state AS has_changed
), changed AS NOT MATERIALIZED (
    SELECT * FROM forgotten WHERE has_changed
)
{{assetEvents}}

-- name: renew
-- Files that were submitted again with another signature get it; of titles that are not under way
-- the manifest is read again, and what is stored stays so.
WITH changed AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int AND url_changed
    ORDER BY id FOR NO KEY UPDATE
), renewed AS MATERIALIZED (
    UPDATE asset SET url_changed = false,
        resolved = resolved AND (kind = 'file' OR state = 'completed'
                                 OR state IN ({{assetUnsettled}}) AND state <> 'new')
    WHERE id IN (SELECT id FROM changed)
    RETURNING id, kind, url
)
UPDATE segment s SET url = n.url, renewed_at = now()
FROM renewed n WHERE n.kind = 'file' AND s.asset_id = n.id AND s.ordinal = 0

-- name: lanes
-- The lanes that the start may need, made; of a new catalog of files alone, those of its files.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT @queue::bigint, @catalog::bigint, n.origin_id, n.rank, n.own_priority
FROM (
    SELECT origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2 END AS rank,
           {{ownPriority}} AS own_priority
    FROM asset a WHERE catalog_id = @catalog AND generation = @generation
      AND state IN ({{assetStartable}})
    UNION
    SELECT s.origin_id, 3, {{ownPriority}}
    FROM asset a JOIN segment s ON s.asset_id = a.id
    WHERE NOT @plain::bool AND a.catalog_id = @catalog AND a.generation = @generation
      AND a.kind <> 'file' AND a.state IN ({{assetStartable}})
    UNION
    SELECT o.id, 3, {{ownPriority}}
    FROM asset a, jsonb_to_recordset(a.sidecars) AS s(origin text) JOIN origin o ON o.url = s.origin
    WHERE NOT @plain::bool AND a.catalog_id = @catalog AND a.generation = @generation
      AND a.sidecars IS NOT NULL AND a.state IN ({{assetStartable}})
    UNION
    SELECT 0, 0, {{ownPriority}}
    FROM asset a JOIN segment s ON s.asset_id = a.id JOIN multipart_file mf ON mf.segment_id = s.id
    WHERE NOT @plain::bool AND a.catalog_id = @catalog AND a.generation = @generation
) AS n
ORDER BY 3, 4, 5
ON CONFLICT DO NOTHING

-- name: lockLanes
-- Locks its lanes before numbers are drawn; what is added to them makes them ready, and a lane that
-- turns out to be empty is not for long.
WITH locked AS MATERIALIZED (
    SELECT id FROM lane WHERE catalog_id = @catalog ORDER BY id FOR UPDATE
)
-- Written whatever this statement's snapshot says: a claim that held the lock may have emptied it.
UPDATE lane SET ready_since = coalesce(lane.ready_since, now()) FROM locked
WHERE lane.id = locked.id AND own_priority >= -1

-- unprepared: newFiles
-- raises: asset.start
-- The short way for files that were never started and have no sidecars: each is one segment and one
-- job.
WITH fresh AS MATERIALIZED (
    SELECT id, origin_id, url, key, expected_bytes, expected_sha256, expected_digests,
           {{ownPriority}} AS own_priority
    FROM asset a
    WHERE catalog_id = @catalog AND generation = @generation AND state = 'new' AND kind = 'file'
      AND sidecars IS NULL
), segments AS (
    INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                         expected_sha256, expected_digests)
    SELECT id, origin_id, 0, 'file', url, key, expected_bytes, expected_sha256, expected_digests
    FROM fresh ORDER BY id
    RETURNING id, asset_id, origin_id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, kind, attempt)
    SELECT l.id, g.asset_id, g.id, 'fetch', 0
    FROM segments g
    JOIN fresh f ON f.id = g.asset_id
    JOIN lane l ON l.catalog_id = @catalog AND l.origin_id = g.origin_id AND l.rank = 3
        AND l.own_priority = f.own_priority
    ORDER BY g.asset_id
), started AS (
    UPDATE asset a SET state = 'ready', resolved = true, segments = 1, retries = 0,
        changed_at = now()
    FROM fresh WHERE a.id = fresh.id
), changed AS NOT MATERIALIZED (
    SELECT id, @catalog::bigint AS catalog_id, 'ready' AS state, NULL::text AS failure_code,
           NULL::text AS failure_message
    FROM fresh
)
{{assetEvents}}

-- unprepared: fileSegments
-- A file asset that was never started is one segment; it may have been interrupted before its first
-- start, or rejected because of its key.
INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes, expected_sha256,
                     expected_digests)
SELECT id, origin_id, 0, 'file', url, key, expected_bytes, expected_sha256, expected_digests
FROM asset
WHERE catalog_id = @catalog AND generation = @generation AND state IN ({{assetRefusable}})
    AND kind = 'file'
  AND NOT key_taken
ORDER BY id
ON CONFLICT (asset_id, ordinal, part) DO NOTHING

-- name: dropSidecars
-- Drops the segments of sidecars that their assets no longer name alike at that place, and their
-- results; what is known of the assets' own segments stays. Another signature makes no other
-- sidecar. Nothing of them is under way.
WITH changed AS MATERIALIZED (
    UPDATE asset SET sidecars_changed = false
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int AND sidecars_changed
      AND state IN ({{assetStartable}})
    RETURNING id, sidecars
), named AS MATERIALIZED (
    SELECT c.id AS asset_id, {{firstSidecar}} + n.place - 1 AS ordinal, n.*
    FROM changed c
    CROSS JOIN LATERAL ROWS FROM (
        jsonb_to_recordset(c.sidecars)
            AS (url text, key text, role text, required boolean, bytes bigint, sha256 text,
                digests text)
    ) WITH ORDINALITY AS n(url, key, role, required, bytes, sha256, digests, place)
), alike AS MATERIALIZED (
    SELECT s.id, n.url, s.url <> n.url AS is_renewed
    FROM named n
    JOIN segment s ON s.asset_id = n.asset_id AND s.ordinal = n.ordinal
    WHERE (s.key, s.role, s.optional, s.expected_bytes, s.expected_sha256, s.expected_digests)
          IS NOT DISTINCT FROM (n.key, n.role, NOT n.required, n.bytes, n.sha256, n.digests)
      AND CASE WHEN s.url = n.url THEN true ELSE {{objectOfS}} = {{objectOfN}} END
), renewed AS (
    UPDATE segment s SET url = a.url FROM alike a WHERE s.id = a.id AND a.is_renewed
), gone AS (
    DELETE FROM segment s USING changed c
    WHERE s.asset_id = c.id AND s.ordinal >= {{firstSidecar}}
      AND NOT EXISTS (SELECT FROM alike a WHERE a.id = s.id)
    RETURNING s.id, s.asset_id, s.part, s.key
), results AS (
    DELETE FROM result r USING gone g WHERE r.segment_id = g.id
    RETURNING g.asset_id, g.key, r.bytes, r.done AND g.part = 0 AS is_left
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT @catalog::bigint, -sum(bytes) FROM results HAVING sum(bytes) > 0
)
INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes)
SELECT c.site_id, c.id, g.asset_id, g.key, g.bytes FROM results g, catalog c
WHERE g.is_left AND c.id = @catalog::bigint AND {{keepsFiles}}

-- name: sidecars
-- The segments of sidecars, behind those of their assets; a title that is not resolved gets them
-- with its own.
{{sidecars}}
WHERE a.catalog_id = @catalog::bigint AND a.generation = @generation::int AND a.sidecars IS NOT NULL
  AND (a.kind = 'file' OR a.resolved)
  AND a.state IN ({{assetStartable}})
ORDER BY a.id, s.place
ON CONFLICT (asset_id, ordinal, part) DO NOTHING

-- name: dropParts
-- A completed asset is checked file by file; its parts are history.
WITH parts AS (
    DELETE FROM segment s USING asset a
    WHERE s.asset_id = a.id AND s.part > 0
      AND a.catalog_id = @catalog AND a.generation = @generation AND a.state = 'completed'
    RETURNING s.id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id RETURNING result.bytes
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT @catalog, -sum(bytes) FROM results HAVING sum(bytes) > 0
)
DELETE FROM multipart_file USING segment s, asset a
WHERE multipart_file.segment_id = s.id AND s.asset_id = a.id
  AND a.catalog_id = @catalog AND a.generation = @generation AND a.state = 'completed'

-- unprepared: jobs
-- raises: asset.start, asset.resolve
-- The catalog's lanes are locked; @assets is null for all. Jobs for what each asset that is not
-- under way lacks: a completed one every file (to be checked), others the files and parts that are
-- not done. An asset that was not resolved is resolved first.
WITH wanted AS MATERIALIZED (
    SELECT id, origin_id, kind, state, kind = 'file' OR resolved AS resolved,
           {{ownPriority}} AS own_priority
    FROM asset a
    WHERE catalog_id = @catalog AND generation = @generation
      AND state IN ({{assetStartable}}) AND NOT key_taken
      AND (@assets::bigint[] IS NULL OR id IN (SELECT unnest(@assets::bigint[])))
), known AS MATERIALIZED (
    SELECT w.id AS asset_id, w.state, w.own_priority, s.id, s.origin_id, s.ordinal, s.part,
           s.parent_id,
           mf.id IS NOT NULL AS is_multipart, mf.parts = mf.parts_done AS parts_stored,
           -- Bytes that were stored before do not count for a file that is still to be put together.
           w.state <> 'completed' AND mf.id IS NULL AND coalesce(r.done, false) AS done, r.bytes
    FROM wanted w
    JOIN segment s ON s.asset_id = w.id
    LEFT JOIN result r ON r.segment_id = s.id
    LEFT JOIN multipart_file mf ON mf.segment_id = s.id
    WHERE w.resolved
), whole AS MATERIALIZED (
    -- Nothing is lacking when a check was interrupted: it is checked again, or would never end.
    SELECT asset_id FROM known GROUP BY asset_id HAVING bool_and(done)
), repaired AS (
    -- Its tries are counted again, like those of a job.
    UPDATE multipart_file mf SET failed = false, attempt = 0 FROM known k WHERE mf.segment_id = k.id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, whole_id, kind, attempt)
    SELECT l.id, k.asset_id, k.segment_id, k.whole_id, k.kind, 0
    FROM (
        SELECT CASE WHEN is_multipart THEN 0 ELSE origin_id END AS origin_id, own_priority,
               asset_id, id AS segment_id,
               CASE WHEN is_multipart THEN id ELSE parent_id END AS whole_id,
               ordinal, part, CASE WHEN is_multipart THEN 'verify' ELSE 'fetch' END AS kind,
               CASE WHEN is_multipart THEN 0 ELSE 3 END AS rank
        FROM known
        WHERE (NOT is_multipart OR parts_stored)
          AND (NOT done OR asset_id IN (SELECT asset_id FROM whole))
        UNION ALL
        SELECT origin_id, own_priority, id, NULL, NULL, 0, 0, 'resolve', 2
        FROM wanted WHERE NOT resolved
    ) AS k
    JOIN lane l ON l.catalog_id = @catalog AND l.origin_id = k.origin_id AND l.rank = k.rank
        AND l.own_priority = k.own_priority
    ORDER BY k.asset_id, k.ordinal, k.part
    RETURNING 1
), started AS (
    UPDATE asset a SET
        state = CASE WHEN NOT c.resolved THEN 'resolving' WHEN c.state = 'new' THEN 'ready'
                     ELSE 'inProgress' END,
        is_cleared = false, resolved = c.resolved,
        -- A manifest that is read again is read for all renditions.
        left_out = CASE WHEN c.resolved THEN a.left_out END,
        segments = c.segments, segments_done = c.segments_done, segments_failed = 0,
        verifies = c.verifies, verifies_done = 0, verifies_failed = 0,
        bytes = c.bytes, adopted_bytes = c.bytes, retries = 0,
        refreshed = NULL, failure_code = NULL, failure_message = NULL,
        -- Nothing that was received of others is resumed.
        paused_received_bytes = CASE WHEN c.state IN ({{assetResumable}})
                                     THEN a.paused_received_bytes ELSE 0 END,
        paused_expected_bytes = CASE WHEN c.state IN ({{assetResumable}})
                                     THEN a.paused_expected_bytes ELSE 0 END,
        paused_transfers = CASE WHEN c.state IN ({{assetResumable}})
                                THEN a.paused_transfers ELSE 0 END,
        renewing_since = NULL, renewals = 0, renewed_done = c.segments_done, changed_at = now()
    FROM (
        SELECT w.id, w.resolved, w.state,
               count(k.id) FILTER (WHERE NOT k.is_multipart) AS segments,
               count(k.id) FILTER (WHERE k.done AND h.asset_id IS NULL) AS segments_done,
               count(k.id) FILTER (WHERE k.is_multipart) AS verifies,
               coalesce(sum(k.bytes) FILTER (WHERE k.done AND h.asset_id IS NULL), 0) AS bytes
        FROM wanted w
        LEFT JOIN known k ON k.asset_id = w.id
        LEFT JOIN whole h ON h.asset_id = w.id
        GROUP BY w.id, w.resolved, w.state
    ) AS c
    WHERE a.id = c.id
    RETURNING 1
), changed AS NOT MATERIALIZED (
    SELECT id, @catalog::bigint AS catalog_id,
           CASE WHEN NOT resolved THEN 'resolving' WHEN state = 'new' THEN 'ready'
                ELSE 'inProgress' END AS state,
           NULL::text AS failure_code, NULL::text AS failure_message
    FROM wanted
), events AS (
    {{assetEvents}}
)
SELECT (SELECT count(*) FROM started) AS assets, (SELECT count(*) FROM jobs) AS jobs

-- name: isolate
-- The catalog's lanes are locked. Of its jobs that are not leased, those that workers died with go to
-- where jobs are tried alone. Costs a look at an index where there are none.
WITH losses AS MATERIALIZED (
    SELECT DISTINCT kind, target_id FROM job_loss WHERE catalog_id = @catalog::bigint
        AND kind <> 'checksums'
), waiting AS (
    DELETE FROM job j USING lane l
    WHERE EXISTS (SELECT FROM losses) AND l.catalog_id = @catalog::bigint AND l.rank <> 4
      AND j.lane_id = l.id
      AND j.id > coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                           ORDER BY last_id DESC LIMIT 1), 0)
      AND ((j.kind, coalesce(j.segment_id, j.asset_id)) IN (SELECT kind, target_id FROM losses)
           OR (j.kind, j.whole_id) IN (SELECT kind, target_id FROM losses)) IS TRUE
    RETURNING l.queue_id, l.origin_id, l.own_priority, j.*
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, segment_id,
                         whole_id, directory_id, kind, attempt)
SELECT queue_id, @catalog::bigint, origin_id, 4, own_priority, asset_id, segment_id, whole_id,
       directory_id, kind, attempt
FROM waiting ORDER BY id

-- unprepared: totals
-- raises: catalog.start, catalog.finished, catalog.gaveUp, catalog.cancel, directory.settle
-- Counts again what is under way by directory and in all; a SHA256SUMS that is about to be written
-- in a directory with something under way waits until that has ended, unless it names files that are
-- deleted. Tallies without an asset go:
-- the assets, which are counted in the same snapshot, have what they add, and the SHA256SUMS of a
-- directory that they end is written. The others, and those that come later, are added by the next
-- fold, which waits for the catalog's lock. The catalog runs, or has ended when nothing is lacking.
WITH tallies AS MATERIALIZED (
    DELETE FROM tally WHERE catalog_id = @catalog AND asset_id IS NULL
    RETURNING directory_id, stored_bytes, assets_completed, assets_failed, assets_cancelled,
              assets_completed + assets_failed + assets_cancelled AS ended
), daily AS (
    INSERT INTO outcome (catalog_id, assets_completed, assets_failed, assets_cancelled)
    SELECT @catalog::bigint, sum(assets_completed), sum(assets_failed), sum(assets_cancelled)
    FROM tallies HAVING sum(ended) > 0
), counted AS MATERIALIZED (
    SELECT directory_id, count(*) AS unsettled FROM asset
    WHERE catalog_id = @catalog AND generation = @generation
      AND state IN ({{assetUnsettled}}, {{assetPurging}})
    GROUP BY directory_id
), outdated AS MATERIALIZED (
    SELECT id FROM directory
    WHERE catalog_id = @catalog AND unsettled > 0 AND checksum_state = 'due'
), ended AS MATERIALIZED (
    SELECT d.id FROM directory d
    JOIN (SELECT directory_id, sum(ended) AS n FROM tallies GROUP BY directory_id) AS e
        ON e.directory_id = d.id
    WHERE d.unsettled > 0 AND d.unsettled <= e.n
      AND d.id NOT IN (SELECT directory_id FROM counted)
), checksum_jobs AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, ended.id, 'checksums' FROM ended, catalog c
        WHERE c.id = @catalog AND {{keepsFiles}}
), gone AS (
    DELETE FROM job USING lane l, counted
    WHERE l.catalog_id = @catalog AND l.rank IN (0, 1, 4) AND job.lane_id = l.id
      AND job.directory_id = counted.directory_id
      AND job.directory_id NOT IN (SELECT id FROM outdated)
    RETURNING job.lane_id, job.id
), notified AS (
    {{noteCancelled}}
), early_delayed AS (
    DELETE FROM delayed_job d USING counted
    WHERE d.catalog_id = @catalog AND d.directory_id = counted.directory_id
      AND d.directory_id NOT IN (SELECT id FROM outdated)
), directories AS (
    UPDATE directory d SET unsettled = coalesce(c.unsettled, 0),
        checksum_state = CASE WHEN d.id IN (SELECT id FROM ended) THEN 'due'
                              ELSE d.checksum_state END
    FROM directory x LEFT JOIN counted c ON c.directory_id = x.id
    WHERE d.id = x.id AND x.catalog_id = @catalog
)
UPDATE catalog c SET
    generation = @generation::int, starts = c.starts + 1,
    deadline = CASE WHEN c.generation < @generation::int THEN c.opened_deadline
                    ELSE c.deadline END,
    state = CASE WHEN t.unsettled > 0 THEN 'running'
                 WHEN t.failed > 0 THEN 'failed'
                 WHEN t.cancelled > 0 THEN 'cancelled' ELSE 'completed' END,
    started_at = CASE WHEN c.state = 'running' THEN c.started_at ELSE now() END,
    run_id = CASE WHEN c.state = 'running' THEN c.run_id ELSE nextval('run_number') END,
    ended_at = CASE WHEN t.unsettled > 0 THEN NULL ELSE now() END,
    assets = t.assets, assets_completed = t.completed, assets_failed = t.failed,
    assets_cancelled = t.cancelled,
    segments = t.segments, segments_done = t.segments_done, segments_failed = t.segments_failed,
    bytes = t.bytes, adopted_bytes = t.adopted_bytes, retries = t.retries,
    stored_bytes = c.stored_bytes + (SELECT coalesce(sum(stored_bytes), 0) FROM tallies),
    freed_files = CASE WHEN d.is_left THEN c.freed_files ELSE 0 END,
    freed_bytes = CASE WHEN d.is_left THEN c.freed_bytes ELSE 0 END,
    -- A cache has none.
    checksums_outstanding = CASE WHEN {{keepsFiles}} THEN
        (SELECT count(*) FROM counted) + (SELECT count(*) FROM ended) + (
        SELECT count(*) FROM (
            SELECT j.directory_id FROM lane l JOIN job j ON j.lane_id = l.id
            WHERE l.catalog_id = @catalog AND l.rank IN (0, 1, 4) AND j.directory_id IS NOT NULL
            UNION ALL
            SELECT directory_id FROM delayed_job
            WHERE catalog_id = @catalog AND directory_id IS NOT NULL
        ) AS s WHERE s.directory_id NOT IN (SELECT directory_id FROM counted)
            OR s.directory_id IN (SELECT id FROM outdated)) ELSE 0 END,
    checksums_failed = 0
FROM (
    SELECT count(*) AS assets,
           count(*) FILTER (WHERE state = 'completed') AS completed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
           count(*) FILTER (WHERE state IN ({{assetUnsettled}}, {{assetPurging}})) AS unsettled,
           coalesce(sum(segments), 0) AS segments,
           coalesce(sum(segments_done), 0) AS segments_done,
           coalesce(sum(segments_failed), 0) AS segments_failed,
           coalesce(sum(bytes), 0) AS bytes, coalesce(sum(adopted_bytes), 0) AS adopted_bytes,
           coalesce(sum(retries), 0) AS retries
    FROM asset WHERE catalog_id = @catalog AND generation = @generation AND state NOT IN ({{assetCleared}})
) AS t, (
    -- A removal that is not over yet.
    SELECT EXISTS (
        SELECT FROM unneeded_file WHERE catalog_id = @catalog AND due_at < 'infinity'
    ) AS is_left
) AS d
WHERE c.id = @catalog

-- name: left
-- Assets of @generation, the one before this start, that were not named again.
SELECT count(*) AS assets FROM asset WHERE catalog_id = @catalog::bigint
    AND generation = @generation::int AND state NOT IN ({{assetGone}})

-- name: changed
-- The start has dropped what was known of redefined assets. Those that need jobs: all but the completed ones
-- whose sidecars are as before. New files have a way of their own (`newFiles`).
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
  AND state IN ({{assetStartable}}) AND (state <> 'completed' OR sidecars_changed OR NOT resolved)
  AND NOT (state = 'new' AND kind = 'file' AND sidecars IS NULL)

-- name: notFailed
-- The assets that need jobs without those that have failed before. New files have a way of their own
-- (`newFiles`).
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
  AND state IN ({{assetStartable}}) AND state <> 'failed'
  AND NOT (state = 'new' AND kind = 'file' AND sidecars IS NULL)

-- unprepared: interruptedAssets
-- Assets that a start resumes although nothing of them failed.
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
    AND state IN ({{assetInterrupted}})
