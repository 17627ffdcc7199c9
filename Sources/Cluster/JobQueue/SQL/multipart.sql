-- Files in parts: divided, put together, fetched again, failed.

-- name: divide
-- @attempt is the try of the whole file, @digests what the origin states of it.
INSERT INTO multipart_file (id, segment_id, total_bytes, validator, parts, attempt, digests,
                            site_id)
VALUES (@multipart::uuid, @segment::bigint, @total_bytes::bigint, @validator, @parts::int,
        @attempt::smallint, string_to_array(@digests, ','),
        (SELECT c.site_id FROM segment s JOIN asset a ON a.id = s.asset_id
         JOIN catalog c ON c.id = a.catalog_id WHERE s.id = @segment::bigint))

-- name: makeParts
-- raises: asset.progressed
-- @lane and @job are those of the job that found it large. It continues with the first part under
-- its lease; the others become jobs, to be tried alone as it is.
WITH whole AS (
    SELECT * FROM segment WHERE id = @segment::bigint
), parts AS (
    INSERT INTO segment (asset_id, parent_id, origin_id, ordinal, part, role, url, key,
                         range_offset, range_length, renewed_at)
    SELECT w.asset_id, w.id, w.origin_id, w.ordinal, p.n, w.role, w.url, w.key,
           (p.n - 1) * @part_bytes::bigint,
           least(@part_bytes::bigint, @total_bytes::bigint - (p.n - 1) * @part_bytes::bigint),
           w.renewed_at
    FROM whole w, generate_series(1, @parts::int) AS p(n)
    RETURNING id, asset_id, origin_id, part
), first AS (
    UPDATE job SET segment_id = parts.id, whole_id = @segment::bigint
    FROM parts WHERE job.lane_id = @lane::bigint AND job.id = @job::bigint AND parts.part = 1
    RETURNING job.lane_id
), jobs AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, whole_id, kind)
    SELECT l.queue_id, l.catalog_id, p.origin_id,
           CASE WHEN l.rank = 4 THEN 4 ELSE 1 END, {{ownPriority}}, p.asset_id, p.id,
           @segment::bigint, 'fetch'
    FROM first f JOIN lane l ON l.id = f.lane_id, parts p JOIN asset a ON a.id = p.asset_id
    WHERE p.part > 1 ORDER BY p.part
), counted AS (
    UPDATE asset a SET segments = a.segments + @parts::int - 1, verifies = a.verifies + 1,
        -- Not of one that was named again: the length is that of the object it was before.
        expected_bytes = CASE WHEN a.kind = 'file' AND NOT a.redefined THEN @total_bytes::bigint
                              ELSE a.expected_bytes END,
        state = 'inProgress', changed_at = now()
    FROM whole w JOIN asset o ON o.id = w.asset_id
    WHERE a.id = w.asset_id
    RETURNING a.id, a.catalog_id, a.state <> o.state AS has_changed
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id)
    SELECT 'asset.inProgress', catalog_id, id FROM counted WHERE has_changed
)
INSERT INTO tally (catalog_id, segments) SELECT catalog_id, @parts::int - 1 FROM counted

-- name: isFirstPart
-- True if a segment is the first part of this multipart file.
SELECT EXISTS (
    SELECT FROM segment s JOIN multipart_file mf ON mf.segment_id = s.parent_id
    WHERE s.id = @segment::bigint AND s.range_offset = 0 AND mf.id = @multipart::uuid) AS is_first

-- name: partDone
-- One more part of a file is stored; after the last the file is verified. @digests are what the
-- origin has stated of the whole file with this part.
WITH counted AS (
    UPDATE multipart_file SET parts_done = parts_done + 1, bytes_done = bytes_done + @bytes::bigint,
        -- More than these can only contradict each other, as these do.
        digests = CASE WHEN @digests = '' THEN digests ELSE ARRAY(
            SELECT DISTINCT d FROM unnest(digests || string_to_array(@digests, ',')) AS d ORDER BY d
            LIMIT 16) END
    WHERE segment_id = @whole::bigint
    RETURNING segment_id, parts, parts_done
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, segment_id,
                         whole_id, kind)
SELECT c.queue_id, c.id, 0, 0, {{ownPriority}}, a.id, n.segment_id, n.segment_id, 'verify'
FROM counted n
JOIN segment s ON s.id = n.segment_id
JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE n.parts_done = n.parts

-- name: partFailed
-- One row for the first part of the file that failed for good.
UPDATE multipart_file SET failed = true WHERE segment_id = @whole::bigint AND NOT failed
RETURNING true

-- name: deleteJobs
-- Deletes the verification of a file and the jobs of its parts. A claim that is moving one of them
-- to its lane is waited for, and the job that it made is seen by the next execution.
WITH delayed AS (
    DELETE FROM delayed_job WHERE whole_id = @whole::bigint RETURNING 1
), gone AS (
    DELETE FROM job WHERE whole_id = @whole::bigint RETURNING 1
)
SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM gone) AS jobs

