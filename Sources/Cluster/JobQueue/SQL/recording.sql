-- Recordings of live titles: the segments that their playlists, or MPDs, have listed, and the
-- playlists or MPDs that list these in the end. The tracks of an MPD are its playlists here.

-- name: begin
-- The first reading of a live title; no row if it was recorded before.
INSERT INTO recording (asset_id, catalog_id, cursor, manifest, playlists)
SELECT id, catalog_id, @cursor::text, @manifest::text, @playlists::int FROM asset WHERE id = @asset::bigint
ON CONFLICT (asset_id) DO NOTHING
RETURNING asset_id

-- name: known
-- Which of these segments, pairwise playlists and sequence numbers, are recorded already, by their
-- places; which of @keys its segments have; the next ordinal; and the number of periods of an MPD.
SELECT ARRAY(
           SELECT e.place FROM unnest(@playlists::int[], @sequences::bigint[]) WITH ORDINALITY
               AS e(playlist, sequence, place)
           WHERE EXISTS (SELECT FROM recorded_segment g WHERE g.asset_id = r.asset_id
                         AND g.playlist = e.playlist AND g.sequence = e.sequence)) AS entries,
       ARRAY(
           SELECT k.key FROM unnest(@keys::text[]) AS k(key)
           WHERE EXISTS (
               SELECT FROM segment s
               WHERE hashtextextended(s.key, 0) = hashtextextended(k.key, 0) AND s.key = k.key
                 AND s.asset_id = r.asset_id AND s.role <> 'file' AND s.part = 0)) AS keys,
       r.next_ordinal::bigint AS next_ordinal,
       coalesce((r.cursor::json #>> '{mpd,periodCount}')::bigint, 0) AS periods
FROM recording r WHERE r.asset_id = @asset::bigint

-- name: insert
-- Segments and gaps, pairwise; @ordinals are null for gaps.
INSERT INTO recorded_segment (asset_id, playlist, sequence, seconds, setup, tags, uri, ordinal, missed)
SELECT @asset::bigint, * FROM unnest(@playlists::int[], @sequences::bigint[], @seconds::float8[],
    @setups::text[], @tags::text[], @uris::text[], @ordinals::int[], @missed::bigint[])

-- name: markOptional
-- Media segments from an ordinal on: one that cannot be had is a gap, not a failure of its asset.
UPDATE segment SET optional = true
WHERE asset_id = @asset::bigint AND ordinal >= @first::int AND ordinal < {{firstSidecar}}
  AND role NOT IN ({{roleShared}})

-- name: update
-- Records the findings of a reload. New periods of an MPD are added to its text.
UPDATE recording SET cursor = @cursor::text, next_ordinal = @next_ordinal::int,
    manifest = CASE WHEN @periods::text IS NULL THEN manifest ELSE manifest || @periods::text END,
    segments = segments + @segments::bigint, gaps = gaps + @gaps::bigint, lost = lost + @lost::bigint,
    bytes = @bytes::bigint,
    behind_seconds = @behind_seconds::float8, reload_seconds = @reload_seconds::float8,
    unchanged = CASE WHEN @segments::bigint > 0 THEN 0 ELSE unchanged + 1 END,
    changed_at = CASE WHEN @segments::bigint > 0 THEN now() ELSE changed_at END
WHERE asset_id = @asset::bigint

-- name: find
-- It is settled when all segments but its playlists have ended, and are counted. A lost segment of an MPD divides
-- a run of its timeline, with an S element of @run_bytes.
SELECT r.cursor, r.playlists::bigint AS playlists, r.next_ordinal::bigint AS next_ordinal,
       r.queued::bigint AS queued, r.unchanged::bigint AS unchanged, r.reload_seconds,
       r.segments, r.gaps, r.ended_at IS NOT NULL AS is_over, r.is_written, a.key, a.url,
       a.state IN ({{assetResolvable}}) AS is_start,
       a.segments_done + a.segments_failed + r.playlists >= a.segments
           AND a.verifies_done + a.verifies_failed >= a.verifies AS is_settled,
       coalesce(extract(epoch FROM now())
                >= (c.title_options::jsonb ->> 'recordsUntilSeconds')::float8, false) AS is_until,
       now() > r.begun_at + make_interval(secs => @max_seconds::float8)
           OR greatest(r.segments, r.next_ordinal) >= @max_segments::bigint
           OR r.bytes + CASE WHEN r.cursor::json #>> '{mpd,periodCount}' IS NULL THEN 0
                             ELSE r.lost * @run_bytes::bigint END >= @max_bytes::bigint AS is_full
FROM recording r
JOIN asset a ON a.id = r.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE r.asset_id = @asset::bigint

-- name: unread
-- A reload has failed.
UPDATE recording SET unchanged = unchanged + 1 WHERE asset_id = @asset::bigint

-- name: end
-- It is not reloaded any more.
WITH ended AS (
    UPDATE recording SET ended_at = now(), end_reason = @reason::text
    WHERE asset_id = @asset::bigint AND ended_at IS NULL
    RETURNING catalog_id, asset_id
)
INSERT INTO event (kind, catalog_id, asset_id, code, message)
SELECT 'asset.recorded', catalog_id, asset_id, @code::text, @message::text FROM ended

-- name: outcome
-- Reads whether any media segment is stored, the bytes of its largest playlist at most, and the first failure
-- that is no gap.
SELECT (SELECT coalesce(max(l.bytes), 0)::bigint FROM (
           SELECT sum(coalesce(octet_length(setup), 0) + octet_length(tags) + octet_length(uri) + 12
                      + least(missed, @listed_gap::bigint) * 80) + 70000 AS bytes
           FROM recorded_segment WHERE asset_id = @asset::bigint GROUP BY playlist
       ) AS l) AS bytes,
       EXISTS (
           SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
           WHERE s.asset_id = @asset::bigint AND s.part = 0 AND s.ordinal < {{firstSidecar}}
             AND s.optional) AS are_stored,
       f.code, f.message
FROM (SELECT) AS nothing
LEFT JOIN LATERAL (
    SELECT r.failure_code AS code, r.failure_message AS message
    FROM segment s JOIN result r ON r.segment_id = s.id AND NOT r.done
    WHERE s.asset_id = @asset::bigint AND s.part = 0 AND s.ordinal < {{firstSidecar}}
      AND NOT s.optional
    ORDER BY s.ordinal LIMIT 1
) AS f ON true

-- name: lost
-- Segments from an ordinal on that could not be fetched become gaps. Their asset counts them no
-- longer.
WITH lost AS MATERIALIZED (
    SELECT s.id, s.ordinal, s.key, r.failure_code, r.failure_message
    FROM segment s JOIN result r ON r.segment_id = s.id AND NOT r.done
    WHERE s.asset_id = @asset::bigint AND s.part = 0 AND s.optional AND s.ordinal >= @first::int
      AND s.ordinal < {{firstSidecar}}
), gone AS (
    DELETE FROM segment s USING lost l WHERE s.id = l.id OR s.parent_id = l.id RETURNING s.id
), results AS (
    DELETE FROM result r USING gone g WHERE r.segment_id = g.id RETURNING r.bytes
), stored AS (
    -- Parts of them may be.
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT a.catalog_id, -n.bytes
    FROM (SELECT sum(bytes) AS bytes FROM results) AS n JOIN asset a ON a.id = @asset::bigint
    WHERE n.bytes > 0
), listed AS (
    UPDATE recorded_segment e SET ordinal = NULL FROM lost l
    WHERE e.asset_id = @asset::bigint AND e.ordinal = l.ordinal
    RETURNING e.playlist, e.sequence, l.key, l.failure_code, l.failure_message
), counted AS (
    UPDATE recording SET gaps = gaps + (SELECT count(*) FROM listed),
        lost = lost + (SELECT count(*) FROM listed)
    WHERE asset_id = @asset::bigint AND EXISTS (SELECT FROM lost)
)
SELECT playlist, sequence, key, failure_code, failure_message FROM listed
ORDER BY playlist, sequence

-- name: nameGaps
-- Pairwise codes, null for none, and messages.
INSERT INTO event (kind, catalog_id, asset_id, code, message)
SELECT 'asset.gap', r.catalog_id, r.asset_id, g.code, g.message
FROM recording r, unnest(@codes::text[], @messages::text[]) AS g(code, message)
WHERE r.asset_id = @asset::bigint

-- name: nameUnrecorded
-- Adds what has joined the title, each name once, and @most of all. Readers of the events compose their
-- messages (`RecordedMessage`).
WITH named AS (
    SELECT j.name, min(j.place) AS place
    FROM recording r, unnest(@names::text[]) WITH ORDINALITY AS j(name, place)
    WHERE r.asset_id = @asset::bigint AND NOT j.name = ANY(r.unrecorded)
    GROUP BY j.name ORDER BY 2
    LIMIT greatest(@most::int - (SELECT cardinality(unrecorded) FROM recording
                                 WHERE asset_id = @asset::bigint), 0)
), added AS (
    UPDATE recording r SET unrecorded = r.unrecorded || ARRAY(SELECT name FROM named ORDER BY place)
    WHERE r.asset_id = @asset::bigint AND EXISTS (SELECT FROM named)
)
INSERT INTO event (kind, catalog_id, asset_id, message)
SELECT 'asset.unrecorded', r.catalog_id, r.asset_id,
       json_build_object('unrecorded', json_build_object('name', n.name))::text
FROM recording r, named n WHERE r.asset_id = @asset::bigint
ORDER BY n.place

-- name: manifest
-- Reads the text that its manifest is composed of in the end.
SELECT manifest FROM recording WHERE asset_id = @asset::bigint

-- name: keep
-- Makes its stored segments belong to it from now on.
UPDATE segment SET optional = false
WHERE asset_id = @asset::bigint AND optional AND ordinal < {{firstSidecar}}

-- name: playlist
-- Reads the lines of a playlist, in its order.
SELECT sequence, setup, tags, uri, ordinal IS NULL AS is_gap, missed
FROM recorded_segment
WHERE asset_id = @asset::bigint AND playlist = @playlist::int ORDER BY sequence

-- name: written
-- Its playlists are segments now, below ordinal @next_ordinal.
WITH lines AS (
    DELETE FROM recorded_segment WHERE asset_id = @asset::bigint
), digests AS (
    UPDATE segment s SET expected_sha256 = encode(sha256(convert_to(m.content, 'UTF8')), 'hex')
    FROM rewritten_manifest m
    WHERE s.asset_id = @asset::bigint AND s.role = 'playlist' AND s.part = 0
      AND s.ordinal < {{firstSidecar}} AND m.segment_id = s.id
)
UPDATE recording SET is_written = true, next_ordinal = @next_ordinal::int, manifest = NULL
WHERE asset_id = @asset::bigint

-- name: origins
-- The origins of its segments from an ordinal on.
SELECT DISTINCT origin_id FROM segment
WHERE asset_id = @asset::bigint AND ordinal >= @first::int AND part = 0
ORDER BY origin_id

-- name: jobs
-- raises: asset.resolved
-- Ends the resolve job. Its segments from ordinal @first to @last get jobs, as `jobs` of
-- resolving.sql; after a start all counts of the asset begin again. @outstanding is added to the
-- number of its segments. Answers how many jobs there are.
WITH gone AS (
    DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint RETURNING lane_id, asset_id
), placed AS (
    SELECT n.id AS lane_id, s.id, s.asset_id, s.ordinal
    FROM gone g
    JOIN lane l ON l.id = g.lane_id
    JOIN asset a ON a.id = g.asset_id
    JOIN segment s ON s.asset_id = g.asset_id AND s.part = 0 AND s.ordinal >= @first::int
        AND s.ordinal <= @last::int
    {{queuedFetches}}
), queued AS (
    UPDATE recording SET queued = next_ordinal WHERE asset_id = @asset::bigint
), counted AS (
    UPDATE asset a SET
        state = CASE WHEN s.begins THEN 'ready' ELSE a.state END, resolved = @is_written::bool,
        segments = CASE WHEN s.begins THEN 0 ELSE a.segments END + t.n + @outstanding::int,
        segments_done = CASE WHEN s.begins THEN 0 ELSE a.segments_done END,
        segments_failed = CASE WHEN s.begins THEN 0 ELSE a.segments_failed END,
        verifies = CASE WHEN s.begins THEN 0 ELSE a.verifies END,
        verifies_done = CASE WHEN s.begins THEN 0 ELSE a.verifies_done END,
        verifies_failed = CASE WHEN s.begins THEN 0 ELSE a.verifies_failed END,
        bytes = CASE WHEN s.begins THEN 0 ELSE a.bytes END,
        adopted_bytes = CASE WHEN s.begins THEN 0 ELSE a.adopted_bytes END,
        renewing_since = NULL, renewals = 0, renewed_done = 0, changed_at = now()
    FROM (SELECT count(*) AS n FROM jobs) AS t, (SELECT @is_start::bool AS begins) AS s
    WHERE a.id = @asset::bigint AND a.state IN ({{assetResolvable}}, {{assetUnderWay}})
    RETURNING a.id, a.catalog_id, t.n + @outstanding::int AS added
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id)
    SELECT 'asset.ready', catalog_id, id FROM counted WHERE @is_start::bool
), tallied AS (
    INSERT INTO tally (catalog_id, segments) SELECT catalog_id, added FROM counted WHERE added <> 0
)
SELECT count(*) AS jobs FROM jobs

-- name: delay
-- Its next reload, in @seconds, or at the time at which it ends.
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, kind,
                         available_at)
SELECT c.queue_id, c.id, a.origin_id, 1, {{ownPriority}}, a.id, 'resolve',
       least(now() + make_interval(secs => @seconds::float8),
             greatest(to_timestamp((c.title_options::jsonb ->> 'recordsUntilSeconds')::float8),
                      now() + interval '1 second'))
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.id = @asset::bigint
