-- Segments that manifests list, and fresh URLs for those whose signatures have expired.

-- name: areKnown
-- True if it has any segments of these ordinals.
SELECT EXISTS (
    SELECT FROM segment WHERE asset_id = @asset::bigint AND ordinal BETWEEN @first::int
        AND @last::int
) AS is_known

-- name: copySegments
-- Rows in the order of the columns.
COPY segment (ordinal, url, key, role, expected_bytes, expected_sha256, mirrors,
              object_offset, asset_id, origin_id)
FROM STDIN

-- name: stageSegments
-- Creates the table into which COPY puts resolved segments before they are merged; one table a connection.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_segment (
    ordinal int, url text, key text, role text, expected_bytes bigint, expected_sha256 text,
    mirrors text, origin text
) ON COMMIT DELETE ROWS

-- name: copyStaged
-- Rows in the order of the columns.
COPY staged_segment FROM STDIN

-- name: origins
-- The origins of the staged segments, as `list` of origins.sql.
INSERT INTO origin (url, is_listed)
SELECT s.url, true FROM (SELECT DISTINCT origin AS url FROM staged_segment) AS s
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = s.url AND o.is_listed)
ORDER BY 1
ON CONFLICT (url) DO UPDATE SET is_listed = true

-- unprepared: mergeSegments
-- A segment that is listed as before keeps its result; another signature or token makes no other
-- one. What was stored of the others is deleted when the title is complete or removed, unless it is needed
-- then, under the same key or another one.
WITH changed AS MATERIALIZED (
    SELECT s.id, s.asset_id, s.key
    FROM staged_segment g
    JOIN segment s ON s.asset_id = @asset::bigint AND s.ordinal = g.ordinal AND s.part = 0
    WHERE (s.key, s.role, s.expected_sha256) IS DISTINCT FROM (g.key, g.role, g.expected_sha256)
       OR CASE WHEN s.url = g.url THEN false ELSE {{titleOfS}} <> {{titleOfG}} END
), merged AS (
    INSERT INTO segment AS s (asset_id, origin_id, ordinal, role, url, key, expected_bytes,
                              expected_sha256, mirrors)
    SELECT @asset::bigint, o.id, g.ordinal, g.role, g.url, g.key, g.expected_bytes,
           g.expected_sha256, g.mirrors
    FROM staged_segment g JOIN origin o ON o.url = g.origin
    ORDER BY g.ordinal
    ON CONFLICT (asset_id, ordinal, part) DO UPDATE SET
        origin_id = excluded.origin_id, role = excluded.role, url = excluded.url,
        key = excluded.key, expected_bytes = excluded.expected_bytes,
        expected_sha256 = excluded.expected_sha256, renewed_at = NULL, known_bytes = NULL,
        known_sha256 = NULL, known_verified = NULL, known_validator = NULL
    WHERE (s.url, s.key, s.role, s.expected_sha256)
          IS DISTINCT FROM (excluded.url, excluded.key, excluded.role, excluded.expected_sha256)
), gone AS (
    DELETE FROM result r USING changed c WHERE r.segment_id = c.id
    RETURNING c.asset_id, c.key, r.bytes, r.done
), {{forgettingGone}}
INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes, due_at)
SELECT c.site_id, c.id, g.asset_id, g.key, g.bytes, 'infinity'
FROM gone g JOIN asset a ON a.id = g.asset_id JOIN catalog c ON c.id = a.catalog_id
WHERE g.done AND {{keepsFiles}}

-- name: mergeMirrors
-- Other locations of segments, after they were merged with those that are staged.
UPDATE segment s SET mirrors = g.mirrors FROM staged_segment g
WHERE s.asset_id = @asset::bigint AND s.ordinal = g.ordinal AND s.part = 0
  AND s.mirrors IS DISTINCT FROM g.mirrors

