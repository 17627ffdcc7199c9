-- Settings of a transaction, notifications, and fragments of statements of several files.

-- fragment: plannedByIndex
-- Settings of the functions that run for every batch of jobs. Each reads some rows of each table
-- through an index, and is planned once a session. Tables grow from nothing to millions of rows
-- before PostgreSQL takes statistics again: a plan of a small table must not be a scan of it.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_memoize = off

-- fragment: sidecars
-- Inserts the segments of sidecars of assets a, behind those of their assets.
INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes, expected_sha256,
                     expected_digests, is_whole, optional)
SELECT a.id, o.id, {{firstSidecar}} + s.place - 1, s.role, s.url, s.key, s.bytes, s.sha256,
       s.digests, true, NOT s.required
FROM asset a
CROSS JOIN LATERAL ROWS FROM (
    jsonb_to_recordset(a.sidecars)
        AS (url text, key text, origin text, role text, required boolean, bytes bigint, sha256 text,
            digests text)
) WITH ORDINALITY AS s(url, key, origin, role, required, bytes, sha256, digests, place)
JOIN origin o ON o.url = s.origin

-- fragment: manifestServed
-- The SHA-256 of a manifest of the title as it was served; null for all else. `s` is a segment, `m`
-- its rewritten manifest.
CASE WHEN s.role = 'playlist' AND s.ordinal < {{firstSidecar}}
     THEN CASE WHEN m.segment_id IS NULL THEN s.expected_sha256 ELSE m.served_sha256 END END

-- fragment: assetEvents
-- Records the states of the assets `changed`, which has their failures. More than
-- {{eventsPerChange}} of one statement are one event for each catalog and state, with their number:
-- a start or a cancellation may change ten million.
INSERT INTO event (kind, catalog_id, asset_id, code, message, assets)
SELECT 'asset.' || state, catalog_id, CASE WHEN count(*) = 1 THEN min(id) END,
       CASE WHEN count(*) = 1 THEN min(failure_code) END,
       CASE WHEN count(*) = 1 THEN min(failure_message) END, nullif(count(*), 1)
FROM changed
GROUP BY catalog_id, state,
         CASE WHEN (SELECT count(*) FROM changed) <= {{eventsPerChange}} THEN id END
ORDER BY min(id)

-- fragment: siteNamed
-- The site with the storage URL @site or, if there is none, with a queue of that name.
SELECT t.id FROM site t JOIN queue q ON q.site_id = t.id
WHERE t.storage_url = @site::text OR q.name = @site
ORDER BY t.storage_url <> @site LIMIT 1

-- fragment: keepsFiles
-- The site of catalog c is no cache: what is stored there is a file that Dray can delete.
NOT EXISTS (SELECT FROM site t WHERE t.id = c.site_id AND starts_with(t.storage_url, 'cache:'))

-- fragment: holdingUnstored
-- The segments `unstored` are recorded as stored no longer, by the statement that this is part of. What
-- lies under their keys is deleted when their assets are complete or removed, unless it is needed then.
INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes, due_at)
SELECT c.site_id, c.id, s.asset_id, s.key, r.bytes, 'infinity'
FROM unstored u
JOIN result r ON r.segment_id = u.segment_id AND r.done
JOIN segment s ON s.id = u.segment_id AND s.part = 0
JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE {{keepsFiles}}

-- fragment: forgettingUnstored
-- Takes the results of the segments `unstored`, which end with this statement, off what is stored.
forgotten AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, -sum(r.bytes)
    FROM unstored u
    JOIN result r ON r.segment_id = u.segment_id AND r.done
    JOIN segment s ON s.id = u.segment_id
    JOIN asset a ON a.id = s.asset_id
    GROUP BY a.catalog_id HAVING sum(r.bytes) > 0
)

-- fragment: forgettingGone
-- Takes the deleted results `gone` of @asset off what is stored.
forgotten AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, -g.bytes
    FROM (SELECT sum(bytes) AS bytes FROM gone) AS g JOIN asset a ON a.id = @asset::bigint
    WHERE g.bytes > 0
)

