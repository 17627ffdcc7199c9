-- Completed assets whose files are asked for again.

-- name: isLacking
-- True if it has assets that only the next start begins: nothing else would end them.
SELECT EXISTS (
    SELECT FROM asset WHERE catalog_id = @catalog::bigint AND generation = @generation::int
      AND state IN ({{assetInterrupted}})
) AS is_lacking

-- name: postponeDue
-- Assets that are due and have nothing at their site, that their list no longer names, and recordings,
-- are looked at again after their time: @limit of them. Answers how many.
WITH due AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN catalog c ON c.id = a.catalog_id
    WHERE a.refresh_at <= now()
      AND (a.state IN ({{assetGone}}, 'failed', 'cancelled') OR a.generation < c.generation
           OR EXISTS (SELECT FROM recording r WHERE r.asset_id = a.id))
    ORDER BY a.id LIMIT @limit::int FOR NO KEY UPDATE OF a SKIP LOCKED
), postponed AS (
    UPDATE asset a SET refresh_at = now() + make_interval(secs => a.refresh_seconds)
    FROM due WHERE a.id = due.id
    RETURNING 1
)
SELECT count(*) AS assets FROM postponed

-- name: catalogsDue
-- Catalogs with assets whose time has come, by that time: none that runs, is being submitted, was
-- cancelled or has expired. The first @limit.
SELECT c.id FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.refresh_at <= now() AND a.state = 'completed' AND a.generation = c.generation
  AND NOT a.redefined AND NOT a.sidecars_changed
  AND NOT EXISTS (SELECT FROM recording r WHERE r.asset_id = a.id)
  AND c.state IN ({{catalogRefreshable}}) AND c.opened_generation = c.generation
  AND (c.expires_at IS NULL OR c.expires_at > now())
GROUP BY c.id ORDER BY min(a.refresh_at) LIMIT @limit::int

-- name: due
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND refresh_at <= now() AND state = 'completed'
  AND generation = @generation::int AND NOT redefined AND NOT sidecars_changed
ORDER BY id LIMIT @limit::int

-- name: delayDue
-- They cannot be refreshed now; nothing of them is due before that.
UPDATE asset SET refresh_at = now() + interval '1 minute'
WHERE catalog_id = @catalog::bigint AND refresh_at <= now()

-- name: setTimes
-- Pairwise assets, which are locked, and seconds after which those are due whose origins say when.
UPDATE asset a SET refresh_at = now() + make_interval(secs => r.seconds)
FROM unnest(@assets::bigint[], @seconds::bigint[]) AS r(asset, seconds)
WHERE a.id = r.asset AND a.refresh_by_origin

-- unprepared: lanes
-- The lanes of what can be refreshed, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT @queue::bigint, @catalog::bigint, origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2
    END,
       {{ownPriority}}
FROM asset a WHERE catalog_id = @catalog::bigint AND generation = @generation::int
    AND state = 'completed'
ORDER BY 3, 4, 5
ON CONFLICT DO NOTHING

