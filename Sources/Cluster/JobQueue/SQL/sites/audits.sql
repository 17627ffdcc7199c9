-- Audits: a site's storage is compared with what is recorded.

-- name: site
-- The site with that queue or storage URL.
SELECT t.id, q.name AS queue, starts_with(t.storage_url, 'cache:') AS is_cache
FROM site t JOIN queue q ON q.site_id = t.id
WHERE q.name = @site OR t.storage_url = @site

-- name: create
-- No row where the site has another one that has not ended.
INSERT INTO site_audit (site_id, is_deep, repairs, read_bytes_per_second, files_per_second)
VALUES (@site::bigint, @is_deep::bool, @repairs::bool, @read_bytes_per_second::bigint,
        @files_per_second::int)
ON CONFLICT DO NOTHING
RETURNING id

-- name: createDue
-- By the schedules of sites, and of the leftovers of workers that are lost. One row each.
WITH scheduled AS (
    INSERT INTO site_audit (site_id, is_deep, repairs, is_scheduled, read_bytes_per_second)
    SELECT t.id, t.audit_deep, t.audit_repairs, true, @read_bytes_per_second::bigint FROM site t
    WHERE t.audit_seconds IS NOT NULL
      AND NOT EXISTS (
          SELECT FROM site_audit a WHERE a.site_id = t.id AND NOT a.is_of_leftovers
              AND (a.ended_at IS NULL
                   OR a.created_at > now() - make_interval(secs => t.audit_seconds)))
    ON CONFLICT DO NOTHING
    RETURNING id
), leftovers AS (
    INSERT INTO site_audit (site_id, is_deep, repairs, is_of_leftovers)
    SELECT DISTINCT x.site_id, false, true, true FROM lost_lease x
    WHERE NOT x.is_swept
      -- One that has failed is tried again in a minute.
      AND NOT EXISTS (
          SELECT FROM site_audit a WHERE a.site_id = x.site_id AND a.is_of_leftovers
              AND a.state <> 'completed' AND a.ended_at > now() - interval '1 minute')
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id FROM scheduled UNION ALL SELECT id FROM leftovers

-- name: called
-- Those that need a worker.
SELECT a.id, q.name AS queue
FROM site_audit a JOIN queue q ON q.site_id = a.site_id JOIN site t ON t.id = a.site_id
WHERE a.ended_at IS NULL AND (a.lease_id IS NULL OR a.expires_at < clock_timestamp())
  AND q.state <> 'paused' AND (t.fault_code IS NULL OR t.fault_retry_at IS NULL)
ORDER BY a.is_of_leftovers DESC, a.id LIMIT 100

-- name: lease
-- raises: site_audit.lease
-- No row where another worker has it, or it has ended. What was found on the page that is done again
-- is forgotten.
WITH free AS MATERIALIZED (
    SELECT id FROM site_audit
    WHERE id = @audit::bigint AND ended_at IS NULL
      AND (lease_id IS NULL OR lease_id = @lease::uuid OR expires_at < clock_timestamp())
    FOR UPDATE SKIP LOCKED
), findings AS (
    DELETE FROM site_audit_finding f USING free, site_audit a
    WHERE a.id = free.id AND f.audit_id = a.id AND f.page >= a.page
), counts AS (
    DELETE FROM site_audit_count c USING free, site_audit a
    WHERE a.id = free.id AND c.audit_id = a.id AND c.page >= a.page
)
UPDATE site_audit a SET state = 'running', started_at = coalesce(a.started_at, now()),
    worker_id = @worker::uuid, worker_name = @name, lease_id = @lease::uuid,
    expires_at = clock_timestamp() + make_interval(secs => @seconds::float8),
    tries = CASE WHEN a.lease_id = @lease::uuid THEN a.tries ELSE a.tries + 1 END,
    reports = CASE WHEN a.lease_id = @lease::uuid THEN a.reports ELSE 0 END,
    lease_read_bytes = CASE WHEN a.lease_id = @lease::uuid THEN a.lease_read_bytes ELSE 0 END
FROM free, site t
WHERE a.id = free.id AND t.id = a.site_id
RETURNING a.site_id, t.storage_url, t.volume_id, a.is_deep, a.repairs, a.is_of_leftovers,
          a.read_bytes_per_second, a.files_per_second, a.page, a.tries,
          (SELECT id FROM cluster) AS cluster

-- name: extend
-- The lease's row, locked and extended; none where the worker does not hold it.
UPDATE site_audit SET expires_at = clock_timestamp() + make_interval(secs => @seconds::float8)
WHERE id = @audit::bigint AND worker_id = @worker::uuid AND lease_id = @lease::uuid
  AND ended_at IS NULL
RETURNING site_id, page, pages, reports, is_deep, repairs, is_of_leftovers

-- name: sortInMemory
-- The rest of this transaction may sort a page of some hundred thousand keys in memory.
SELECT set_config('work_mem', '128MB', true)

-- unprepared: list
-- Lists what is known of the site's files by the bytes of their keys, a page in a row. A key that
-- several catalogs have is what was stored there last. Files of titles that were put aside, files that
-- are to be deleted, and checksum files whose digests are not recorded, may be there or not; one that an
-- asset lacks is that asset's.
WITH known AS MATERIALIZED (
    SELECT s.key, s.id, r.bytes, r.sha256, r.recorded_at
    FROM catalog c
    JOIN asset a ON a.catalog_id = c.id
    JOIN segment s ON s.asset_id = a.id AND s.part = 0
    LEFT JOIN result r ON r.segment_id = s.id AND r.done
    WHERE c.site_id = @site::bigint AND NOT @is_of_leftovers::bool
), files AS (
    SELECT * FROM known
    UNION ALL
    SELECT f.key, 0, NULL, NULL, NULL
    FROM catalog c JOIN asset a ON a.catalog_id = c.id JOIN previous_file f ON f.asset_id = a.id
    WHERE c.site_id = @site::bigint AND NOT @is_of_leftovers::bool
    UNION ALL
    SELECT f.key, 0, NULL, NULL, NULL
    FROM unneeded_file f WHERE f.site_id = @site::bigint AND NOT @is_of_leftovers::bool
    UNION ALL
    -- If an object of the origin has the name, the checksum file has another one.
    SELECT d.key || n.suffix, -d.id, CASE WHEN d.is_free AND n.suffix = '' THEN d.bytes END,
           CASE WHEN d.is_free AND n.suffix = '' THEN d.sha256 END, now()
    FROM (
        SELECT *, key NOT IN (SELECT key FROM known WHERE key LIKE '%SHA256SUMS') AS is_free
        FROM (
            SELECT id, CASE WHEN path = '' THEN '' ELSE path || '/' END || 'SHA256SUMS' AS key,
                   CASE WHEN checksum_state = 'written' THEN checksum_bytes END AS bytes,
                   CASE WHEN checksum_state = 'written' THEN checksum_sha256 END AS sha256
            FROM directory
            WHERE site_id = @site::bigint AND checksum_state IS NOT NULL
              AND NOT @is_of_leftovers::bool
        ) AS e
    ) AS d CROSS JOIN (VALUES (''), ('.dray')) AS n(suffix)
), numbered AS (
    SELECT *, ((row_number() OVER (ORDER BY key COLLATE "C") - 1) / @page_records::int)::int AS number
    FROM (
        SELECT DISTINCT ON (key COLLATE "C") * FROM files
        ORDER BY key COLLATE "C", bytes IS NULL, recorded_at DESC NULLS LAST, id DESC
    ) AS f
), listed AS (
    INSERT INTO site_audit_page (audit_id, number, last_key, content)
    SELECT @audit::bigint, number, max(key COLLATE "C"),
           string_agg(octet_length(key) || ' ' || id || ' ' || coalesce(bytes::text, '-') || ' '
                      || CASE WHEN @is_deep::bool THEN coalesce(sha256, '-') ELSE '-' END
                      || ':' || key, E'\n' ORDER BY key COLLATE "C")
    FROM numbered GROUP BY number
    RETURNING 1
)
UPDATE site_audit SET listed_at = now(), pages = (SELECT count(*) FROM listed),
    expected_files = (SELECT count(*) FILTER (WHERE bytes IS NOT NULL) FROM numbered),
    expected_bytes = (SELECT coalesce(sum(bytes), 0) FROM numbered),
    expires_at = clock_timestamp() + make_interval(secs => @seconds::float8)
WHERE id = @audit::bigint
RETURNING pages

-- name: page
-- A page, and the last key of the one before.
SELECT p.content, (SELECT o.last_key FROM site_audit_page o
                   WHERE o.audit_id = @audit::bigint AND o.number = @number::int - 1) AS after
FROM (SELECT) AS nothing LEFT JOIN site_audit_page p
    ON p.audit_id = @audit::bigint AND p.number = @number::int

-- name: records
-- In their order, what is recorded now of the keys of segments, by whichever segment of the site was
-- stored there last; of a negative number, of a directory's checksum file while no job is about to
-- write it. Nothing of what is under way, in any catalog: its file may be replaced before that is
-- recorded.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(@segments::bigint[]) WITH ORDINALITY AS u(id, place)
), named AS MATERIALIZED (
    SELECT u.place, s.id, s.key, a.state
    FROM wanted u JOIN segment s ON s.id = u.id AND s.part = 0
    JOIN asset a ON a.id = s.asset_id
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
), held AS MATERIALIZED (
    SELECT n.place, n.id, n.state FROM named n
    UNION
    SELECT n.place, s.id, a.state
    FROM named n
    JOIN asset a ON hashtextextended(a.key, 0) = hashtextextended(n.key, 0) AND a.key = n.key
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
    JOIN segment s ON s.asset_id = a.id AND s.part = 0 AND s.key = n.key
    UNION
    SELECT n.place, s.id, a.state
    FROM named n
    JOIN segment s ON hashtextextended(s.key, 0) = hashtextextended(n.key, 0) AND s.key = n.key
        AND s.role <> 'file' AND s.part = 0
    JOIN asset a ON a.id = s.asset_id
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
), settled AS MATERIALIZED (
    SELECT place FROM held GROUP BY place
    HAVING bool_and(state NOT IN ({{assetUnsettled}}))
), latest AS MATERIALIZED (
    SELECT DISTINCT ON (h.place) h.place, h.id, r.bytes, r.sha256
    FROM held h JOIN settled t ON t.place = h.place JOIN result r ON r.segment_id = h.id AND r.done
    ORDER BY h.place, r.recorded_at DESC, h.id DESC
)
SELECT coalesce(l.id, -d.id) AS segment, coalesce(l.bytes, d.checksum_bytes) AS bytes,
       coalesce(l.sha256, d.checksum_sha256) AS sha256,
       l.id IS NULL AND t.place IS NOT NULL AS is_lacking