-- fragment: puttingAside
-- Drops the segments of those assets `leaving` of @catalog that are redefined, and what was known of them:
-- stored files of titles, and their manifests as they were served, become previous ones.
segments AS (
    DELETE FROM segment USING leaving WHERE leaving.redefined AND segment.asset_id = leaving.id
    RETURNING segment.*, leaving.kind
), results AS (
    DELETE FROM result r USING segments s WHERE r.segment_id = s.id
    RETURNING s.*, r.done, r.bytes, r.sha256, r.verified, r.validator, r.recorded_at
), files AS (
    SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}} AS manifest_sha256,
           s.bytes, s.sha256, s.verified, s.validator, s.recorded_at
    FROM results s LEFT JOIN rewritten_manifest m ON m.segment_id = s.id AND s.role = 'playlist'
    WHERE s.kind <> 'file' AND s.part = 0 AND s.done
    UNION ALL
    -- Manifests that were never stored.
    SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}}, NULL, NULL, NULL, NULL,
           NULL
    FROM segments s LEFT JOIN rewritten_manifest m ON m.segment_id = s.id
    WHERE s.kind <> 'file' AND s.part = 0 AND s.role = 'playlist'
), previous AS (
    INSERT INTO previous_file AS f (asset_id, key, url, expected_digests, manifest_sha256, bytes,
                                  sha256, verified, validator, stored_at)
    SELECT DISTINCT ON (asset_id, hashtextextended(key, 0)) * FROM files
    WHERE manifest_sha256 IS NOT NULL OR sha256 IS NOT NULL
    ORDER BY asset_id, hashtextextended(key, 0), recorded_at DESC NULLS LAST
    ON CONFLICT (asset_id, hashtextextended(key, 0)) DO UPDATE SET
        key = excluded.key, url = excluded.url, expected_digests = excluded.expected_digests,
        manifest_sha256 = excluded.manifest_sha256, bytes = excluded.bytes,
        sha256 = excluded.sha256, verified = excluded.verified, validator = excluded.validator,
        stored_at = excluded.stored_at
    -- Stored files are not forgotten for a manifest that never was.
    WHERE excluded.sha256 IS NOT NULL OR f.sha256 IS NULL
    RETURNING f.asset_id, f.key, f.bytes
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT @catalog, n.bytes FROM (
        SELECT coalesce((SELECT sum(bytes) FROM previous), 0)
               - coalesce((SELECT sum(bytes) FROM results WHERE done), 0)
               - coalesce((
                   -- Files that were put aside before under the same keys.
                   SELECT sum((SELECT bytes FROM previous_file WHERE asset_id = p.asset_id
                               AND hashtextextended(key, 0) = hashtextextended(p.key, 0)))
                   FROM previous p), 0) AS bytes
    ) AS n WHERE n.bytes <> 0
), multipart_files AS (
    DELETE FROM multipart_file USING segments WHERE multipart_file.segment_id = segments.id
)

-- fragment: storedAgain
-- Segments `stored_now`, with their assets, have new results, which are the only records of their files
-- from now on. Ends those of the same assets and keys that were put aside, held back or to be deleted.
-- Keys are looked up only for assets that have such files.
stored_keys AS MATERIALIZED (
    SELECT t.asset_id, k.key FROM stored_now t
    -- OFFSET 0: the assets' files come before the look-up of a key; without them there is no row.
    CROSS JOIN LATERAL (
        SELECT key FROM segment
        WHERE id = t.segment_id AND part = 0
          AND (EXISTS (SELECT FROM unneeded_file WHERE asset_id = t.asset_id)
               OR EXISTS (SELECT FROM previous_file WHERE asset_id = t.asset_id)) OFFSET 0
    ) AS k
), stored_again AS (
    -- By arrays and OFFSET 0: with the statistics of a table that was empty, a join reads all of it. A
    -- key may have several rows.
    DELETE FROM unneeded_file WHERE job_id IS NULL AND id = ANY(ARRAY(
        SELECT f.id FROM stored_keys k CROSS JOIN LATERAL (
            SELECT id FROM unneeded_file
            WHERE asset_id = k.asset_id AND hashtextextended(key, 0) = hashtextextended(k.key, 0)
              AND key = k.key OFFSET 0
        ) AS f))
), listed_again AS (
    DELETE FROM previous_file WHERE ctid = ANY(ARRAY(
        SELECT (SELECT ctid FROM previous_file
                WHERE asset_id = k.asset_id AND hashtextextended(key, 0) = hashtextextended(k.key, 0)
                  AND key = k.key)
        FROM stored_keys k))
    RETURNING asset_id, bytes
), counted_again AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, -sum(f.bytes) FROM listed_again f JOIN asset a ON a.id = f.asset_id
    GROUP BY a.catalog_id HAVING sum(f.bytes) > 0
)

