-- Titles that may lack renditions: those that list a file that cannot be fetched are left out.

-- fragment: isShort
-- All that asset a needed has ended, and some of it failed.
a.may_lack AND a.state = 'inProgress' AND a.segments_failed + a.verifies_failed > 0
      AND a.segments_done + a.segments_failed = a.segments
      AND a.verifies_done + a.verifies_failed = a.verifies AND a.renewing_since IS NULL

-- name: short
-- Titles that lack files: the first @limit.
SELECT a.id, a.catalog_id
FROM (SELECT DISTINCT asset_id FROM asset_failure WHERE remedy = 5) AS f
JOIN asset a ON a.id = f.asset_id
WHERE {{isShort}}
ORDER BY a.id LIMIT @limit::int

-- name: lock
-- Its catalog's lock is held. No row if it is not short any more, or somebody else has it.
SELECT a.id FROM asset a WHERE a.id = @asset::bigint AND {{isShort}}
FOR NO KEY UPDATE SKIP LOCKED

-- name: losses
-- The asset is locked. True if each of its failures is of one of @codes, of files that its manifest lists, and
-- of a file that it was not resolved without; and it lies at a site that is no cache, whose keys are others.
SELECT coalesce(bool_and(
    r.failure_code = ANY(@codes::text[]) AND s.ordinal < {{firstSidecar}}
    AND NOT coalesce(a.left_out, '[]') @> jsonb_build_array(jsonb_build_object('key', s.key))), false)
    AND bool_and({{keepsFiles}}) AS may_be_left_out
FROM asset a
JOIN catalog c ON c.id = a.catalog_id
JOIN segment s ON s.asset_id = a.id AND NOT s.optional
JOIN result r ON r.segment_id = s.id AND NOT r.done
WHERE a.id = @asset::bigint

-- name: leaveOut
-- raises: asset.redefine
-- The asset is locked, and nothing of it is under way. Drops what its manifest listed; stored files are put
-- aside, as those of a title whose tracks are selected again. Of its lost files, the next reading of the manifest
-- gets to know @limit more, of any renditions: they are in the order of a hash.
WITH leaving AS MATERIALIZED (
    SELECT id, kind, true AS redefined, segments, segments_done, segments_failed, bytes, adopted_bytes
    FROM asset WHERE id = @asset::bigint
), lost AS MATERIALIZED (
    SELECT DISTINCT ON (hashtextextended(s.key, 0)) s.key, r.failure_code AS code,
           coalesce(left(r.failure_message, 200), '') AS message
    FROM segment s JOIN result r ON r.segment_id = s.id AND NOT r.done
    WHERE s.asset_id = @asset::bigint AND NOT s.optional
    ORDER BY hashtextextended(s.key, 0) LIMIT @limit::int
), {{puttingAside}}, uncounted AS (
    INSERT INTO tally (catalog_id, segments, segments_done, segments_failed, bytes, adopted_bytes)
    SELECT @catalog::bigint, -segments, -segments_done, -segments_failed, -bytes, -adopted_bytes
    FROM leaving
), begun AS (
    UPDATE asset a SET
        state = 'new', resolved = false, segments = 0, segments_done = 0, segments_failed = 0,
        verifies = 0, verifies_done = 0, verifies_failed = 0, bytes = 0, adopted_bytes = 0,
        failure_code = NULL, failure_message = NULL, renewals = 0, renewed_done = 0,
        left_out = coalesce(a.left_out, '[]') || (
            SELECT jsonb_agg(jsonb_build_object('key', key, 'code', code, 'message', message))
            FROM lost),
        changed_at = now()
    WHERE a.id = @asset::bigint
    RETURNING a.id, a.catalog_id
)
INSERT INTO event (kind, catalog_id, asset_id) SELECT 'asset.new', catalog_id, id FROM begun

-- name: resolve
-- raises: asset.resolve
-- Its manifest is resolved again.
WITH begun AS (
    UPDATE asset a SET state = 'resolving', changed_at = now() WHERE a.id = @asset::bigint
    RETURNING a.id, a.catalog_id, a.origin_id, {{ownPriority}} AS own_priority
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id) SELECT 'asset.resolving', catalog_id, id FROM begun
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, kind)
SELECT c.queue_id, c.id, b.origin_id, 1, b.own_priority, b.id, 'resolve'
FROM begun b JOIN catalog c ON c.id = b.catalog_id

-- name: fail
-- The asset is locked. It cannot do without what it lacks, and ends with the next look at its counts.
UPDATE asset SET may_lack = false WHERE id = @asset::bigint

-- name: note
-- The renditions that its manifest was resolved without, as JSON, or null; @codes are why.
WITH noted AS (
    UPDATE asset SET left_out = @left_out::jsonb
    WHERE id = @asset::bigint AND left_out IS DISTINCT FROM @left_out::jsonb
)
INSERT INTO asset_failure AS f (asset_id, code, origin_id, remedy, is_final)
SELECT a.id, n.code, a.origin_id, 5, false
FROM asset a, unnest(@codes::text[]) AS n(code) WHERE a.id = @asset::bigint
ORDER BY n.code
ON CONFLICT (asset_id, code) DO UPDATE SET remedy = 5 WHERE f.remedy < 5