FROM wanted u
LEFT JOIN settled t ON t.place = u.place
LEFT JOIN latest l ON l.place = u.place
LEFT JOIN directory d ON d.id = -u.id AND d.site_id = @site::bigint AND NOT EXISTS (
    SELECT FROM directory e WHERE e.site_id = d.site_id AND e.path = d.path
        AND e.checksum_state IN ({{checksumsUnwritten}}))
ORDER BY u.place

-- unprepared: owned
-- In their order, whether a record has these keys by now: they were not in the list.
WITH wanted AS MATERIALIZED (
    SELECT key, place, hashtextextended(key, 0) AS hash
    FROM unnest(@keys::text[]) WITH ORDINALITY AS u(key, place)
), known AS MATERIALIZED (
    SELECT w.key
    FROM wanted w JOIN asset a ON hashtextextended(a.key, 0) = w.hash AND a.key = w.key
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
    JOIN segment s ON s.asset_id = a.id AND s.part = 0 AND s.key = w.key
    UNION ALL
    SELECT w.key
    FROM wanted w JOIN segment s ON hashtextextended(s.key, 0) = w.hash AND s.key = w.key
        AND s.role <> 'file' AND s.part = 0
    JOIN asset a ON a.id = s.asset_id
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
    UNION ALL
    SELECT w.key
    FROM wanted w JOIN refreshed_file f ON hashtextextended(f.key, 0) = w.hash AND f.key = w.key
        AND f.staged IS NOT NULL
    JOIN asset a ON a.id = f.asset_id
    JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
    UNION ALL
    -- A worker is to delete them.
    SELECT f.key FROM unneeded_file f
    WHERE f.site_id = @site::bigint AND f.key IN (SELECT key FROM wanted)
    UNION ALL
    SELECT w.key FROM wanted w
    JOIN directory d ON d.site_id = @site::bigint
        AND d.path = regexp_replace(w.key, '/?SHA256SUMS(\.dray)?$', '')
        AND d.checksum_state IS NOT NULL
    WHERE w.key ~ '(^|/)SHA256SUMS(\.dray)?$'
)
SELECT w.key IN (SELECT key FROM known) AS is_known FROM wanted w ORDER BY w.place