-- fragment: isCounted
-- The counts of catalog c have asset a: its last start had it.
(a.generation >= c.generation AND a.added_starts < c.starts)

-- fragment: storedBytes
-- Bytes at site t by the records of its catalogs, each file once.
(SELECT greatest(coalesce(sum(c.stored_bytes + coalesce(
            (SELECT sum(y.stored_bytes) FROM tally y WHERE y.catalog_id = c.id), 0)), 0)::bigint
                 - t.shared_bytes, 0)
 FROM catalog c WHERE c.site_id = t.id)

-- fragment: storedSums
-- What each catalog of site t has recorded as stored, as a hash; null for nothing.
(SELECT hashtextextended(string_agg(n.id || ' ' || n.bytes, ',' ORDER BY n.id), 0)
 FROM (
     SELECT c.id, c.stored_bytes + coalesce(
                (SELECT sum(y.stored_bytes) FROM tally y WHERE y.catalog_id = c.id), 0) AS bytes
     FROM catalog c WHERE c.site_id = t.id
 ) AS n WHERE n.bytes <> 0)

-- fragment: settledFetches
-- Records fetches that ended, of the rows `settled`, and counts them for their assets. A stored file
-- that is not required stays what it was when its check fails, unless the failure says that it is
-- outdated.
judged AS MATERIALIZED (
    SELECT e.*, coalesce(n.optional, false) AS is_optional,
           -- Bytes of a file that stays; null for all else.
           n.kept_bytes
    FROM settled e
    -- OFFSET 0: nothing is looked up of fetches that are done.
    LEFT JOIN LATERAL (
        SELECT g.optional, (
            SELECT r.bytes FROM result r JOIN asset a ON a.id = g.asset_id
            JOIN catalog c ON c.id = a.catalog_id
            WHERE r.segment_id = g.id AND r.done AND g.optional
              AND e.code NOT IN ({{outdatingFailures}}) AND {{keepsFiles}}
        ) AS kept_bytes
        FROM segment g WHERE g.id = e.segment_id AND NOT e.done OFFSET 0
    ) AS n ON true
), recorded AS (
    INSERT INTO result (segment_id, done, bytes, sha256, failure_code, failure_message, attempts,
                        verified, validator)
    SELECT segment_id, done, bytes, sha256, code, message, attempt + 1, verified, validator
    FROM judged WHERE kept_bytes IS NULL
    {{replacingResults}}
), unstored AS (
    SELECT segment_id FROM judged WHERE NOT done AND kept_bytes IS NULL
), held AS (
    {{holdingUnstored}}
), stored_now AS (
    SELECT asset_id, segment_id FROM judged WHERE done
), {{storedAgain}}, stored AS (
    -- Less what was recorded of the same segments before.
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT (SELECT catalog_id FROM asset WHERE id = t.asset_id), sum(t.bytes)
    FROM (
        SELECT j.asset_id, sum(CASE WHEN j.done THEN j.bytes ELSE 0 END - coalesce(
                   (SELECT bytes FROM result WHERE segment_id = j.segment_id AND done), 0)) AS bytes
        FROM judged j WHERE j.kept_bytes IS NULL GROUP BY j.asset_id
    ) AS t
    GROUP BY 1 HAVING sum(t.bytes) <> 0
), counts AS (
    SELECT asset_id, count(*) FILTER (WHERE done OR kept_bytes IS NOT NULL) AS done,
           count(*) FILTER (WHERE NOT done AND NOT is_optional) AS failed,
           -- Files that the asset does without.
           count(*) FILTER (WHERE is_optional AND kept_bytes IS NULL) AS spared,
           coalesce(sum(bytes) FILTER (WHERE done), 0) + coalesce(sum(kept_bytes), 0) AS bytes,
           coalesce(sum(bytes) FILTER (WHERE done AND adopted), 0)
               + coalesce(sum(kept_bytes), 0) AS adopted_bytes,
           bool_or(NOT is_optional AND code = {{manifest.changed}}) AS changed,
           (array_agg(code) FILTER (WHERE NOT done AND NOT is_optional))[1] AS code,
           (array_agg(message) FILTER (WHERE NOT done AND NOT is_optional))[1] AS message,
           (SELECT state FROM asset WHERE id = judged.asset_id) AS old_state
    FROM judged
    GROUP BY asset_id ORDER BY asset_id
), rolled AS (
    UPDATE asset a SET
        segments = a.segments - t.spared,
        segments_done = a.segments_done + t.done,
        segments_failed = a.segments_failed + t.failed,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        -- The manifest's statement no longer holds: the next start reads it again.
        resolved = a.resolved AND t.changed IS NOT TRUE,
        failure_code = coalesce(a.failure_code, t.code),
        failure_message = CASE WHEN a.failure_code IS NULL
                               THEN t.message ELSE a.failure_message END,
        state = settled_state(a.segments - t.spared, a.segments_done + t.done,
                              a.segments_failed + t.failed, a.verifies, a.verifies_done,
                              a.verifies_failed, a.may_lack),
        changed_at = now()
    FROM counts t
    WHERE a.id = t.asset_id
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message,
              a.state <> t.old_state AS has_changed, t.done, t.failed, t.spared, t.bytes,
              t.adopted_bytes
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.' || state, catalog_id, id, failure_code, failure_message FROM rolled
    WHERE has_changed ORDER BY id
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed, segments,
                       segments_done, segments_failed, bytes, adopted_bytes)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'failed'), -sum(spared), sum(done), sum(failed),
               sum(bytes),
           sum(adopted_bytes)
    FROM rolled GROUP BY catalog_id, directory_id
)

