-- Assets that are removed, or whose rights have expired: until their last file is gone.

-- fragment: isGone
-- Worker w was not seen for so long that it stores nothing any more. A private cluster has forgotten those of
-- its earlier runs, which are seen no more.
(w.silent_since IS NOT NULL AND w.last_seen <= now() - make_interval(secs => @grace_seconds::float8))

-- unprepared: stopStoring
-- What workers may still be sending to their site of jobs that an interruption took away, is not to
-- appear there any more: they are notified at their next heartbeat. Answers how many jobs.
WITH stale AS (
    SELECT DISTINCT x.lease_id, x.job_id
    FROM lane l
    JOIN span p ON p.lane_id = l.id
    JOIN paused_job x ON x.lease_id = p.lease_id AND x.job_id BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = x.lease_id
    WHERE l.catalog_id = @catalog::bigint
      AND NOT EXISTS (SELECT FROM worker w WHERE w.id = e.worker_id AND {{isGone}})
      AND NOT EXISTS (SELECT FROM job j WHERE j.lane_id = l.id AND j.id = x.job_id)
), notified AS (
    INSERT INTO cancelled_job (lease_id, job_id) SELECT lease_id, job_id FROM stale
    ON CONFLICT DO NOTHING
)
SELECT count(*) AS jobs FROM stale