-- unprepared: jobs
-- raises: asset.refresh
-- The catalog's lanes are locked; @assets is null for all. A job for each that is completed; the
-- outcomes of earlier refreshes are forgotten.
WITH wanted AS MATERIALIZED (
    SELECT id, origin_id, CASE WHEN kind = 'file' THEN 3 ELSE 2 END AS rank,
           {{ownPriority}} AS own_priority
    FROM asset a
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int AND state = 'completed'
      AND NOT redefined AND NOT sidecars_changed
      -- Its origin has its segments no longer.
      AND NOT EXISTS (SELECT FROM recording r WHERE r.asset_id = a.id)
      AND (@assets::bigint[] IS NULL OR id IN (SELECT unnest(@assets::bigint[])))
), files AS (
    DELETE FROM refreshed_file f USING wanted w WHERE f.asset_id = w.id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, kind, attempt)
    SELECT l.id, w.id, 'refresh', 0
    FROM wanted w
    JOIN lane l ON l.catalog_id = @catalog::bigint AND l.origin_id = w.origin_id AND l.rank = w.rank
        AND l.own_priority = w.own_priority
    ORDER BY w.id
    RETURNING asset_id
), started AS (
    UPDATE asset a SET
        state = CASE WHEN w.id IS NULL THEN a.state ELSE 'refreshing' END,
        refreshed = NULL, retries = CASE WHEN w.id IS NULL THEN a.retries ELSE 0 END,
        -- The reason of an asset that has failed stays; that of a failed refresh is history.
        failure_code = CASE WHEN a.state <> 'completed' THEN a.failure_code END,
        failure_message = CASE WHEN a.state <> 'completed' THEN a.failure_message END,
        changed_at = CASE WHEN w.id IS NULL THEN a.changed_at ELSE now() END,
        wanted_at = CASE WHEN w.id IS NULL THEN a.wanted_at ELSE now() END,
        refresh_at = CASE WHEN w.id IS NULL THEN a.refresh_at
                          ELSE now() + make_interval(secs => a.refresh_seconds) END
    FROM asset b LEFT JOIN wanted w ON w.id = b.id
    WHERE a.id = b.id AND b.catalog_id = @catalog::bigint AND b.generation = @generation::int
      AND (w.id IS NOT NULL OR b.refreshed IS NOT NULL)
    RETURNING a.id, a.catalog_id, a.state, a.failure_code, a.failure_message,
              a.state <> b.state AS has_changed
), changed AS NOT MATERIALIZED (
    SELECT * FROM started WHERE has_changed
), events AS (
    {{assetEvents}}
)
SELECT count(*) AS assets, count(*) AS jobs FROM jobs

-- name: forget
-- Deletes the files that tries before @job handed in.
DELETE FROM refreshed_file WHERE asset_id = @asset::bigint AND job_id <> @job::bigint

-- name: files
-- A page of what is stored of it after ordinal @after, and what is known of that.
SELECT s.ordinal, s.url, s.key, s.role, s.expected_bytes, s.expected_sha256, s.expected_digests,
       s.optional, s.mirrors, r.bytes, r.sha256, r.validator, r.verified,
       s.role = 'playlist' AND EXISTS (SELECT FROM rewritten_manifest m
                                       WHERE m.segment_id = s.id) AS is_rewritten
FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
WHERE s.asset_id = @asset::bigint AND s.part = 0 AND s.ordinal > @after::int
ORDER BY s.ordinal LIMIT @limit::int

-- name: stagedFiles
-- A page of its staged files after ordinal @after, and who staged them.
SELECT f.ordinal, f.url, f.key, f.role, f.bytes, f.sha256, f.staged, w.job_id, w.lease_id
FROM refresh_publication w
LEFT JOIN LATERAL (
    SELECT * FROM refreshed_file
    WHERE asset_id = w.asset_id AND ordinal > @after::int AND staged IS NOT NULL
    ORDER BY ordinal LIMIT @limit::int
) AS f ON true
WHERE w.asset_id = @asset::bigint
ORDER BY f.ordinal

-- name: store
-- Pairwise the files of an asset as a refresh found them. @expected_bytes and @expected_sha256 are
-- what is listed; @bytes and @sha256 what is to be stored, @verified whether a digest was compared,
-- @staged the numbers of staged files, @served_sha256 digests of manifests as they were served.
INSERT INTO refreshed_file (asset_id, job_id, ordinal, origin, url, key, role, expected_bytes,
                            expected_sha256, content, bytes, sha256, validator, verified, staged,
                            mirrors, served_sha256)
SELECT @asset::bigint, @job::bigint, f.*
FROM unnest(@ordinals::int[], @origins::text[], @urls::text[], @keys::text[], @roles::text[],
            @expected_bytes::bigint[], @expected_sha256::text[], @contents::text[],
            @bytes::bigint[], @sha256::text[], @validators::text[], @verified::bool[],
            @staged::int[], @mirrors::text[], @served_sha256::text[]) AS f