-- name: multiparts
-- In their order, who multipart files belong to.
SELECT CASE WHEN EXISTS (SELECT FROM multipart_file m WHERE m.id = u.id) THEN 'inUse'
            WHEN EXISTS (SELECT FROM abandoned_multipart_file b WHERE b.id = u.id) THEN 'ended'
            ELSE 'unknown' END AS owner
FROM unnest(@multiparts::uuid[]) WITH ORDINALITY AS u(id, place) ORDER BY u.place

-- name: leases
-- In their order, who temporary files of these leases belong to. A publication continues after
-- its lease.
SELECT CASE WHEN EXISTS (SELECT FROM lease e WHERE e.id = u.id)
                 OR EXISTS (SELECT FROM refresh_publication p WHERE p.lease_id = u.id) THEN 'inUse'
            WHEN EXISTS (SELECT FROM lost_lease x WHERE x.id = u.id) THEN 'ended'
            ELSE 'unknown' END AS owner
FROM unnest(@leases::uuid[]) WITH ORDINALITY AS u(id, place) ORDER BY u.place

-- name: assets
-- In their order, whether jobs may resume the bodies of assets, also after a retry or another
-- start.
SELECT EXISTS (SELECT FROM asset a WHERE a.id = u.id
               AND a.state NOT IN ({{assetUnresumable}}))
           AS is_resumable