-- unprepared: remove
-- raises: asset.remove, asset.evict, asset.expire, catalog.start
-- The catalog's lock is held, its tallies are folded, and nothing of these assets has jobs. Their
-- records are dropped; what they have stored becomes unneeded. Manifests come before what they list.
-- Where a worker that was there when an asset was ended may still be storing a file of it, its files are due
-- after @grace_seconds, counted from now with @is_storing. @state is the one that they have until then.
-- One row more stands for all interrupted bodies that they may have left.
-- Answers how many assets, and how many files.
WITH storing AS MATERIALIZED (
    -- Since when there are workers that may be storing. One may hold jobs before its first heartbeat.
    SELECT least(
        (SELECT min(w.first_seen) FROM worker w WHERE NOT {{isGone}}),
        (SELECT min(e.granted_at) FROM lease e
         WHERE NOT EXISTS (SELECT FROM worker w WHERE w.id = e.worker_id AND {{isGone}}))) AS since
), chosen AS MATERIALIZED (
    SELECT a.id, a.state, {{isCounted}} AS is_counted, a.segments, a.segments_done,
           a.segments_failed, a.bytes, a.adopted_bytes,
           CASE WHEN a.state IN ({{assetEndedEarly}})
                     AND (@is_storing::bool OR a.changed_at >= (SELECT since FROM storing))
                THEN greatest(now(), CASE WHEN @is_storing::bool THEN now() ELSE a.changed_at END
                                     + make_interval(secs => @grace_seconds::float8))
                ELSE now() END AS due_at
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    WHERE a.catalog_id = @catalog::bigint AND a.id = ANY(@assets::bigint[])
      AND a.state IN ({{assetRemovable}})
    ORDER BY a.id FOR UPDATE OF a
), segments AS (
    DELETE FROM segment s USING chosen c WHERE s.asset_id = c.id
    -- Shorter bodies are not kept when their transfers are interrupted.
    RETURNING s.id, s.asset_id, s.ordinal, s.part, s.key, c.due_at,
              c.state <> 'completed' AND coalesce(s.expected_bytes, 65536) >= 65536 AS leaves_body
), results AS (
    DELETE FROM result r USING segments s WHERE r.segment_id = s.id
    RETURNING s.asset_id, s.ordinal, s.part, s.key, s.due_at, s.leaves_body, r.done, r.bytes,
              r.failure_code
), multipart_files AS (
    DELETE FROM multipart_file m USING segments s WHERE m.segment_id = s.id
    RETURNING s.asset_id, m.site_id, m.total_bytes, s.due_at
), recordings AS (
    DELETE FROM recording r USING chosen c WHERE r.asset_id = c.id
), recorded AS (
    DELETE FROM recorded_segment r USING chosen c WHERE r.asset_id = c.id
), previous AS (
    DELETE FROM previous_file f USING chosen c WHERE f.asset_id = c.id
    RETURNING f.asset_id, f.key, f.bytes, c.due_at
), refreshed AS (
    DELETE FROM refreshed_file f USING chosen c WHERE f.asset_id = c.id
), held AS (
    UPDATE unneeded_file f SET due_at = c.due_at FROM chosen c
    WHERE f.asset_id = c.id AND f.due_at = 'infinity'
    RETURNING f.asset_id, f.due_at
), files (asset_id, ordinal, key, bytes, due_at) AS (
    -- A worker that was lost may have stored what it did not report.
    SELECT asset_id, ordinal, key, coalesce(bytes, 0), due_at FROM results
    WHERE part = 0 AND (done OR failure_code IN ({{worker.lost}}, {{worker.poison}}))
    UNION ALL
    SELECT asset_id, -1, key, bytes, due_at FROM previous WHERE bytes IS NOT NULL
), lacking AS (
    -- The first asset with such segments that are not stored. Counted: of a title with thousands of segments the
    -- statistics may say that it has one, and a join would compare each with each.
    SELECT min(n.asset_id) AS asset_id
    FROM (
        SELECT f.asset_id
        FROM (
            SELECT asset_id, 1 AS segments FROM segments WHERE leaves_body
            UNION ALL
            SELECT asset_id, -1 FROM results WHERE leaves_body AND done
        ) AS f
        GROUP BY f.asset_id HAVING sum(f.segments) > 0
    ) AS n
), bodies (asset_id, ordinal, key, bytes, due_at) AS (
    SELECT asset_id, -2, {{bodiesKey}}, total_bytes, due_at FROM multipart_files
    WHERE site_id IS NOT NULL
    UNION ALL
    -- With the asset that waits longest for the deletion of files anyway: a worker may be keeping a body
    -- until then.
    SELECT coalesce(w.asset_id, l.asset_id), -2, {{bodiesKey}}, 0, coalesce(w.due_at, now())
    FROM lacking l LEFT JOIN (
        SELECT asset_id, due_at FROM files UNION ALL SELECT asset_id, due_at FROM held
        ORDER BY due_at DESC, asset_id LIMIT 1
    ) AS w ON true
    WHERE l.asset_id IS NOT NULL
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT @catalog::bigint, -sum(bytes)
    FROM (SELECT bytes FROM results UNION ALL SELECT bytes FROM previous) AS g
    HAVING sum(bytes) > 0
), earlier AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM unneeded_file
                   WHERE catalog_id = @catalog::bigint AND due_at < 'infinity') AS is_left
), unneeded AS (
    INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes, due_at)
    SELECT c.site_id, c.id, f.asset_id, f.key, f.bytes, f.due_at
    FROM (SELECT * FROM files UNION ALL SELECT * FROM bodies) AS f
    JOIN catalog c ON c.id = @catalog::bigint
    WHERE f.key <> {{bodiesKey}} OR {{keepsFiles}}
    ORDER BY f.asset_id, f.ordinal DESC
    RETURNING key
), changed AS (
    UPDATE asset a SET
        state = @state, is_purging = true, is_cleared = false,
        generation = greatest(a.generation, n.generation), added_starts = 0, is_paused = false,
        resolved = false, redefined = false, key_taken = false, sidecars_changed = false,
        segments = 0, segments_done = 0, segments_failed = 0, verifies = 0, verifies_done = 0,
        verifies_failed = 0, bytes = 0, adopted_bytes = 0, refreshed = NULL, warnings = NULL,
        failure_code = NULL, failure_message = NULL, freed_files = 0, freed_bytes = 0,
        changed_at = now()
    FROM chosen c, catalog n
    WHERE a.id = c.id AND n.id = @catalog::bigint
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message
), events AS (
    {{assetEvents}}
), directories AS (
    UPDATE directory d SET unsettled = d.unsettled + n.assets
    FROM (SELECT directory_id, count(*) AS assets FROM changed GROUP BY directory_id) AS n
    WHERE d.id = n.directory_id
    RETURNING d.unsettled = n.assets AS was_settled
), totals AS MATERIALIZED (
    SELECT count(*) AS assets, count(*) FILTER (WHERE NOT is_counted) AS uncounted,
           count(*) FILTER (WHERE is_counted AND state = 'completed') AS completed,
           count(*) FILTER (WHERE is_counted AND state = 'failed') AS failed,
           count(*) FILTER (WHERE is_counted AND state = 'cancelled') AS cancelled,
           coalesce(sum(segments) FILTER (WHERE is_counted), 0) AS segments,
           coalesce(sum(segments_done) FILTER (WHERE is_counted), 0) AS segments_done,
           coalesce(sum(segments_failed) FILTER (WHERE is_counted), 0) AS segments_failed,
           coalesce(sum(bytes) FILTER (WHERE is_counted), 0) AS bytes,
           coalesce(sum(adopted_bytes) FILTER (WHERE is_counted), 0) AS adopted_bytes
    FROM chosen
), counted AS (
    UPDATE catalog c SET
        assets = c.assets + t.uncounted, assets_completed = c.assets_completed - t.completed,
        assets_failed = c.assets_failed - t.failed,
        assets_cancelled = c.assets_cancelled - t.cancelled,
        segments = c.segments - t.segments, segments_done = c.segments_done - t.segments_done,
        segments_failed = c.segments_failed - t.segments_failed, bytes = c.bytes - t.bytes,
        adopted_bytes = c.adopted_bytes - t.adopted_bytes,
        checksums_outstanding = c.checksums_outstanding
            + (SELECT count(*) FROM directories WHERE was_settled AND {{keepsFiles}}),
        freed_files = CASE WHEN e.is_left THEN c.freed_files ELSE 0 END,
        freed_bytes = CASE WHEN e.is_left THEN c.freed_bytes ELSE 0 END,
        state = CASE WHEN c.state IN ({{catalogSettled}}) THEN 'running' ELSE c.state END,
        started_at = CASE WHEN c.state IN ({{catalogSettled}}) THEN now() ELSE c.started_at END,
        run_id = CASE WHEN c.state IN ({{catalogSettled}}) THEN nextval('run_number')
                      ELSE c.run_id END,
        ended_at = CASE WHEN c.state IN ({{catalogSettled}}) THEN NULL ELSE c.ended_at END
    FROM totals t, earlier e WHERE c.id = @catalog::bigint AND t.assets > 0
)
SELECT assets, (SELECT count(*) FROM unneeded WHERE key <> {{bodiesKey}}) AS files FROM totals

