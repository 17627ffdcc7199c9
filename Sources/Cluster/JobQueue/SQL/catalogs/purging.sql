-- Files that assets no longer need: recorded when an asset is removed or lists other files, and
-- deleted by workers.
--
-- A file is chosen for deletion by the statement that hands it to a worker (`page`), under the site's
-- exclusive lock, and only if nothing of the site needs its key. From then on until the deletion is
-- reported the key is outstanding: its row names a job. Whatever makes jobs for keys holds the
-- site's shared lock (`share`), and ends with `cluster.busy` where one of them is outstanding
-- (`awaited`).

-- fragment: needers
-- Assets of the site that need the key of n: a started asset itself, one of its files, a staged file that a
-- refresh is to publish, or a file that a manifest at the edge still lists while its title is read again; and
-- whether a record of it says that the file is stored.
SELECT b.id AS asset_id, b.catalog_id, b.state, EXISTS (
    SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
    WHERE s.asset_id = b.id AND s.ordinal = 0 AND s.part = 0 AND s.key = b.key
) AS is_stored
FROM asset b JOIN catalog e ON e.id = b.catalog_id
WHERE hashtextextended(b.key, 0) = hashtextextended(n.key, 0) AND b.key = n.key
  AND e.site_id = n.site_id AND b.state NOT IN ({{assetGone}}, 'new')
  -- One that was rejected needs what it has stored before, unless the key holds another object.
  AND (NOT b.key_taken OR b.failure_code <> {{storage.pathConflict}} AND EXISTS (
      SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
      WHERE s.asset_id = b.id AND s.ordinal = 0 AND s.part = 0 AND s.key = b.key))
UNION ALL
SELECT b.id, b.catalog_id, b.state,
       EXISTS (SELECT FROM result r WHERE r.segment_id = s.id AND r.done)
FROM segment s JOIN asset b ON b.id = s.asset_id JOIN catalog e ON e.id = b.catalog_id
WHERE hashtextextended(s.key, 0) = hashtextextended(n.key, 0) AND s.key = n.key
  AND s.role <> 'file' AND s.part = 0
  AND e.site_id = n.site_id AND b.state NOT IN ({{assetGone}}, 'new')
UNION ALL
SELECT b.id, b.catalog_id, b.state, false
FROM refreshed_file f JOIN asset b ON b.id = f.asset_id JOIN catalog e ON e.id = b.catalog_id
WHERE hashtextextended(f.key, 0) = hashtextextended(n.key, 0) AND f.key = n.key
  AND f.staged IS NOT NULL AND e.site_id = n.site_id AND b.state IN ({{assetRefreshing}})
UNION ALL
SELECT b.id, b.catalog_id, b.state, true
FROM previous_file f JOIN asset b ON b.id = f.asset_id JOIN catalog e ON e.id = b.catalog_id
WHERE hashtextextended(f.key, 0) = hashtextextended(n.key, 0) AND f.key = n.key
  AND f.bytes IS NOT NULL AND e.site_id = n.site_id AND b.state NOT IN ({{assetGone}})

-- fragment: hasNothing
-- Asset a was rejected at its last start, and nothing of it is stored: no manifest at the edge lists
-- files of it.
(a.key_taken AND NOT EXISTS (
    SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done WHERE s.asset_id = a.id
) AND NOT EXISTS (SELECT FROM previous_file f WHERE f.asset_id = a.id AND f.bytes IS NOT NULL))

-- name: share
-- No file of the site of @catalog, else of @asset, is chosen for deletion until the end of the
-- transaction.
SELECT pg_advisory_xact_lock_shared(
    hashtextextended('dray.purge.' || current_schema(), c.site_id))
FROM catalog c
WHERE c.id = coalesce(@catalog::bigint, (SELECT catalog_id FROM asset WHERE id = @asset::bigint))