FROM unnest(@assets::bigint[]) WITH ORDINALITY AS u(id, place) ORDER BY u.place

-- name: catalogsOf
-- The catalogs of damaged segments, and of directories, which are negative.
SELECT DISTINCT a.catalog_id AS catalog, u.id AS segment
FROM unnest(@segments::bigint[]) AS u(id)
JOIN segment s ON s.id = u.id JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id AND c.site_id = @site::bigint
UNION ALL
SELECT d.catalog_id, u.id FROM unnest(@segments::bigint[]) AS u(id)
JOIN directory d ON d.id = -u.id AND d.site_id = @site::bigint
ORDER BY 1, 2

-- unprepared: lose
-- raises: asset.lose
-- The catalog's lock is held; pairwise segments and the digests that were recorded of them. Their
-- files are not what they were: they count as failed, and a completed asset that has some has failed
-- as well. What was stored is noted, so that a file that is right after all is not fetched. One row
-- a segment: null for what is recorded as something else by now, or is under way.
WITH named AS MATERIALIZED (
    SELECT u.id, u.sha256, s.asset_id
    FROM unnest(@segments::bigint[], @sha256::text[]) AS u(id, sha256)
    JOIN segment s ON s.id = u.id AND s.part = 0
), assets AS MATERIALIZED (
    SELECT a.id, a.state FROM asset a
    WHERE a.id IN (SELECT asset_id FROM named) AND a.catalog_id = @catalog::bigint
      AND a.state IN ({{assetLosable}})
    ORDER BY a.id FOR NO KEY UPDATE
), lost AS MATERIALIZED (
    SELECT n.id, n.asset_id, r.bytes, r.sha256, r.verified
    FROM named n JOIN assets a ON a.id = n.asset_id
    JOIN result r ON r.segment_id = n.id AND r.done AND r.sha256 = n.sha256
), results AS (
    UPDATE result r SET done = false, bytes = NULL, sha256 = NULL, verified = NULL, validator = NULL,
        failure_code = @code, failure_message = @message, recorded_at = now()
    FROM lost l WHERE r.segment_id = l.id
), noted AS (
    UPDATE segment s SET known_bytes = l.bytes, known_sha256 = l.sha256,
        known_verified = l.verified, known_validator = NULL
    FROM lost l WHERE s.id = l.id
), unstored AS (
    SELECT id AS segment_id FROM lost
), {{forgettingUnstored}}, held AS (
    {{holdingUnstored}}
), counted AS (
    UPDATE asset a SET state = 'failed', segments_done = greatest(a.segments_done - n.files, 0),
        segments_failed = least(a.segments_failed + n.files, a.segments),
        bytes = greatest(a.bytes - n.bytes, 0),
        adopted_bytes = least(a.adopted_bytes, greatest(a.bytes - n.bytes, 0)),
        failure_code = coalesce(a.failure_code, @code),
        failure_message = CASE WHEN a.failure_code IS NULL THEN @message
                               ELSE a.failure_message END,
        changed_at = now()
    FROM (SELECT asset_id, count(*) AS files, sum(bytes) AS bytes FROM lost GROUP BY asset_id) AS n
    JOIN assets b ON b.id = n.asset_id
    WHERE a.id = n.asset_id
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message,
              a.state <> b.state AS has_changed
), changed AS NOT MATERIALIZED (
    SELECT * FROM counted WHERE has_changed
), events AS (
    {{assetEvents}}
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed)
    SELECT catalog_id, directory_id, -count(*), count(*) FROM changed
    GROUP BY catalog_id, directory_id
), uncounted AS (
    -- No fetch of them has failed: figures of days count what becomes of the repair.
    INSERT INTO outcome (catalog_id, assets_completed, assets_failed)
    SELECT catalog_id, count(*), -count(*) FROM changed GROUP BY catalog_id
)
SELECT id, asset_id FROM lost

