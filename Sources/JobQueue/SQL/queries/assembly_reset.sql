-- $1 segment of the whole file, $2 seconds to wait, $3 the tries that do not count, $4 whether it is not to
-- be divided again. Its parts do not belong to one version of the object, or cannot be had: they go, and
-- the file is fetched from its start again: when its title's manifest has been read, where that is read for fresh URLs.
WITH whole AS (
    UPDATE segment s SET is_whole = CASE WHEN $4::bool THEN true ELSE s.is_whole END,
        former_assembly = y.id
    FROM assembly y WHERE s.id = $1::bigint AND y.segment_id = s.id
), parts AS (
    DELETE FROM segment WHERE parent_id = $1::bigint RETURNING id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
    RETURNING result.done, result.bytes
), assemblies AS (
    DELETE FROM assembly WHERE segment_id = $1::bigint RETURNING parts, attempt, failed
), counts AS (
    SELECT (SELECT max(parts) FROM assemblies) - 1 AS fewer,
           (SELECT max(attempt) FROM assemblies) AS attempt,
           (SELECT count(*) FROM assemblies WHERE failed) AS given_up,
           (SELECT count(*) FROM results WHERE done) AS done,
           (SELECT count(*) FROM results WHERE NOT done) AS failed,
           (SELECT coalesce(sum(bytes), 0) FROM results WHERE done) AS bytes
), counted AS (
    UPDATE asset a SET segments = a.segments - t.fewer, segments_done = a.segments_done - t.done,
        segments_failed = a.segments_failed - t.failed, bytes = a.bytes - t.bytes,
        adopted_bytes = least(a.adopted_bytes, a.bytes - t.bytes),
        verifies = a.verifies - 1, verifies_failed = a.verifies_failed - t.given_up,
        -- What a part of it failed with is not the end of it any more.
        failure_code = CASE WHEN a.segments_failed > t.failed OR a.verifies_failed > t.given_up
                            THEN a.failure_code END,
        failure_message = CASE WHEN a.segments_failed > t.failed OR a.verifies_failed > t.given_up
                               THEN a.failure_message END,
        retries = a.retries + 1, state = 'inProgress', changed_at = now()
    FROM counts t, segment s, asset b
    WHERE s.id = $1::bigint AND a.id = s.asset_id AND b.id = a.id AND t.fewer IS NOT NULL
    RETURNING a.id, a.catalog_id, coalesce(a.priority, -1) AS priority, s.origin_id, a.renewing_since IS NOT NULL AS renewing,
              t.attempt,
              t.fewer, t.done, t.failed, t.bytes,
              b.adopted_bytes - a.adopted_bytes AS adopted_bytes
), queued AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, kind, attempt, available_at, refused_code,
                             refused_message)
    SELECT c.queue_id, c.id, n.origin_id, 1, n.priority, n.id, $1::bigint, 'fetch', n.attempt - $3::smallint,
           CASE WHEN n.renewing THEN 'infinity' ELSE now() + make_interval(secs => $2::float8) END,
           -- Whatever comes of that, it is released then.
           CASE WHEN n.renewing THEN 'content.changed' END, NULL
    FROM counted n JOIN catalog c ON c.id = n.catalog_id
)
INSERT INTO tally (catalog_id, segments, segments_done, segments_failed, bytes, adopted_bytes,
                   retries)
SELECT catalog_id, -fewer, -done, -failed, -bytes, -adopted_bytes, 1 FROM counted