-- fragment: noteCancelled
-- Notes for the workers that hold some of the jobs `gone` that they were cancelled.
INSERT INTO cancelled_job (lease_id, job_id)
SELECT e.id, g.id
FROM gone g
JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
JOIN lease e ON e.id = p.lease_id
ON CONFLICT DO NOTHING

-- fragment: notingStored
-- Fetches and verifications among the jobs `gone`, of one or more catalogs whose lanes are locked, that workers
-- hold or have tried: files may lie under their keys, or soon will, that have no result and never
-- get one. They are held back with their assets. `gone` has the columns of `droppedJob`.
INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes, due_at)
SELECT c.site_id, c.id, s.asset_id, s.key, 0, 'infinity'
FROM (
    SELECT g.whole_id FROM gone g WHERE g.kind IN ({{jobOfSegment}}) AND g.attempt > 0
    UNION
    SELECT g.whole_id FROM gone g
    JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = p.lease_id
    WHERE g.kind IN ({{jobOfSegment}})
) AS t
JOIN segment s ON s.id = t.whole_id
JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE NOT EXISTS (SELECT FROM result r WHERE r.segment_id = s.id AND r.done)
  AND NOT EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = s.asset_id
                  AND f.due_at = 'infinity' AND f.key = s.key)
  AND {{keepsFiles}}
ORDER BY s.asset_id, s.ordinal DESC

-- fragment: notingPaused
-- Notes for the workers that hold some of the jobs `gone` that they stop, and keep what they have
-- received for who continues.
INSERT INTO paused_job (lease_id, job_id)
SELECT e.id, g.id
FROM gone g
JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
JOIN lease e ON e.id = p.lease_id
WHERE g.kind <> 'checksums'
ON CONFLICT DO NOTHING

-- fragment: droppedJob
-- What `notingStored`, `notingPaused` and `noteCancelled` read of a deleted job.
lane_id, id, kind, attempt, coalesce(whole_id, segment_id) AS whole_id

-- fragment: droppedDelayedJob
-- As `droppedJob`; it has no lane.
NULL::bigint AS lane_id, id, kind, attempt, coalesce(whole_id, segment_id) AS whole_id