-- name: reusable
-- Segments that are recorded as not stored, whose files are there, of assets that have failed: where
-- the list or an earlier fetch has a digest, a retry looks at the file before it fetches.
SELECT s.id, s.asset_id FROM segment s JOIN asset a ON a.id = s.asset_id
WHERE s.id = ANY(@segments::bigint[]) AND a.catalog_id = @catalog::bigint
  AND a.state IN ({{assetRetryable}})
  AND coalesce(s.expected_sha256, s.expected_digests, s.known_sha256) IS NOT NULL
ORDER BY s.id

-- name: rejected
-- Those of the segments whose assets the retry has rejected: nothing of them is fetched.
SELECT s.id FROM segment s JOIN asset a ON a.id = s.asset_id
WHERE s.id = ANY(@segments::bigint[]) AND a.key_taken

-- unprepared: rewriteChecksums
-- raises: directory.rewrite, catalog.start
-- The catalog's lock is held. The checksum files of these directories are written again, unless that
-- is about to happen. One row each.
WITH lacking AS MATERIALIZED (
    SELECT d.id FROM directory d
    WHERE d.id = ANY(@directories::bigint[]) AND d.catalog_id = @catalog::bigint
      AND d.unsettled = 0 AND d.checksum_state = 'written'
), made AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, d.id, 'checksums'
    FROM lacking d JOIN catalog c ON c.id = @catalog::bigint
), due AS (
    UPDATE directory d SET checksum_state = 'due' FROM lacking WHERE d.id = lacking.id
), counted AS (
    UPDATE catalog SET state = 'running', ended_at = NULL,
        checksums_outstanding = checksums_outstanding + (SELECT count(*) FROM lacking)
    WHERE id = @catalog::bigint AND EXISTS (SELECT FROM lacking)
)
SELECT id FROM lacking