-- name: storeRewrittenManifests
-- Pairwise the ordinals of segments, the content that is stored under their keys, or null for what
-- is served, and the SHA-256 of what was served.
WITH given AS (
    SELECT s.id, g.content, g.served_sha256
    FROM unnest(@ordinals::int[], @contents::text[], @digests::text[]) AS g(ordinal, content,
            served_sha256)
    JOIN segment s ON s.asset_id = @asset::bigint AND s.ordinal = g.ordinal AND s.part = 0
), gone AS (
    DELETE FROM rewritten_manifest m USING given g
    WHERE m.segment_id = g.id AND g.content IS NULL
)
INSERT INTO rewritten_manifest (segment_id, content, served_sha256)
SELECT id, content, served_sha256 FROM given WHERE content IS NOT NULL
ON CONFLICT (segment_id) DO UPDATE SET content = excluded.content,
    served_sha256 = excluded.served_sha256

-- name: rewrittenManifest
SELECT content FROM rewritten_manifest WHERE segment_id = @segment::bigint

-- name: warnings
-- @warnings about its manifests are JSON, or null.
UPDATE asset SET warnings = @warnings::text WHERE id = @asset::bigint AND warnings IS DISTINCT
    FROM @warnings::text

-- name: knownWarnings
SELECT warnings FROM asset WHERE id = @asset::bigint

-- name: trim
-- The manifest lists @segments segments. What an earlier try left beyond them goes, except its
-- sidecars. Files that are to be deleted already, or that a refresh has under another number, are not
-- noted again.
WITH extra AS (
    DELETE FROM segment WHERE asset_id = @asset::bigint
        AND (ordinal >= @segments::int AND ordinal < {{firstSidecar}} OR part > 0)
    RETURNING id, asset_id, key, part
), gone AS (
    DELETE FROM result r USING extra e WHERE r.segment_id = e.id
    RETURNING e.asset_id, e.key, r.bytes, r.done AND e.part = 0 AS is_left
), {{forgettingGone}}, unneeded AS (
    INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes)
    SELECT c.site_id, c.id, g.asset_id, g.key, g.bytes
    FROM gone g JOIN asset a ON a.id = g.asset_id JOIN catalog c ON c.id = a.catalog_id
    WHERE g.is_left AND {{keepsFiles}}
      AND NOT EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = g.asset_id
                      AND hashtextextended(f.key, 0) = hashtextextended(g.key, 0) AND f.key = g.key)
      AND NOT EXISTS (SELECT FROM refreshed_file f WHERE f.asset_id = g.asset_id AND f.key = g.key)
)
DELETE FROM multipart_file mf USING segment s
WHERE s.id = mf.segment_id AND s.asset_id = @asset::bigint

-- name: sidecars
-- The segments of its sidecars follow its own, which are all there.
{{sidecars}}
WHERE a.id = @asset::bigint
ORDER BY s.place
ON CONFLICT (asset_id, ordinal, part) DO NOTHING

-- name: segmentOrigins
-- The origins of its segments and sidecars, which are all there, and how many segments each serves.
SELECT origin_id, count(*) FILTER (WHERE part = 0 AND ordinal < {{firstSidecar}}) AS segments
FROM segment WHERE asset_id = @asset::bigint
GROUP BY origin_id ORDER BY origin_id

-- name: lanes
-- The lanes of its segments, made. @lane is that of the resolve job.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT l.queue_id, l.catalog_id, o.id, 3, {{ownPriority}}
FROM lane l, asset a, unnest(@origins::bigint[]) AS o(id)
WHERE l.id = @lane::bigint AND a.id = @asset::bigint
ORDER BY o.id
ON CONFLICT DO NOTHING

-- name: lockLanes
-- Locks the lanes of its segments, before numbers are drawn. @lane is that of the resolve job.
SELECT n.id FROM lane l
JOIN asset a ON a.id = @asset::bigint
JOIN lane n ON n.catalog_id = l.catalog_id AND n.rank = 3
    AND n.own_priority = {{ownPriority}}
WHERE l.id = @lane::bigint AND n.origin_id = ANY(@origins::bigint[])
ORDER BY n.id FOR UPDATE OF n