-- name: awaited
-- The site's shared lock is held. A key that a worker is deleting and that is needed by now.
SELECT n.key FROM unneeded_file n
WHERE n.site_id = (
    SELECT site_id FROM catalog
    WHERE id = coalesce(@catalog::bigint, (SELECT catalog_id FROM asset WHERE id = @asset::bigint)))
  AND n.job_id IS NOT NULL AND EXISTS ({{needers}})
LIMIT 1

-- name: ensureJobs
-- Catalogs that have files to delete, @catalog or all, and no job for it get one.
WITH RECURSIVE owing AS (
    (SELECT catalog_id FROM unneeded_file
     WHERE due_at < 'infinity' AND (@catalog::bigint IS NULL OR catalog_id = @catalog)
     ORDER BY catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM owing o CROSS JOIN LATERAL (
        SELECT catalog_id FROM unneeded_file
        WHERE due_at < 'infinity' AND @catalog::bigint IS NULL AND catalog_id > o.catalog_id
        ORDER BY catalog_id LIMIT 1
    ) AS n
), made AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, kind)
    SELECT c.queue_id, c.id, 0, -1, -1, 0, 'purge'
    FROM owing o JOIN catalog c ON c.id = o.catalog_id
    WHERE NOT EXISTS (SELECT FROM delayed_job d WHERE d.catalog_id = c.id AND d.kind = 'purge')
      AND NOT EXISTS (
          SELECT FROM lane l JOIN job j ON j.lane_id = l.id
          WHERE l.catalog_id = c.id AND l.origin_id = 0 AND l.rank IN (-1, 4) AND j.kind = 'purge')
    RETURNING 1
)
SELECT count(*) AS jobs FROM made

-- name: catalog
SELECT catalog_id FROM lane WHERE id = @lane::bigint

-- name: limitWait
-- The rest of this transaction does not wait for a lock for long.
SELECT set_config('lock_timeout', @milliseconds::bigint || 'ms', true)

-- name: lockSite
-- No job is made for a key of the site of a lane until the end of the transaction. A start may take
-- long: the caller waits for a moment only.
SELECT l.catalog_id, c.site_id, pg_advisory_xact_lock(
    hashtextextended('dray.purge.' || current_schema(), c.site_id))
FROM span p JOIN lane l ON l.id = p.lane_id JOIN catalog c ON c.id = l.catalog_id
WHERE p.lease_id = @lease::uuid AND @job::bigint BETWEEN p.first_id AND p.last_id
  AND EXISTS (SELECT FROM job WHERE lane_id = l.id AND id = @job AND kind = 'purge')