-- unprepared: reset
-- raises: asset.progressed
-- The parts of a file do not belong to one version of the object, or cannot be had: they go, and
-- the file is fetched from its start again after @seconds, or when its title's manifest has been
-- read where that is read for fresh URLs. @uncounted tries do not count; with @is_whole it is not
-- divided again.
WITH whole AS (
    UPDATE segment s SET is_whole = CASE WHEN @is_whole::bool THEN true ELSE s.is_whole END,
        previous_multipart_id = mf.id
    FROM multipart_file mf WHERE s.id = @whole::bigint AND mf.segment_id = s.id
), parts AS (
    DELETE FROM segment WHERE parent_id = @whole::bigint RETURNING id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
    RETURNING result.done, result.bytes
), multipart_files AS (
    DELETE FROM multipart_file WHERE segment_id = @whole::bigint RETURNING parts, attempt, failed
), counts AS (
    SELECT (SELECT max(parts) FROM multipart_files) - 1 AS fewer,
           (SELECT max(attempt) FROM multipart_files) AS attempt,
           (SELECT count(*) FROM multipart_files WHERE failed) AS given_up,
           (SELECT count(*) FROM results WHERE done) AS done,
           (SELECT count(*) FROM results WHERE NOT done) AS failed,
           (SELECT coalesce(sum(bytes), 0) FROM results WHERE done) AS bytes
), counted AS (
    UPDATE asset a SET segments = a.segments - t.fewer, segments_done = a.segments_done - t.done,
        segments_failed = a.segments_failed - t.failed, bytes = a.bytes - t.bytes,
        adopted_bytes = least(a.adopted_bytes, a.bytes - t.bytes),
        verifies = a.verifies - 1, verifies_failed = a.verifies_failed - t.given_up,
        -- The failure of one of its parts is not its end any more.
        failure_code = CASE WHEN a.segments_failed > t.failed OR a.verifies_failed > t.given_up
                            THEN a.failure_code END,
        failure_message = CASE WHEN a.segments_failed > t.failed OR a.verifies_failed > t.given_up
                               THEN a.failure_message END,
        retries = a.retries + 1, state = 'inProgress', changed_at = now()
    FROM counts t, segment s, asset b
    WHERE s.id = @whole::bigint AND a.id = s.asset_id AND b.id = a.id AND t.fewer IS NOT NULL
    RETURNING a.id, a.catalog_id, a.state <> b.state AS has_changed,
              {{ownPriority}} AS priority, s.origin_id,
        a.renewing_since IS NOT NULL AS renewing,
              t.attempt,
              t.fewer, t.done, t.failed, t.bytes,
              b.adopted_bytes - a.adopted_bytes AS adopted_bytes
), queued AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, kind, attempt, available_at, refused_code,
                             refused_message)
    SELECT c.queue_id, c.id, n.origin_id, 1, n.priority, n.id, @whole::bigint, 'fetch',
           n.attempt - @uncounted::smallint,
           CASE WHEN n.renewing THEN 'infinity'
                ELSE now() + make_interval(secs => @seconds::float8) END,
           -- Whatever comes of that, it is released then.
           CASE WHEN n.renewing THEN {{content.changed}} END, NULL
    FROM counted n JOIN catalog c ON c.id = n.catalog_id
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id)
    SELECT 'asset.inProgress', catalog_id, id FROM counted WHERE has_changed
)
INSERT INTO tally (catalog_id, segments, segments_done, segments_failed, bytes, adopted_bytes,
                   stored_bytes, retries)
SELECT catalog_id, -fewer, -done, -failed, -bytes, -adopted_bytes, -bytes, 1 FROM counted

-- name: verified
-- The whole file is under its final key. @verified: it was compared with what is stated.
WITH gone AS (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint
), multipart_files AS (
    DELETE FROM multipart_file WHERE segment_id = @segment::bigint RETURNING validator
), parts AS (
    DELETE FROM segment WHERE parent_id = @segment::bigint RETURNING id
), part_results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id RETURNING result.bytes
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, @bytes::bigint - coalesce((SELECT sum(bytes) FROM part_results), 0)
           - coalesce((SELECT bytes FROM result WHERE segment_id = s.id AND done), 0)
    FROM segment s JOIN asset a ON a.id = s.asset_id WHERE s.id = @segment::bigint
), stored_now AS (
    SELECT asset_id, id AS segment_id FROM segment WHERE id = @segment::bigint
), {{storedAgain}}
INSERT INTO result (segment_id, done, bytes, sha256, attempts, verified, validator)
VALUES (@segment::bigint, true, @bytes::bigint, @sha256, @attempts::smallint, @verified::bool,
        -- The validator of the requests for all its parts.
        (SELECT validator FROM multipart_files WHERE length(validator) <= {{longestValidator}}))
ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
    sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
    verified = excluded.verified, validator = excluded.validator, attempts = excluded.attempts,
    recorded_at = excluded.recorded_at