ON CONFLICT (asset_id, ordinal) DO UPDATE SET
    job_id = excluded.job_id, origin = excluded.origin, url = excluded.url, key = excluded.key,
    role = excluded.role, expected_bytes = excluded.expected_bytes,
    expected_sha256 = excluded.expected_sha256, content = excluded.content,
    bytes = excluded.bytes, sha256 = excluded.sha256, validator = excluded.validator,
    verified = excluded.verified, staged = excluded.staged, mirrors = excluded.mirrors,
    served_sha256 = excluded.served_sha256

-- name: grantPublication
-- raises: asset.publish
-- Its row and its job are locked by the caller. @segments is how many files its manifest lists,
-- null where these are as before. Granted when there are staged files and all that are listed: from
-- here on the job publishes, and nothing but its end takes it away. Its tries are counted again.
WITH handed AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE ordinal < {{firstSidecar}}) AS listed, count(staged) AS staged
    FROM refreshed_file WHERE asset_id = @asset::bigint
), granted AS (
    INSERT INTO refresh_publication (asset_id, job_id, lease_id, segments)
    SELECT @asset::bigint, @job::bigint, @lease::uuid, @segments::int FROM handed
    WHERE staged > 0 AND (@segments::int IS NULL OR listed = @segments::int)
    RETURNING asset_id
), jobs AS (
    UPDATE job SET kind = 'publish', attempt = 0 FROM granted WHERE lane_id = @lane::bigint
        AND id = @job::bigint
), assets AS (
    UPDATE asset a SET state = 'publishing', changed_at = now() FROM granted g
    WHERE a.id = g.asset_id AND a.state = 'refreshing'
    RETURNING a.id, a.catalog_id
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id)
    SELECT 'asset.publishing', catalog_id, id FROM assets
)
SELECT EXISTS (SELECT FROM granted) AS is_granted

-- name: isGranted
-- True if the publication was granted under this lease.
SELECT EXISTS (
    SELECT FROM refresh_publication WHERE asset_id = @asset::bigint AND lease_id = @lease::uuid
) AS is_granted

-- name: found
-- In their order, whether their refreshes have handed in files. For one whose publication was
-- granted: how many files its manifest lists by now, null where these are as before.
SELECT g.asset, EXISTS (SELECT FROM refreshed_file f WHERE f.asset_id = g.asset) AS has_files,
       w.segments
FROM unnest(@assets::bigint[]) WITH ORDINALITY AS g(asset, place)
LEFT JOIN refresh_publication w ON w.asset_id = g.asset
ORDER BY g.place

-- name: segments
-- Inserts the segments that its manifest lists by now. Sidecars, which the list names, and files that are as
-- they were stay.
INSERT INTO segment AS s (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                          expected_sha256, mirrors)
SELECT f.asset_id, o.id, f.ordinal, f.role, f.url, f.key, f.expected_bytes, f.expected_sha256,
       f.mirrors
FROM refreshed_file f JOIN origin o ON o.url = f.origin
WHERE f.asset_id = @asset::bigint AND f.ordinal < {{firstSidecar}}
ORDER BY f.ordinal
ON CONFLICT (asset_id, ordinal, part) DO UPDATE SET
    origin_id = excluded.origin_id, role = excluded.role, url = excluded.url, key = excluded.key,
    expected_bytes = excluded.expected_bytes, expected_sha256 = excluded.expected_sha256,
    mirrors = excluded.mirrors
WHERE (s.url, s.key, s.role, s.expected_bytes, s.expected_sha256, s.mirrors) IS DISTINCT FROM
      (excluded.url, excluded.key, excluded.role, excluded.expected_bytes,
       excluded.expected_sha256, excluded.mirrors)