-- name: page
-- The site is locked, and @job of @lane is held. Up to @limit files of the catalog to delete, in the order in
-- which they were recorded, manifests first: those that no other job is deleting, of assets that have ended.
-- What is needed again is forgotten where another record says that it is stored; else whatever needs it takes it
-- over. Answers also the asset of each file that is not deleted now, without a file.
WITH next AS MATERIALIZED (
    SELECT f.id, f.site_id, f.asset_id, f.key, f.key = {{bodiesKey}} AS is_of_bodies
    FROM unneeded_file f
    WHERE f.catalog_id = @catalog::bigint AND f.due_at < 'infinity' AND f.due_at <= now()
      AND (f.job_id IS NULL OR (f.lane_id, f.job_id) = (@lane::bigint, @job::bigint)
           OR NOT EXISTS (SELECT FROM job WHERE lane_id = f.lane_id AND id = f.job_id))
    ORDER BY f.id LIMIT @limit::int FOR UPDATE OF f SKIP LOCKED
), blocked AS MATERIALIZED (
    -- Files that its manifest at the edge still lists stay until the new one is there: see `releaseHeld`.
    SELECT n.id, n.asset_id FROM next n JOIN asset a ON a.id = n.asset_id
    WHERE a.state NOT IN ({{assetGone}}, 'completed') AND NOT n.is_of_bodies
      AND NOT {{hasNothing}}
), later AS (
    UPDATE unneeded_file f SET due_at = 'infinity', lane_id = NULL, job_id = NULL, lost_at = NULL
    FROM blocked b WHERE f.id = b.id
), reopened AS MATERIALIZED (
    -- Stored files that have another key in a submission that is not started yet.
    SELECT DISTINCT n.id FROM asset b JOIN catalog e ON e.id = b.catalog_id
    JOIN segment s ON s.asset_id = b.id AND s.ordinal = 0 AND s.part = 0 AND s.role = 'file'
    JOIN result r ON r.segment_id = s.id AND r.done
    JOIN next n ON n.key = s.key AND n.site_id = e.site_id
    WHERE b.redefined AND b.state NOT IN ({{assetGone}})
), needed AS MATERIALIZED (
    SELECT n.id, n.asset_id, w.asset_id AS needer, w.catalog_id,
           -- An asset has one row of a key.
           w.is_stored OR row_number() OVER (PARTITION BY w.asset_id, n.key ORDER BY n.id) > 1
               OR EXISTS (SELECT FROM unneeded_file o
                          WHERE o.asset_id = w.asset_id AND o.id <> n.id AND o.bytes > 0
                            AND hashtextextended(o.key, 0) = hashtextextended(n.key, 0)
                            AND o.key = n.key) AS is_recorded
    FROM next n CROSS JOIN LATERAL (
        SELECT * FROM (
            (SELECT a.asset_id, a.catalog_id, true AS is_stored FROM ({{needers}}) AS a
             WHERE a.is_stored LIMIT 1)
            UNION ALL
            SELECT NULL, NULL, true FROM reopened o WHERE o.id = n.id
            UNION ALL
            -- A complete asset may do without a file that is not required.
            (SELECT a.asset_id, a.catalog_id, false FROM ({{needers}}) AS a
             WHERE NOT a.is_stored AND a.state <> 'completed' LIMIT 1)
        ) AS u LIMIT 1
    ) AS w
    WHERE n.id NOT IN (SELECT id FROM blocked)
), kept AS (
    DELETE FROM unneeded_file f USING needed n WHERE f.id = n.id AND n.is_recorded
    RETURNING f.site_id, f.bytes
), site_of_kept AS MATERIALIZED (
    -- Without a wait: if another transaction has the row, the next count finds the same.
    SELECT id FROM site WHERE id IN (SELECT site_id FROM kept WHERE bytes > 0)
    FOR NO KEY UPDATE SKIP LOCKED
), unshared AS (
    -- These files stay, with a record less.
    UPDATE site t SET shared_bytes = greatest(t.shared_bytes - n.bytes, 0), shared_of = NULL
    FROM site_of_kept k, (SELECT sum(bytes)::bigint AS bytes FROM kept) AS n
    WHERE t.id = k.id
), handed AS (
    UPDATE unneeded_file f SET catalog_id = n.catalog_id, asset_id = n.needer, due_at = 'infinity',
        lane_id = NULL, job_id = NULL, lost_at = NULL
    FROM needed n WHERE f.id = n.id AND NOT n.is_recorded
    RETURNING f.bytes, f.catalog_id
), noted AS (
    -- Results of their keys end them, also in the catalog's first run.
    UPDATE catalog c SET has_taken_files = true
    WHERE c.id IN (SELECT catalog_id FROM handed) AND NOT c.has_taken_files
), moved AS (
    -- They count as stored of the catalog that needs them.
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT m.catalog_id, sum(m.bytes) FROM (
        SELECT catalog_id, bytes FROM handed UNION ALL
        SELECT @catalog::bigint, -bytes FROM handed
    ) AS m
    GROUP BY m.catalog_id HAVING sum(m.bytes) <> 0
), chosen AS (
    UPDATE unneeded_file f SET lane_id = @lane, job_id = @job, lost_at = NULL,
        offers = CASE WHEN (f.lane_id, f.job_id) = (@lane, @job) THEN f.offers
                      ELSE least(f.offers + 1, 1000) END
    FROM next n
    WHERE f.id = n.id AND f.id NOT IN (SELECT id FROM needed UNION ALL SELECT id FROM blocked)
    RETURNING f.id, f.key, n.is_of_bodies
)
SELECT id, key, is_of_bodies, NULL::bigint AS asset_id FROM chosen
UNION ALL SELECT NULL, NULL, NULL, asset_id FROM needed
UNION ALL SELECT NULL, NULL, NULL, asset_id FROM blocked
ORDER BY id