-- name: queuedBefore
-- Pairwise segments and the digests that were recorded of them, and directories: which of them an
-- earlier try of the same report has queued.
SELECT s.id FROM unnest(@segments::bigint[], @sha256::text[]) AS u(id, sha256)
JOIN segment s ON s.id = u.id AND s.known_sha256 = u.sha256
JOIN asset a ON a.id = s.asset_id AND NOT a.key_taken
WHERE NOT EXISTS (SELECT FROM result r WHERE r.segment_id = s.id AND r.done)
UNION ALL
SELECT -d.id FROM directory d
WHERE d.id = ANY(@directories::bigint[]) AND d.checksum_state IN ({{checksumsUnwritten}})

-- name: read
-- The bytes that the lease's worker has read in all: a repeated report changes nothing.
UPDATE site_audit SET
    read_bytes = read_bytes + greatest(@read_bytes::bigint - lease_read_bytes, 0),
    lease_read_bytes = greatest(@read_bytes::bigint, lease_read_bytes)
WHERE id = @audit::bigint

-- name: count
-- Adds what a report has, whose row is locked. @page is the next one.
UPDATE site_audit SET page = @page::int, reports = reports + 1, files = files + @files::bigint,
    bytes = bytes + @bytes::bigint, checked_files = checked_files + @checked_files::bigint,
    uncompared_files = uncompared_files + @uncompared_files::bigint,
    uncompared_bytes = uncompared_bytes + @uncompared_bytes::bigint,
    tries = CASE WHEN @page::int > page THEN 1 ELSE tries END
WHERE id = @audit::bigint

-- name: find
-- Pairwise. @keep of them are kept, the others counted only.
WITH named AS MATERIALIZED (
    SELECT * FROM unnest(@kinds::text[], @paths::text[], @bytes::bigint[],
                         @expected_bytes::bigint[], @repairs::text[])
        WITH ORDINALITY AS u(kind, path, bytes, expected_bytes, repair, place)
), kept AS (
    INSERT INTO site_audit_finding (audit_id, page, kind, path, bytes, expected_bytes, repair)
    SELECT @audit::bigint, @page::int, kind, path, bytes, expected_bytes, repair FROM named
    WHERE place <= @keep::int - (SELECT coalesce(sum(found), 0) FROM site_audit_count
                                 WHERE audit_id = @audit::bigint)
    ORDER BY place
)
INSERT INTO site_audit_count AS c (audit_id, page, kind, found, bytes, repaired)
SELECT @audit::bigint, @page::int, kind, count(*), coalesce(sum(bytes), 0),
       count(*) FILTER (WHERE repair IN ({{auditRepaired}}))
FROM named GROUP BY kind ORDER BY kind
ON CONFLICT (audit_id, page, kind) DO UPDATE SET found = c.found + excluded.found,
    bytes = c.bytes + excluded.bytes, repaired = c.repaired + excluded.repaired

-- name: end
-- raises: site_audit.complete, site_audit.fail, site_audit.cancel
-- Its row is locked. @failure_code and @failure_message are null for one that is completed. Readers of
-- the event compose its message (`RecordedMessage`).
WITH ended AS (
    UPDATE site_audit SET state = @state, ended_at = now(), lease_id = NULL,
        failure_code = @failure_code, failure_message = @failure_message
    WHERE id = @audit::bigint AND ended_at IS NULL
    RETURNING id, site_id, state, is_of_leftovers
), pages AS (
    DELETE FROM site_audit_page p USING ended e WHERE p.audit_id = e.id
), swept AS (
    UPDATE lost_lease x SET is_swept = true FROM ended e
    WHERE x.site_id = e.site_id AND e.state = 'completed' AND NOT x.is_swept
      AND x.noted_at < (SELECT started_at FROM site_audit WHERE id = e.id)
), found AS (
    SELECT coalesce(sum(found) FILTER (WHERE kind IN ({{auditDamage}})), 0)
               AS damaged,
           coalesce(sum(found), 0) AS findings
    FROM site_audit_count WHERE audit_id = @audit::bigint
)
INSERT INTO event (kind, site_id, code, message)
SELECT CASE WHEN f.damaged > 0 THEN 'site.damaged' ELSE 'site.audited' END, e.site_id,
       CASE WHEN f.damaged > 0 THEN @damage_code ELSE @failure_code END,
       json_build_object('audited', json_build_object(
           'audit', e.id, 'state', e.state, 'findings', f.findings, 'damaged', f.damaged))::text