-- name: jobs
-- raises: asset.resolved
-- Ends the resolve job. Its segments become jobs, in the manifest's order, with the priority that
-- it has by now; those that are done already are checked like any other. No result counts before
-- its job ran. Their lanes are locked.
WITH gone AS (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint RETURNING lane_id, asset_id
), placed AS (
    SELECT n.id AS lane_id, s.id, s.asset_id, s.ordinal
    FROM gone g
    JOIN lane l ON l.id = g.lane_id
    JOIN asset a ON a.id = g.asset_id
    JOIN segment s ON s.asset_id = g.asset_id
    {{queuedFetches}}
), counted AS (
    UPDATE asset a SET state = 'ready', resolved = true, segments = t.n, segments_done = 0,
        segments_failed = 0, verifies = 0, verifies_done = 0, verifies_failed = 0, bytes = 0,
        adopted_bytes = 0, renewing_since = NULL, renewals = 0, renewed_done = 0, changed_at = now(),
        may_lack = coalesce((SELECT c.title_options::jsonb ? 'mayLack' FROM catalog c
                             WHERE c.id = a.catalog_id), false)
    FROM (SELECT count(*) AS n FROM jobs) AS t
    WHERE a.id = @asset::bigint AND a.state IN ({{assetResolvable}})
    RETURNING a.id, a.catalog_id, a.segments
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id) SELECT 'asset.ready', catalog_id, id FROM counted
)
INSERT INTO tally (catalog_id, segments) SELECT catalog_id, segments FROM counted

-- name: refusedJobs
-- Pairwise jobs, their segments, null for those that read a manifest, and their assets, which are
-- locked. What decides between a fresh URL and the end of those whose URLs were rejected.
WITH stored AS MATERIALIZED (
    -- Counts that no fold has added yet count too.
    SELECT a.id, a.segments_done + coalesce((
        SELECT sum(t.segments_done) FROM tally t
        WHERE t.catalog_id = a.catalog_id AND t.asset_id = a.id), 0) AS segments
    FROM asset a WHERE a.id = ANY(@assets::bigint[])
)
SELECT r.job, a.id AS asset, coalesce(s.url, a.url) AS url,
       {{leavesOut}} AS leaves_out,
       encode(sha256(convert_to(coalesce(s.url, a.url), 'UTF8')), 'hex') AS url_digest,
       coalesce(extract(epoch FROM clock_timestamp() - s.renewed_at), 1e9)::float8 AS url_seconds,
       extract(epoch FROM clock_timestamp())::float8 AS now_seconds,
       s.id IS NOT NULL AND a.kind <> 'file' AND s.ordinal < {{firstSidecar}} AS is_listed,
       a.renewing_since IS NOT NULL AS renewing, a.renewals::bigint AS renewals,
       n.segments::bigint AS stored, n.segments <> a.renewed_done AS has_stored
FROM unnest(@jobs::bigint[], @segments::bigint[], @assets::bigint[]) AS r(job, segment, asset)
JOIN asset a ON a.id = r.asset
JOIN stored n ON n.id = a.id
LEFT JOIN segment s ON s.id = r.segment
-- A live manifest does not list them again.
WHERE NOT EXISTS (SELECT FROM recording w WHERE w.asset_id = a.id)

-- name: queueReads
-- Pairwise assets, which are locked, how often in a row their manifests are then read for fresh
-- URLs without a segment stored since, and how many are stored. One job each.
WITH begun AS (
    UPDATE asset a SET renewing_since = now(), renewals = r.renewals, renewed_done = r.stored
    FROM unnest(@assets::bigint[], @renewals::int[], @stored::int[]) AS r(asset, renewals, stored)
    WHERE a.id = r.asset AND a.renewing_since IS NULL
    RETURNING a.id, a.catalog_id, a.origin_id, {{ownPriority}} AS own_priority
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, kind)
SELECT c.queue_id, c.id, b.origin_id, 1, b.own_priority, b.id, 'resolve'
FROM begun b JOIN catalog c ON c.id = b.catalog_id
ORDER BY b.id