-- name: wait
-- Seconds until more files of the catalog may be due; no row when none is left.
SELECT least(greatest(extract(epoch FROM min(due_at) - now()), 0.2), 30)::float8 AS seconds
FROM unneeded_file WHERE catalog_id = @catalog::bigint AND due_at < 'infinity' HAVING count(*) > 0

-- name: releaseHeld
-- Files that were held back while their assets were not complete, of up to @limit assets: of the first
-- ones, or of those after a random one. Answers whether there may be more.
WITH RECURSIVE held AS (
    (SELECT asset_id, 1 AS place FROM unneeded_file
     WHERE due_at = 'infinity' AND asset_id >= (
         SELECT CASE WHEN @is_random::bool
                     THEN min(asset_id) + floor(random() * (max(asset_id) - min(asset_id)))::bigint
                     ELSE min(asset_id) END
         FROM unneeded_file WHERE due_at = 'infinity')
     ORDER BY asset_id LIMIT 1)
    UNION ALL
    SELECT n.asset_id, h.place + 1 FROM held h CROSS JOIN LATERAL (
        SELECT asset_id FROM unneeded_file WHERE due_at = 'infinity' AND asset_id > h.asset_id
        ORDER BY asset_id LIMIT 1
    ) AS n
    WHERE h.place < @limit::int
), due AS MATERIALIZED (
    SELECT f.id FROM held h JOIN asset a ON a.id = h.asset_id
    JOIN unneeded_file f ON f.asset_id = a.id AND f.due_at = 'infinity'
    WHERE a.state IN ({{assetGone}}, 'completed') OR {{hasNothing}}
    ORDER BY f.id FOR UPDATE OF f SKIP LOCKED
), released AS (
    UPDATE unneeded_file f SET due_at = now() FROM due d WHERE f.id = d.id
)
SELECT count(*) >= @limit::int AS has_more FROM held

-- name: releaseReturned
-- Pairwise purge jobs whose own workers delete nothing any more: no key is outstanding for them.
UPDATE unneeded_file f SET lane_id = NULL, job_id = NULL, offers = 0
FROM unnest(@lanes::bigint[], @jobs::bigint[]) AS r(lane, id)
WHERE f.job_id = r.id AND f.lane_id = r.lane

-- name: releaseLost
-- Keys stay outstanding for @grace_seconds after their jobs were found to be lost.
WITH lost AS MATERIALIZED (
    SELECT f.id, f.lost_at < now() - make_interval(secs => @grace_seconds::float8) AS is_over
    FROM unneeded_file f
    WHERE f.job_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM job WHERE lane_id = f.lane_id AND id = f.job_id)
    ORDER BY f.id FOR UPDATE OF f SKIP LOCKED
)
UPDATE unneeded_file f SET
    lane_id = CASE WHEN l.is_over THEN NULL ELSE f.lane_id END,
    job_id = CASE WHEN l.is_over THEN NULL ELSE f.job_id END,
    lost_at = CASE WHEN l.is_over IS NULL THEN now() END
FROM lost l WHERE f.id = l.id AND l.is_over IS NOT FALSE

-- name: gone
-- Those of @assets whose interrupted bodies no job resumes, because nothing of them is to be stored, or
-- because they are forgotten.
SELECT u.id FROM unnest(@assets::bigint[]) AS u(id)
WHERE NOT EXISTS (SELECT FROM asset a WHERE a.id = u.id AND a.state NOT IN ({{assetGone}}))
ORDER BY u.id