-- name: refreshed
-- A refresh of @asset found that its manifest lists other files; those are handed in. Stored files
-- that it does not list any more.
INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes)
SELECT c.site_id, c.id, s.asset_id, s.key, r.bytes
FROM segment s
JOIN result r ON r.segment_id = s.id AND r.done
JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE s.asset_id = @asset::bigint AND s.part = 0 AND s.ordinal < {{firstSidecar}}
  AND NOT EXISTS (SELECT FROM refreshed_file f WHERE f.asset_id = s.asset_id AND f.key = s.key)
ORDER BY s.ordinal DESC

-- name: over
-- Assets whose last file is gone and whose removal has not ended, by catalog: of the first @limit that
-- are being removed, and of as many after a random one. The scalar subquery looks each one up: a join
-- would read all files that are to be deleted, each second.
WITH RECURSIVE purging AS (
    (SELECT a.catalog_id FROM asset a WHERE a.is_purging
     ORDER BY a.catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM purging p CROSS JOIN LATERAL (
        SELECT a.catalog_id FROM asset a
        WHERE a.is_purging AND a.catalog_id > p.catalog_id
        ORDER BY a.catalog_id LIMIT 1
    ) AS n
), place AS MATERIALIZED (
    SELECT p.catalog_id, b.first + floor(random() * (b.last - b.first))::bigint AS id
    FROM (SELECT catalog_id FROM purging ORDER BY random() LIMIT 1) AS p
    CROSS JOIN LATERAL (
        SELECT min(a.id) AS first, max(a.id) AS last FROM asset a
        WHERE a.catalog_id = p.catalog_id AND a.is_purging
    ) AS b
), looked AS MATERIALIZED (
    (SELECT a.catalog_id, a.id FROM asset a WHERE a.is_purging
     ORDER BY a.catalog_id, a.id LIMIT @limit::int)
    UNION
    (SELECT a.catalog_id, a.id FROM place p JOIN asset a ON a.catalog_id = p.catalog_id
         AND a.id >= p.id AND a.is_purging
     ORDER BY a.id LIMIT @limit::int)
)
SELECT l.catalog_id, array_agg(l.id) AS assets FROM looked l
WHERE NOT (SELECT EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = l.id))
GROUP BY l.catalog_id ORDER BY l.catalog_id

