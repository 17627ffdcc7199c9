-- Rights: when assets may begin, and until when their files are kept.

-- fragment: isDue
-- The rights of asset a have expired.
{{hasRights}} AND least(a.expires_at, a.kept_until) <= now()

-- name: expired
-- Catalogs with assets whose rights have expired: one look at the index for each with rights.
WITH RECURSIVE limited AS (
    (SELECT a.catalog_id FROM asset a WHERE {{hasRights}} ORDER BY a.catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM limited l CROSS JOIN LATERAL (
        SELECT a.catalog_id FROM asset a
        WHERE {{hasRights}} AND a.catalog_id > l.catalog_id ORDER BY a.catalog_id LIMIT 1
    ) AS n
)
SELECT l.catalog_id AS id FROM limited l
WHERE EXISTS (SELECT FROM asset a WHERE a.catalog_id = l.catalog_id AND {{isDue}})
ORDER BY 1

-- name: expiring
-- The catalog's lock is held. Its assets whose rights have expired, the first ones first: up to
-- @segments segments and one asset at least.
SELECT id FROM (
    SELECT id, sum(segments + 1) OVER (ORDER BY ends_at, id) - segments - 1 AS before
    FROM (
        SELECT a.id, a.segments, least(a.expires_at, a.kept_until) AS ends_at FROM asset a
        WHERE a.catalog_id = @catalog::bigint AND {{isDue}}
        ORDER BY least(a.expires_at, a.kept_until) LIMIT @segments::int
    ) AS a
) AS b WHERE before < @segments::int ORDER BY id

-- name: hasAny
-- True if files of the catalog are still to be deleted when their rights expire.
SELECT EXISTS (
    SELECT FROM asset a WHERE a.catalog_id = @catalog::bigint AND {{hasRights}}
) AS has_rights

-- name: mayBegin
-- Catalogs with assets that may begin now.
SELECT DISTINCT catalog_id AS id FROM asset
WHERE is_waiting AND (not_before <= now() OR not_before IS NULL)

-- name: beginning
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND is_waiting AND (not_before <= now() OR not_before IS NULL)

-- name: begin
-- As `reprioritise` of selecting.sql: those that may begin now.
UPDATE asset a SET is_waiting = false, changed_at = now()
WHERE a.catalog_id = @catalog::bigint AND a.id = ANY(@assets::bigint[]) AND a.is_waiting
RETURNING a.id, {{ownPriority}} AS own_priority

-- name: rescheduled
-- Assets of a submission that is to start whose jobs wait and should not, or the reverse.
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
  AND is_waiting <> coalesce(not_before > now(), false)

-- name: reschedule
-- As `reprioritise` of selecting.sql: their jobs wait exactly until they may begin.
UPDATE asset a SET is_waiting = NOT a.is_waiting, changed_at = now()
WHERE a.catalog_id = @catalog::bigint AND a.id = ANY(@assets::bigint[])
  AND a.is_waiting <> coalesce(a.not_before > now(), false)
RETURNING a.id, {{ownPriority}} AS own_priority

-- unprepared: refuseExpired
-- Nothing is fetched for assets whose rights have expired; @code and @message say so. What one has
-- stored before counts as failed: it expires next, as long as there is any.
WITH changed AS (
    UPDATE asset a SET
        key_taken = true, state = 'failed', failure_code = @code, failure_message = @message,
        segments = n.stored, segments_done = 0, segments_failed = n.stored, verifies = 0,
        verifies_done = 0, verifies_failed = 0, bytes = 0, adopted_bytes = 0, retries = 0,
        refreshed = NULL, changed_at = now()
    FROM (
        SELECT e.id, (
            SELECT count(*) FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
            WHERE s.asset_id = e.id
        ) + (
            SELECT count(*) FROM previous_file f WHERE f.asset_id = e.id AND f.bytes IS NOT NULL
        ) AS stored
        FROM asset e
        WHERE e.catalog_id = @catalog::bigint AND e.generation = @generation::int
          AND e.expires_at IS NOT NULL AND e.expires_at <= now()
          AND e.state IN ({{assetRefusable}})
    ) AS n
    WHERE a.id = n.id
    RETURNING a.id, a.catalog_id, a.state, a.failure_code, a.failure_message
)
{{assetEvents}}