FROM ended e, found f WHERE NOT e.is_of_leftovers

-- name: release
-- raises: site_audit.release
-- The worker cannot do it now: it, or another one, may later. @counts is true for a try without
-- progress, false for a worker that drains or never can.
UPDATE site_audit SET state = 'waiting', lease_id = NULL, expires_at = clock_timestamp(),
    tries = greatest(tries - CASE WHEN @counts::bool THEN 0 ELSE 1 END, 0)
WHERE id = @audit::bigint

-- name: cancel
UPDATE site_audit SET lease_id = NULL WHERE id = @audit::bigint AND ended_at IS NULL RETURNING id

-- name: status
-- @audit is null for those of @site, or of all; the latest first, before number @before.
SELECT a.id, a.site_id, q.name AS queue, t.storage_url, a.is_deep, a.repairs, a.is_scheduled,
       a.state, extract(epoch FROM a.created_at)::float8 AS created,
       extract(epoch FROM a.started_at)::float8 AS started,
       extract(epoch FROM a.ended_at)::float8 AS ended, a.worker_name, a.expected_files,
       a.expected_bytes, a.checked_files, a.files, a.bytes, a.read_bytes, a.uncompared_files,
       a.uncompared_bytes, a.failure_code, a.failure_message, a.pages, a.page,
       extract(epoch FROM a.listed_at)::float8 AS listed,
       (SELECT array_to_string(array_agg(c.kind || ' ' || c.found || ' ' || c.repaired || ' '
                                         || c.bytes), ',')
        FROM (SELECT kind, sum(found) AS found, sum(repaired) AS repaired, sum(bytes) AS bytes
              FROM site_audit_count WHERE audit_id = a.id GROUP BY kind) AS c) AS findings,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM site_audit a JOIN site t ON t.id = a.site_id JOIN queue q ON q.site_id = t.id
WHERE (@audit::bigint IS NULL AND NOT a.is_of_leftovers OR a.id = @audit)
  AND (@site::bigint IS NULL OR a.site_id = @site)
  AND (@before::bigint IS NULL OR a.id < @before)
ORDER BY a.id DESC LIMIT @limit::int

-- name: findings
-- A page of those that are kept; @kind is null for all.
SELECT id, kind, path, bytes, expected_bytes, repair FROM site_audit_finding
WHERE audit_id = @audit::bigint AND id > @after::bigint AND (@kind::text IS NULL OR kind = @kind)
ORDER BY id LIMIT @limit::int

-- name: stuck
-- Those that were tried too often without progress, and those that no worker has taken for
-- @idle_seconds.
SELECT id, tries >= @tries::int AS is_without_progress FROM site_audit
WHERE ended_at IS NULL AND (lease_id IS NULL OR expires_at < clock_timestamp())
  AND (tries >= @tries::int
       OR coalesce(expires_at, created_at)
          < clock_timestamp() - make_interval(secs => @idle_seconds::float8))
ORDER BY id FOR UPDATE SKIP LOCKED

-- name: trim
-- Ended ones beyond the latest @keep of each site; leases that were lost a week ago.
WITH old AS (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY site_id, is_of_leftovers ORDER BY id DESC) AS place,
               is_of_leftovers
        FROM site_audit WHERE ended_at IS NOT NULL
    ) AS a WHERE place > CASE WHEN is_of_leftovers THEN 1 ELSE @keep::int END
), gone AS (
    DELETE FROM site_audit a USING old WHERE a.id = old.id
)
DELETE FROM lost_lease WHERE noted_at < now() - interval '7 days'

-- name: notify
-- Notifies coordinators that an audit needs a worker.
SELECT pg_notify('dray_work', 'audits')