-- fragment: replacingResults
-- The end of an insert of results: those of segments that have one already replace it.
ORDER BY segment_id
ON CONFLICT (segment_id) DO UPDATE SET done = excluded.done, bytes = excluded.bytes,
    sha256 = excluded.sha256, failure_code = excluded.failure_code,
    -- A file that lay there already was compared when it was fetched, or not.
    verified = excluded.verified OR result.verified AND result.sha256 = excluded.sha256,
    -- A request without a validator, or none at all, leaves it as it was.
    validator = coalesce(excluded.validator,
                         CASE WHEN result.sha256 = excluded.sha256 THEN result.validator END),
    failure_message = excluded.failure_message, attempts = excluded.attempts,
    recorded_at = excluded.recorded_at

-- fragment: jobsOfSpan
-- Joins spans p with their jobs. OFFSET 0: with the statistics of a queue that was empty, a join reads all
-- jobs for each span.
CROSS JOIN LATERAL (
    SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
) AS j

-- fragment: spansOfHeldLeases
-- Joins the leases that `named` has, with their workers, with their spans. OFFSET 0: with the statistics of a
-- queue that was empty, a join reads all spans first.
CROSS JOIN LATERAL (
    SELECT FROM lease WHERE id = named.lease AND worker_id = named.worker OFFSET 0
) AS e
CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = named.lease OFFSET 0) AS p

-- fragment: jobOfEach
-- Joins rows r with the job of each, locked.
CROSS JOIN LATERAL (
    SELECT ctid AS tid, * FROM job WHERE lane_id = r.lane AND id = r.job FOR UPDATE
) AS j

-- fragment: heldJobs
-- Reads jobs that `held` has locked, with their assets locked too; 0 is no asset. By `OR` the subquery is no join.
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id = ANY(ARRAY(SELECT asset_id FROM held))
    ORDER BY id FOR NO KEY UPDATE
)
SELECT h.id, h.kind, h.attempt + 1 AS attempt, h.asset_id, h.segment_id, h.lane_id,
       CASE WHEN h.kind = 'fetch' THEN h.whole_id END AS parent_id, s.range_length,
       mf.attempt AS whole_attempt, h.kind = 'fetch' AND s.id IS NULL AS is_unseen,
       o.breaker = 'failing' AS is_given_up,
       h.whole_id IS NULL AND coalesce(s.origin_id <> l.origin_id, false) AS is_at_mirrors,
       h.kind = 'resolve' AND (SELECT renewing_since FROM asset
                               WHERE id = h.asset_id) IS NOT NULL AS is_renewal
FROM held h
JOIN lane l ON l.id = h.lane_id
JOIN origin o ON o.id = l.origin_id
LEFT JOIN segment s ON s.id = h.segment_id AND h.kind = 'fetch'
LEFT JOIN multipart_file mf ON mf.segment_id = h.whole_id
WHERE h.asset_id = 0 OR h.asset_id IN (SELECT id FROM locked)

-- fragment: mayDelete
-- Files of site t may be deleted, although nothing may be fetched: a schedule holds it back, or it
-- has no room.
(t.fault_code IS NULL OR t.fault_retry_at IS NULL OR t.fault_code IN ({{storage.full}}, {{storage.quota}}))

-- fragment: ownPriority
-- The lanes of asset a: those of its own priority, -1 for its catalog's, or -2, from which nothing
-- is claimed, while it is paused, may not begin or waits for a neighbour.
CASE WHEN a.is_paused OR a.is_waiting OR a.awaits_neighbour THEN -2 ELSE coalesce(a.priority, -1) END

-- fragment: queuedFetches
-- The end of `placed`: the lanes n of segments s of asset a, of the catalog of lane l; and after it
-- `jobs`, a fetch of each of its rows in their order, and `ready`. OFFSET 0: the other way round, the
-- segments would be read again for each of their lanes.
CROSS JOIN LATERAL (
    SELECT id FROM lane WHERE catalog_id = l.catalog_id AND origin_id = s.origin_id
        AND rank = 3 AND own_priority = {{ownPriority}} OFFSET 0
) AS n
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, kind, attempt)
    SELECT lane_id, asset_id, id, 'fetch', 0 FROM placed ORDER BY ordinal
    RETURNING asset_id
), ready AS (
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT DISTINCT lane_id FROM placed)) AND ready_since IS NULL
        AND own_priority >= -1