-- name: results
-- Records the files that are at the edge by now.
WITH files AS MATERIALIZED (
    SELECT s.id, f.*
    FROM refreshed_file f
    JOIN segment s ON s.asset_id = f.asset_id AND s.ordinal = f.ordinal AND s.part = 0
    WHERE f.asset_id = @asset::bigint
), rewritten_manifests AS (
    DELETE FROM rewritten_manifest m USING files f
    WHERE m.segment_id = f.id AND f.content IS NULL
), written AS (
    INSERT INTO rewritten_manifest (segment_id, content, served_sha256)
    SELECT id, content, served_sha256 FROM files WHERE content IS NOT NULL
    ON CONFLICT (segment_id) DO UPDATE SET content = excluded.content,
        served_sha256 = excluded.served_sha256
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, n.bytes
    FROM (
        SELECT sum(f.bytes - coalesce(
                   (SELECT bytes FROM result WHERE segment_id = f.id AND done), 0)) AS bytes
        FROM files f
    ) AS n JOIN asset a ON a.id = @asset::bigint
    WHERE n.bytes <> 0
), stored_now AS (
    SELECT asset_id, id AS segment_id FROM files
), {{storedAgain}}
INSERT INTO result AS r (segment_id, done, bytes, sha256, attempts, verified, validator)
SELECT id, true, bytes, sha256, @attempt::smallint, verified, validator FROM files ORDER BY id
ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
    sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
    verified = excluded.verified, validator = excluded.validator, attempts = excluded.attempts,
    recorded_at = CASE WHEN r.sha256 = excluded.sha256 THEN r.recorded_at ELSE now() END
WHERE (r.done, r.bytes, r.sha256, r.verified, r.validator) IS DISTINCT FROM
      (true, excluded.bytes, excluded.sha256, excluded.verified, excluded.validator)

-- name: settle
-- raises: asset.finished, asset.gaveUp
-- Pairwise. @codes and @messages are those of refreshes that failed, @relisted whether the asset
-- has other files than before. The jobs are locked by the caller; what they found is recorded. An
-- asset whose refresh failed, before a publication was granted, is what it was.
WITH ended AS MATERIALIZED (
    SELECT j.tid, j.asset_id, r.outcome, r.code, r.message, r.relisted
    FROM unnest(@lanes::bigint[], @jobs::bigint[], @outcomes::text[], @codes::text[],
                @messages::text[], @relisted::bool[])
        AS r(lane, job, outcome, code, message, relisted)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM ended))
), files AS (
    DELETE FROM refreshed_file f USING ended e WHERE f.asset_id = e.asset_id
), publications AS (
    DELETE FROM refresh_publication w USING ended e WHERE w.asset_id = e.asset_id
), counted AS MATERIALIZED (
    SELECT a.id, a.bytes AS old_bytes, a.adopted_bytes AS old_adopted, a.segments AS old_segments,
           a.segments_done AS old_done, e.outcome, e.code, e.message, e.relisted,
           coalesce(n.bytes, a.bytes) AS bytes, coalesce(n.files, 0) AS files
    FROM ended e
    JOIN asset a ON a.id = e.asset_id AND a.state IN ({{assetRefreshing}})
    LEFT JOIN LATERAL (
        SELECT sum(r.bytes)::bigint AS bytes, count(*)::int AS files
        FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
        WHERE s.asset_id = e.asset_id AND s.part = 0
    ) AS n ON e.outcome = 'changed'
), settled AS (
    UPDATE asset a SET
        state = 'completed', refreshed = c.outcome, failure_code = c.code,
        failure_message = c.message, bytes = c.bytes,
        adopted_bytes = least(a.adopted_bytes, c.bytes),
        segments = CASE WHEN c.relisted THEN c.files ELSE a.segments END,
        segments_done = CASE WHEN c.relisted THEN c.files ELSE a.segments_done END,
        verifies = CASE WHEN c.relisted THEN 0 ELSE a.verifies END,
        verifies_done = CASE WHEN c.relisted THEN 0 ELSE a.verifies_done END,
        changed_at = now()
    FROM counted c WHERE a.id = c.id
    RETURNING a.id, a.failure_code, a.failure_message, a.catalog_id, a.directory_id,
              a.bytes - c.old_bytes AS bytes,
              a.adopted_bytes - c.old_adopted AS adopted_bytes,
              a.segments - c.old_segments AS segments, a.segments_done - c.old_done AS segments_done
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.completed', catalog_id, id, failure_code, failure_message FROM settled ORDER BY id
)
INSERT INTO tally (catalog_id, directory_id, assets_completed, segments, segments_done, bytes,
                   adopted_bytes)
