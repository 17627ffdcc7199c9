-- Events: changes of states, in the order in which they can be read.

-- name: now
-- Returns the first transaction whose events may not be there yet.
SELECT events_end()::text::bigint AS xact

-- name: beginning
-- The last event that was deleted: the start of all that are kept.
SELECT trimmed_xact::text::bigint AS xact, trimmed_event AS id FROM cluster

-- name: page
-- Events after @xact and @id, the oldest first: of @catalog, of these @kinds, of sites with these
-- @storage_urls and since that time in seconds since 1970, each null for all. Reads at most @scan
-- events, of which @limit are answered. Only those that are final: before the oldest transaction
-- that is still running. The first row has no event, but the last one that was read, how many were
-- read, and whether some after the place were deleted already, or the place is of another database.
WITH read AS MATERIALIZED (
    SELECT e.xact, a.number AS id, e.recorded_at, e.kind, e.catalog_id, a.asset_id, e.site_id,
           e.worker_id, e.name, e.code, e.message, e.assets, e.failed
    FROM event e
    CROSS JOIN LATERAL (
        SELECT n.asset_id, e.id - coalesce(cardinality(e.asset_ids), 1) + n.place AS number
        FROM unnest(coalesce(e.asset_ids, ARRAY[e.asset_id])) WITH ORDINALITY AS n(asset_id, place)
    ) AS a
    WHERE (e.xact, e.id) > (@xact::bigint::text::xid8, @id::bigint)
      AND (e.xact > @xact::bigint::text::xid8 OR a.number > @id::bigint)
      AND e.xact < (SELECT events_end())
    ORDER BY e.xact, e.id, a.number LIMIT @scan::int
), found AS MATERIALIZED (
    SELECT r.*, c.name AS catalog_name, t.storage_url
    FROM read r
    LEFT JOIN catalog c ON c.id = r.catalog_id
    LEFT JOIN site t ON t.id = coalesce(r.site_id, c.site_id)
    WHERE (@catalog::bigint IS NULL OR r.catalog_id = @catalog)
      AND (@kinds::text[] IS NULL OR r.kind = ANY(@kinds))
      AND (@storage_urls::text[] IS NULL OR t.storage_url = ANY(@storage_urls))
      AND (@since::float8 IS NULL OR r.recorded_at >= to_timestamp(@since))
    ORDER BY r.xact, r.id LIMIT @limit::int
), last AS (
    SELECT xact, id FROM read ORDER BY xact DESC, id DESC LIMIT 1
)
SELECT 0 AS place, (SELECT xact::text::bigint FROM last) AS xact, (SELECT id FROM last) AS id,
       (SELECT count(*) FROM read) AS rows,
       (trimmed_xact, trimmed_event) > (@xact::bigint::text::xid8, @id::bigint)
           OR @xact::bigint::text::xid8 > pg_snapshot_xmax(pg_current_snapshot()) AS is_gone,
       NULL AS kind, NULL::float8 AS recorded, NULL::bigint AS catalog_id, NULL AS catalog_name,
       NULL::bigint AS asset_id, NULL AS asset_name, NULL AS asset_url, NULL::uuid AS worker_id,
       NULL AS storage_url, NULL AS name, NULL AS code, NULL AS message, NULL::bigint AS assets,
       NULL::bigint AS failed
FROM cluster
UNION ALL
SELECT 1, f.xact::text::bigint, f.id, NULL, NULL, f.kind, extract(epoch FROM f.recorded_at)::float8,
       f.catalog_id, f.catalog_name, f.asset_id, a.name, a.url, f.worker_id, f.storage_url, f.name,
       f.code, f.message, f.assets, f.failed
FROM found f LEFT JOIN asset a ON a.id = f.asset_id
ORDER BY place, xact, id

-- name: trim
-- Deletes some of the oldest rows: those of long ago, and those beyond @rows events. Answers how many.
WITH last AS (
    SELECT id FROM event ORDER BY xact DESC, id DESC LIMIT 1
), oldest AS MATERIALIZED (
    SELECT e.xact, e.id FROM (
        SELECT xact, id, recorded_at FROM event
        WHERE xact < (SELECT events_end()) ORDER BY xact, id LIMIT @limit::int
    ) AS e
    WHERE e.recorded_at < now() - make_interval(secs => @seconds::float8)
       OR e.id <= (SELECT id FROM last) - @rows::bigint
), locked AS MATERIALIZED (
    SELECT e.xact, e.id FROM oldest o JOIN event e ON e.xact = o.xact AND e.id = o.id
    ORDER BY e.xact, e.id FOR UPDATE OF e SKIP LOCKED
), gone AS (
    DELETE FROM event e USING locked l WHERE e.xact = l.xact AND e.id = l.id
), marked AS (
    UPDATE cluster SET trimmed_xact = l.xact, trimmed_event = l.id
    FROM (SELECT xact, id FROM locked ORDER BY xact DESC, id DESC LIMIT 1) AS l
    WHERE (trimmed_xact, trimmed_event) < (l.xact, l.id)
)
SELECT count(*) AS events FROM locked

-- name: disown
-- Deletes events of the database whose dump was restored here: their transactions had other numbers. The last
-- one decides, so that each start does not read them all.
WITH gone AS (
    DELETE FROM event
    WHERE xact >= pg_snapshot_xmax(pg_current_snapshot())
      AND (SELECT xact FROM event ORDER BY xact DESC, id DESC LIMIT 1)
          >= pg_snapshot_xmax(pg_current_snapshot())
)
UPDATE cluster SET trimmed_xact = '0', trimmed_event = 0
WHERE trimmed_xact >= pg_snapshot_xmax(pg_current_snapshot())