-- fragment: storedByNeighbour
-- Reads the neighbour's result for segment s of asset a: under the same key, and as the list or the manifest
-- states it.
SELECT c.site_id, r.bytes, r.sha256, r.validator, r.verified
FROM segment g
JOIN result r ON r.segment_id = g.id AND r.done
JOIN asset b ON b.id = g.asset_id
JOIN catalog c ON c.id = b.catalog_id
WHERE g.asset_id = a.neighbour_id AND g.ordinal = s.ordinal AND g.part = 0 AND g.key = s.key
  AND (s.expected_bytes IS NULL OR s.expected_bytes = r.bytes)
  AND (s.expected_sha256 IS NULL OR s.expected_sha256 = r.sha256)

-- fragment: hasRights
-- Files of asset a are to be deleted at a time: the condition of the index asset_by_expiry, without those
-- that are still new, or that are written or deleted now.
least(a.expires_at, a.kept_until) IS NOT NULL AND NOT a.is_cleared
AND a.state NOT IN ({{assetUntouchable}})

-- fragment: isContradictory
-- Asset a, whose rights have not expired, may begin only when they have, by its own times and those of its @catalog.
a.expires_at > now() AND a.expires_at <= greatest(
    a.not_before, (SELECT c.not_before FROM catalog c WHERE c.id = @catalog::bigint))

-- fragment: startsLater
-- Asset a, which is not paused, has jobs that wait until it may begin.
a.is_waiting AND NOT a.is_paused AND a.not_before > now() AND a.state IN ({{assetUnsettled}}) AND a.state <> 'new'

-- fragment: isPaused
a.is_paused AND a.state IN ({{assetUnsettled}})

-- fragment: isReporting
-- Worker w reports its transfers. Another resumes the bytes of one that has stopped.
w.last_seen > now() - interval '15 seconds'
      AND EXISTS (SELECT FROM lease l WHERE l.worker_id = w.id AND l.expires_at > now())

-- fragment: receiving
-- Bytes that workers have of assets without a result yet; nothing is known of a transfer that waits for its
-- first byte.
SELECT e.key::bigint AS asset_id, sum((e.value->>'receivedBytes')::bigint)::bigint AS bytes,
       coalesce(sum((e.value->>'resumedBytes')::bigint), 0)::bigint AS resumed,
       sum(CASE WHEN (e.value->>'transfers')::bigint > 0
                THEN (e.value->>'expectedBytes')::bigint END)::bigint AS expected,
       sum((e.value->>'transfers')::bigint)::bigint AS transfers
FROM worker w, jsonb_each(w.progress) AS e
WHERE {{isReporting}}
GROUP BY 1

-- fragment: assetOfTransfers
-- The asset a of an entry e of a worker's progress. OFFSET 0: by its number, whatever the statistics say; the
-- plan of a join would read all assets of a catalog that is new to them.
CROSS JOIN LATERAL (SELECT * FROM asset WHERE id = e.key::bigint OFFSET 0) AS a

-- fragment: bytesUnderWay
-- Bytes of entry e of a worker's progress that are not counted as stored: of asset a, which is settled when its
-- last result is recorded, before the worker's next heartbeat. Parts of files count with the whole file.
CASE WHEN a.state IN ({{assetUnsettled}})
     THEN (e.value->>'expectedBytes')::bigint - coalesce((e.value->>'partBytes')::bigint, 0) ELSE 0 END

-- fragment: sitesUnderWay
-- Bytes under way of each site, while any has a quota, by what workers that are alive have reported.
under_way AS MATERIALIZED (
    SELECT c.site_id, least(sum({{bytesUnderWay}}), 9e18)::bigint AS bytes
    FROM worker w, jsonb_each(w.progress) AS e
    {{assetOfTransfers}}
    JOIN catalog c ON c.id = a.catalog_id
    WHERE {{isReporting}}
      AND EXISTS (SELECT FROM site WHERE quota_bytes IS NOT NULL)
    GROUP BY c.site_id
)

-- fragment: lackingBytes
-- Bytes that asset a lacks, if its length is known. The result of a transfer may be recorded before the next
-- heartbeat without it.
CASE WHEN a.expected_bytes IS NOT NULL THEN greatest(a.expected_bytes - a.bytes, 0)
     ELSE 9223372036854775807 END

-- fragment: lackingSegments
(a.segments - a.segments_done - a.segments_failed)