SELECT catalog_id, directory_id, count(*), sum(segments), sum(segments_done), sum(bytes),
       sum(adopted_bytes)
FROM settled GROUP BY catalog_id, directory_id

-- name: failPublication
-- raises: asset.gaveUp
-- The job is locked by the caller. Which of the staged files have moved is not known: what was
-- known of those keys is forgotten, so that they are fetched. The asset has failed; whatever begins
-- it again asks for its manifest.
WITH gone AS MATERIALIZED (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint RETURNING asset_id
), files AS MATERIALIZED (
    DELETE FROM refreshed_file f USING gone g WHERE f.asset_id = g.asset_id
    RETURNING f.asset_id, f.key, f.staged
), publications AS (
    DELETE FROM refresh_publication w USING gone g WHERE w.asset_id = g.asset_id
), results AS (
    DELETE FROM result r USING files f, segment s
    WHERE f.staged IS NOT NULL AND s.asset_id = f.asset_id AND s.key = f.key
      AND r.segment_id = s.id
    RETURNING s.asset_id, s.key, r.bytes
), held AS (
    -- A file without a record now is deleted when the asset is complete or removed, unless it is needed then.
    INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes, due_at)
    SELECT c.site_id, c.id, f.asset_id, f.key, coalesce(r.bytes, 0), 'infinity'
    FROM files f JOIN asset a ON a.id = f.asset_id JOIN catalog c ON c.id = a.catalog_id
    LEFT JOIN results r ON r.asset_id = f.asset_id AND r.key = f.key
    WHERE f.staged IS NOT NULL
), unknown AS (
    UPDATE segment s SET known_bytes = NULL, known_sha256 = NULL, known_verified = NULL,
        known_validator = NULL
    FROM files f
    WHERE f.staged IS NOT NULL AND s.asset_id = f.asset_id AND s.key = f.key
      AND s.known_sha256 IS NOT NULL
), settled AS (
    UPDATE asset a SET state = 'failed', refreshed = 'failed', resolved = false,
        failure_code = @code, failure_message = @message, changed_at = now()
    FROM gone g WHERE a.id = g.asset_id AND a.state = 'publishing'
    RETURNING a.id, a.catalog_id, a.directory_id, a.failure_code, a.failure_message
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.failed', catalog_id, id, failure_code, failure_message FROM settled
)
INSERT INTO tally (catalog_id, directory_id, assets_failed, stored_bytes)
SELECT a.catalog_id, s.directory_id, (s.id IS NOT NULL)::int,
       -coalesce((SELECT sum(bytes) FROM results), 0)
FROM gone g JOIN asset a ON a.id = g.asset_id LEFT JOIN settled s ON s.id = a.id

-- fragment: stillLacks
-- Asset a was refreshed, and lacks renditions whose files its origin still does not serve.
a.refreshed <> 'failed' AND a.left_out IS NOT NULL

-- unprepared: summary
SELECT count(*) FILTER (WHERE a.refreshed = 'unchanged') AS unchanged,
       count(*) FILTER (WHERE a.refreshed = 'changed') AS changed,
       count(*) FILTER (WHERE a.refreshed = 'failed') AS failed,
       count(*) FILTER (WHERE {{stillLacks}}) AS lacking
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation

-- unprepared: failures
-- The first of its assets whose last refresh failed.
SELECT {{assetColumns}}
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation AND a.refreshed = 'failed'
ORDER BY a.id LIMIT {{maxRefreshFailures}}

-- unprepared: lacking
-- The first of its titles that still lack renditions.
SELECT {{assetColumns}}
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation AND {{stillLacks}}
ORDER BY a.id LIMIT {{maxRefreshFailures}}

-- name: dropDeadline
-- A deadline belongs to the submission that set it. A refresh that begins after it has none, unless
-- that submission still runs, late.
UPDATE catalog SET deadline = NULL
WHERE id = @catalog::bigint AND state <> 'running' AND deadline <= now()