-- name: finish
-- raises: asset.purged, directory.settle, directory.rewrite, catalog.start
-- The catalog's lock is held. Those of @assets whose last file is gone are removed. Their directories get their
-- SHA256SUMS written, and the fold that follows ends the catalog after the last of them. One that is there names
-- files that are gone: it is written again although other assets of its directory are paused or wait, once the
-- last of its removals that make progress has ended. An interrupted catalog
-- ends too once it has no interrupted asset. Earlier failures of checksum files no longer count.
WITH over AS MATERIALIZED (
    SELECT a.id, a.directory_id, {{isCounted}} AS is_counted
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    WHERE a.id = ANY(@assets::bigint[]) AND a.catalog_id = @catalog::bigint
      AND a.is_purging
      AND NOT EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = a.id)
    ORDER BY a.id FOR UPDATE OF a
), changed AS (
    UPDATE asset a SET
        state = CASE WHEN a.state = 'expiring' THEN 'expired' ELSE 'removed' END,
        is_purging = false, is_cleared = true, failure_code = NULL, failure_message = NULL,
        changed_at = now()
    FROM over o WHERE a.id = o.id
    RETURNING a.id, a.catalog_id, a.state, NULL::text AS failure_code,
              json_build_object('freed', json_build_object(
                  'files', a.freed_files, 'bytes', a.freed_bytes))::text AS failure_message
), events AS (
    {{assetEvents}}
), ended AS MATERIALIZED (
    SELECT directory_id, count(*) FILTER (WHERE is_counted) AS counted FROM over
    GROUP BY directory_id
), outdated AS MATERIALIZED (
    SELECT b.id FROM ended e JOIN directory b ON b.id = e.directory_id
    WHERE b.unsettled > e.counted AND b.checksum_state IS NOT NULL
      -- Looked up by the directory: as a join it would read all assets that are being removed, for each page.
      -- Those whose files could not be deleted make progress once a file is due again.
      AND (SELECT a.id FROM asset a
           WHERE a.directory_id = b.id AND a.is_purging AND a.id NOT IN (SELECT id FROM over)
             AND (a.failure_code IS NULL OR EXISTS (
                 SELECT FROM unneeded_file f WHERE f.asset_id = a.id AND f.due_at <= now()))
           LIMIT 1) IS NULL
), directories AS (
    UPDATE directory d SET unsettled = greatest(b.unsettled - e.counted, 0),
        checksum_state = CASE WHEN b.unsettled <= e.counted OR o.id IS NOT NULL THEN 'due'
                              ELSE d.checksum_state END
    FROM ended e JOIN directory b ON b.id = e.directory_id LEFT JOIN outdated o ON o.id = b.id
    WHERE d.id = e.directory_id
    RETURNING d.id, d.unsettled, b.unsettled AS before,
              d.unsettled = 0 OR o.id IS NOT NULL AS is_due
), checksum_jobs AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, d.id, 'checksums'
    FROM directories d, catalog c WHERE d.is_due AND c.id = @catalog::bigint
      AND {{keepsFiles}}
), counted AS (
    UPDATE catalog c SET
        assets = c.assets - n.counted,
        -- Directories with assets that have not ended count already.
        checksums_outstanding = c.checksums_outstanding
            + (SELECT count(*) FROM directories
               WHERE is_due AND (before = 0 OR unsettled > 0) AND {{keepsFiles}}),
        checksums_failed = CASE WHEN c.assets <= n.counted THEN 0 ELSE c.checksums_failed END,
        state = CASE WHEN n.resumes THEN 'running' ELSE c.state END,
        started_at = CASE WHEN n.resumes THEN now() ELSE c.started_at END,
        run_id = CASE WHEN n.resumes THEN nextval('run_number') ELSE c.run_id END,
        ended_at = CASE WHEN n.resumes THEN NULL ELSE c.ended_at END
    FROM (
        SELECT o.counted, b.state = 'interrupted'
                   AND b.assets_completed + b.assets_failed + b.assets_cancelled + o.counted >= b.assets
                   AS resumes
        FROM catalog b, (SELECT coalesce(sum(counted), 0) AS counted FROM ended) AS o
        WHERE b.id = @catalog::bigint
    ) AS n
    WHERE c.id = @catalog::bigint AND EXISTS (SELECT FROM over)
), tallied AS (
    INSERT INTO tally (catalog_id) SELECT @catalog::bigint WHERE EXISTS (SELECT FROM over)
)
SELECT count(*) AS assets FROM over