-- name: verifyFailed
WITH gone AS (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint
), unstored AS (
    SELECT @segment::bigint AS segment_id
), {{forgettingUnstored}}, held AS (
    {{holdingUnstored}}
)
INSERT INTO result (segment_id, done, failure_code, failure_message, attempts)
VALUES (@segment::bigint, false, @code, @message, @attempts::smallint)
ON CONFLICT (segment_id) DO UPDATE SET done = false, bytes = NULL, sha256 = NULL,
    failure_code = excluded.failure_code, failure_message = excluded.failure_message,
    attempts = excluded.attempts, recorded_at = excluded.recorded_at

-- name: abandoned
-- Files in parts that no worker resumes, named once: the worker that asks removes them.
DELETE FROM abandoned_multipart_file
WHERE id IN (SELECT id FROM abandoned_multipart_file WHERE site_id = @site::bigint
             ORDER BY noted_at LIMIT 100 FOR UPDATE SKIP LOCKED)
RETURNING id

-- unprepared: givenUp
-- Catalogs with files in parts that are abandoned: at once where they were cancelled, else @seconds
-- after their assets failed, for a retry resumes their parts.
SELECT DISTINCT a.catalog_id AS id
FROM multipart_file mf JOIN segment s ON s.id = mf.segment_id JOIN asset a ON a.id = s.asset_id
WHERE a.state IN ({{assetRetryable}}) AND (a.kind = 'file' OR a.resolved)
  AND (a.failure_code = {{worker.cancelled}}
       OR a.changed_at < now() - make_interval(secs => @seconds::float8))

-- unprepared: release
-- The catalog's lock is held. Abandons its files in parts, as `givenUp`: their parts go, and the
-- next start fetches them from their beginning.
WITH chosen AS MATERIALIZED (
    SELECT mf.segment_id, mf.parts, mf.attempt, a.id AS asset_id, a.failure_code, a.failure_message
    FROM multipart_file mf JOIN segment s ON s.id = mf.segment_id JOIN asset a ON a.id = s.asset_id
    WHERE a.catalog_id = @catalog::bigint AND a.state IN ({{assetRetryable}})
        AND (a.kind = 'file' OR a.resolved)
      AND (a.failure_code = {{worker.cancelled}}
           OR a.changed_at < now() - make_interval(secs => @seconds::float8))
    ORDER BY mf.segment_id LIMIT 100
), parts AS (
    DELETE FROM segment USING chosen c WHERE segment.parent_id = c.segment_id
    RETURNING segment.id, c.segment_id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
    RETURNING parts.segment_id, result.done, result.bytes
), gone AS (
    DELETE FROM multipart_file USING chosen c WHERE multipart_file.segment_id = c.segment_id
), stored AS (
    SELECT segment_id, count(*) AS parts, sum(bytes) AS bytes FROM results WHERE done
    GROUP BY segment_id
), totals AS (
    -- All that was not stored counts as failed, and each file as one failed verification.
    SELECT c.asset_id, count(*) AS files, sum(c.parts) AS parts,
           coalesce(sum(n.parts), 0) AS done, coalesce(sum(n.bytes), 0) AS bytes
    FROM chosen c LEFT JOIN stored n ON n.segment_id = c.segment_id
    GROUP BY c.asset_id
), counted AS (
    UPDATE asset a SET segments = a.segments - n.parts + n.files,
        segments_done = a.segments_done - n.done,
        segments_failed = a.segments_failed - (n.parts - n.done) + n.files,
        verifies = a.verifies - n.files, verifies_failed = a.verifies_failed - n.files,
        bytes = a.bytes - n.bytes, adopted_bytes = least(a.adopted_bytes, a.bytes - n.bytes)
    FROM totals n JOIN asset b ON b.id = n.asset_id
    WHERE a.id = n.asset_id
    RETURNING a.catalog_id, n.files, n.parts, n.done, n.bytes,
              b.adopted_bytes - a.adopted_bytes AS adopted_bytes
), tallied AS (
    INSERT INTO tally (catalog_id, segments, segments_done, segments_failed, bytes, adopted_bytes,
                       stored_bytes)
    SELECT catalog_id, files - parts, -done, files - (parts - done), -bytes, -adopted_bytes, -bytes
    FROM counted
), unstored AS (
    SELECT segment_id FROM chosen
), {{forgettingUnstored}}, held AS (
    {{holdingUnstored}}
)
INSERT INTO result (segment_id, done, failure_code, failure_message, attempts)
SELECT segment_id, false, coalesce(failure_code, {{worker.cancelled}}), failure_message, attempt
FROM chosen
ON CONFLICT (segment_id) DO UPDATE SET done = false, bytes = NULL, sha256 = NULL,
    failure_code = excluded.failure_code, failure_message = excluded.failure_message,
    attempts = excluded.attempts, recorded_at = excluded.recorded_at