-- fragment: keepsReceived
-- What was received of asset a counts until a worker has it again: of a title in progress, other
-- segments may be received next.
(a.is_paused OR a.state = 'interrupted' OR a.segments = 1)

-- fragment: receivedBytes
-- Bytes of asset a without a result: of transfers r, or received before it was paused, interrupted or
-- given back.
CASE WHEN {{lackingSegments}} > 0 AND a.state IN ({{assetUnsettled}}, 'interrupted')
    THEN least(coalesce(r.bytes, CASE WHEN {{keepsReceived}}
                                      THEN a.paused_received_bytes END, 0), {{lackingBytes}})
    ELSE 0 END

-- fragment: shownState
-- State of asset a as clients see and select it. Until its first result it is recorded as ready: no claim
-- writes assets. It is in progress once a worker holds a job of it, as one of the first 100,000 assets that workers
-- hold. The limit keeps the plan a hash of these assets, whatever the statistics say.
CASE WHEN a.state = 'ready' AND a.id IN (
         SELECT DISTINCT j.asset_id FROM lease e JOIN span p ON p.lease_id = e.id
         {{jobsOfSpan}}
         LIMIT 100000)
     THEN 'inProgress' ELSE a.state END

-- fragment: inStates
-- Asset a is in one of the @states or, if @is_paused, paused; all are while @states is null.
(@states::text[] IS NULL OR CASE WHEN {{isPaused}} THEN @is_paused::bool
                                 ELSE {{shownState}} = ANY(@states) END)

-- fragment: rights
-- When asset a may begin, while it may not, and when its files are deleted; in seconds since 1970.
CASE WHEN a.is_waiting THEN extract(epoch FROM a.not_before)::float8 END AS not_before,
extract(epoch FROM least(a.expires_at, a.kept_until))::float8 AS expires_at

-- fragment: behindLive
-- Seconds that recording w lacks of what the playlist of its newest segment lists: what is not read,
-- and what is not stored of its last segments.
CASE WHEN w.ended_at IS NULL THEN w.behind_seconds + coalesce((
    SELECT sum(e.seconds)
    FROM (SELECT seconds, ordinal FROM recorded_segment
          WHERE asset_id = w.asset_id AND playlist = (
              SELECT playlist FROM recorded_segment
              WHERE asset_id = w.asset_id AND ordinal IS NOT NULL ORDER BY ordinal DESC LIMIT 1)
          ORDER BY sequence DESC LIMIT 100) AS e
    JOIN segment s ON s.asset_id = w.asset_id AND s.ordinal = e.ordinal AND s.part = 0
    WHERE NOT EXISTS (SELECT FROM result r WHERE r.segment_id = s.id)), 0) ELSE 0 END

-- fragment: assetColumns
-- Columns of an asset as clients see it.
a.id, a.name, a.url, a.key, a.kind, {{shownState}} AS state, a.failure_code, a.failure_message, a.segments,
       a.segments_done, a.bytes, a.adopted_bytes, a.expected_bytes, a.retries, a.refreshed,
       a.warnings, jsonb_path_query_array(a.left_out, '$[0 to 19]')::text AS left_out,
       a.freed_files, a.freed_bytes, a.is_pinned, {{rights}},
       {{isPaused}} AS is_paused,
       (SELECT json_strip_nulls(json_build_object('segments', w.segments, 'gaps', w.gaps,
                   'behindSeconds', {{behindLive}}, 'end', w.end_reason,
                   'unrecorded', CASE WHEN w.unrecorded <> '{}' THEN w.unrecorded END))::text
        FROM recording w WHERE w.asset_id = a.id) AS recording

-- name: notifyWork
-- One notification a transaction, whatever the number of jobs.
SELECT pg_notify('dray_work', '')

-- name: commitLater
-- The rest of this transaction does not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true)

-- name: planOnce
-- The statements of the transaction are planned once for a connection, whatever their values: for
-- those whose plans take longer to make than to execute.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true)

-- name: lockBriefly
-- Nothing else of this transaction waits for a lock for long.
SELECT set_config('lock_timeout', '500ms', true)

-- name: lockPatiently
-- Ends `lockBriefly`: the statements that follow wait for locks until their own time limit.
SELECT set_config('lock_timeout', '0', true)