-- name: settle
-- Pairwise files that @job of @lane was given, whether each was deleted, and the failures of those
-- that could not be: these are tried again later. One that is missing was deleted by a worker that
-- was given it before and lost. Pairwise the assets, files and bytes of interrupted bodies that were
-- deleted for rows among them. Answers the assets of the files.
WITH reported AS MATERIALIZED (
    SELECT f.id, f.asset_id, f.catalog_id, f.bytes, f.key = {{bodiesKey}} AS is_of_bodies,
           -- A row of bodies with bytes stands for a file in parts.
           (f.key <> {{bodiesKey}} OR f.bytes > 0)
               AND (r.deleted OR r.code IS NULL AND f.offers > 1) AS deleted, r.code, r.message
    FROM unnest(@files::bigint[], @deleted::bool[], @codes::text[], @messages::text[])
        AS r(id, deleted, code, message)
    JOIN unneeded_file f ON f.id = r.id AND (f.lane_id, f.job_id) = (@lane::bigint, @job::bigint)
), bodies AS MATERIALIZED (
    SELECT b.asset_id, b.files, b.bytes, r.catalog_id
    FROM unnest(@body_assets::bigint[], @body_files::bigint[], @body_bytes::bigint[])
        AS b(asset_id, files, bytes)
    -- A repeated report finds no row.
    CROSS JOIN (SELECT catalog_id FROM reported WHERE is_of_bodies AND code IS NULL LIMIT 1) AS r
), gone AS (
    DELETE FROM unneeded_file f USING reported t WHERE f.id = t.id AND t.code IS NULL
), failed AS (
    UPDATE unneeded_file f SET lane_id = NULL, job_id = NULL, offers = 0,
        due_at = now() + interval '30 seconds'
    FROM reported t WHERE f.id = t.id AND t.code IS NOT NULL
), locked AS MATERIALIZED (
    SELECT id FROM asset
    WHERE id IN (SELECT asset_id FROM reported) AND is_purging
       OR id IN (SELECT asset_id FROM bodies) AND (is_purging OR is_cleared)
          AND catalog_id = (SELECT catalog_id FROM bodies LIMIT 1)
    ORDER BY id FOR NO KEY UPDATE
), assets AS (
    UPDATE asset a SET freed_files = coalesce(a.freed_files, 0) + n.files,
        freed_bytes = coalesce(a.freed_bytes, 0) + n.bytes,
        failure_code = coalesce(n.code, a.failure_code),
        failure_message = coalesce(n.message, a.failure_message)
    FROM (
        SELECT asset_id, sum(files)::int AS files, sum(bytes)::bigint AS bytes,
               min(code) AS code, min(message) AS message
        FROM (
            SELECT asset_id, deleted::int AS files, CASE WHEN deleted THEN bytes ELSE 0 END AS bytes,
                   code, message
            FROM reported
            UNION ALL
            SELECT asset_id, files, bytes, NULL, NULL FROM bodies
        ) AS f
        GROUP BY asset_id
    ) AS n
    JOIN locked k ON k.id = n.asset_id
    WHERE a.id = k.id
), catalogs AS (
    UPDATE catalog c SET freed_files = c.freed_files + n.files,
        freed_bytes = c.freed_bytes + n.bytes
    FROM (
        SELECT catalog_id, sum(files) AS files, sum(bytes) AS bytes
        FROM (
            SELECT catalog_id, 1 AS files, bytes FROM reported WHERE deleted
            UNION ALL
            SELECT catalog_id, files, bytes FROM bodies
        ) AS f
        GROUP BY catalog_id
    ) AS n
    WHERE c.id = n.catalog_id
)
SELECT DISTINCT asset_id FROM reported

-- name: end
-- Ends jobs that delete files, which are locked: nothing was left to delete.
DELETE FROM job USING unnest(@lanes::bigint[], @jobs::bigint[]) AS r(lane, id)
WHERE job.lane_id = r.lane AND job.id = r.id