-- unprepared: renewURLs
-- A part of its manifest, read again, is staged. Segments get their fresh URLs by key, and what
-- waits for one is due. Answers how many are, and which segments are listed with the URL that they
-- had.
WITH moved AS MATERIALIZED (
    SELECT g.* FROM staged_segment g
    WHERE NOT EXISTS (
        SELECT FROM segment s
        WHERE s.asset_id = @asset::bigint AND s.ordinal = g.ordinal AND s.part = 0
            AND s.key = g.key)
), matched AS MATERIALIZED (
    -- With its parts.
    SELECT s.id, s.url <> g.url AS is_fresh, g.url, g.mirrors, g.origin
    FROM staged_segment g
    JOIN segment s ON s.asset_id = @asset::bigint AND s.ordinal = g.ordinal AND s.key = g.key
    UNION ALL
    SELECT s.id, s.url <> g.url, g.url, g.mirrors, g.origin
    FROM moved g
    JOIN segment s ON s.asset_id = @asset::bigint AND s.ordinal < {{firstSidecar}} AND s.key = g.key
), renewed AS (
    UPDATE segment s SET url = m.url, mirrors = m.mirrors, origin_id = o.id, renewed_at = now()
    FROM matched m JOIN origin o ON o.url = m.origin
    WHERE s.id = m.id
), released AS (
    UPDATE delayed_job d SET available_at = now(), refused_code = NULL, refused_message = NULL,
        origin_id = o.id
    FROM matched m JOIN origin o ON o.url = m.origin
    WHERE m.is_fresh AND d.asset_id = @asset::bigint AND d.segment_id = m.id
      AND d.refused_code IS NOT NULL
    RETURNING 1
)
SELECT (SELECT count(*) FROM released) AS released,
       array(SELECT id FROM matched WHERE NOT is_fresh) AS unchanged

-- name: endRead
-- @lane and @job are those of the job that read the manifest for fresh URLs. Answers how many jobs
-- are due now.
WITH gone AS (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint
), released AS (
    UPDATE delayed_job d SET available_at = now(), refused_code = NULL, refused_message = NULL
    FROM asset a
    WHERE a.id = @asset::bigint AND d.asset_id = a.id AND d.refused_code IS NOT NULL
      AND (
        -- A file that is fetched again as a whole; no origin rejected its URL.
        d.refused_code = {{content.changed}}
        -- Rejected after the manifest had listed it: the next try has the URL of this reading.
        OR EXISTS (SELECT FROM segment s
                   WHERE s.id = d.segment_id AND s.renewed_at >= a.renewing_since))
    RETURNING 1
)
UPDATE asset SET renewing_since = NULL WHERE id = @asset::bigint
RETURNING (SELECT count(*) FROM released) AS released

-- name: failRefused
-- raises: asset.progressed, asset.partsStored, asset.finished, asset.gaveUp
-- Segments that wait for fresh URLs and get none fail for good: @segments, null for all that wait,
-- with @code and @message, null for what the origin answered to each. Answers with the files whose
-- parts they are.
WITH settled AS MATERIALIZED (
    DELETE FROM delayed_job
    WHERE asset_id = @asset::bigint AND refused_code IS NOT NULL
        AND refused_code <> {{content.changed}}
      AND (@segments::bigint[] IS NULL OR segment_id = ANY(@segments::bigint[]))
    RETURNING asset_id, segment_id, whole_id, attempt - 1 AS attempt, false AS done,
              NULL::bigint AS bytes, NULL::text AS sha256, false AS adopted,
              coalesce(@code::text, refused_code) AS code,
              coalesce(@message::text, refused_message) AS message, false AS verified,
              NULL::text AS validator
), unsaved AS (
    INSERT INTO asset_failure (asset_id, code, origin_id, remedy, is_final)
    SELECT DISTINCT ON (t.asset_id, t.code) t.asset_id, t.code, a.origin_id,
           CASE WHEN a.may_lack THEN 5 ELSE 0 END, true
    FROM settled t JOIN asset a ON a.id = t.asset_id
    ON CONFLICT (asset_id, code) DO UPDATE SET is_final = true,
        remedy = greatest(asset_failure.remedy, excluded.remedy)
), {{settledFetches}}
SELECT DISTINCT ON (whole_id) whole_id, code, message FROM settled
WHERE whole_id IS NOT NULL ORDER BY whole_id
