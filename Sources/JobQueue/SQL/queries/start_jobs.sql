-- $1 catalog, whose lanes are locked, $2 generation, $3 these assets only, null for all.
-- Jobs for what each asset that is not under way lacks: a completed one every file (to be checked),
-- others the files and parts that are not done. An asset that was not resolved is resolved first.
WITH wanted AS MATERIALIZED (
    SELECT id, origin_id, kind, state, kind = 'file' OR resolved AS resolved,
           coalesce(priority, -1) AS own_priority
    FROM asset
    WHERE catalog_id = $1 AND generation = $2
      AND state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed') AND NOT key_taken
      AND ($3::bigint[] IS NULL OR id IN (SELECT unnest($3::bigint[])))
), known AS MATERIALIZED (
    SELECT w.id AS asset_id, w.state, w.own_priority, s.id, s.origin_id, s.ordinal, s.part,
           s.parent_id,
           y.id IS NOT NULL AS assembled, y.parts = y.parts_done AS parts_stored,
           -- Of a file that is still to be put together, what was stored before does not count.
           w.state <> 'completed' AND y.id IS NULL AND coalesce(r.done, false) AS done, r.bytes
    FROM wanted w
    JOIN segment s ON s.asset_id = w.id
    LEFT JOIN result r ON r.segment_id = s.id
    LEFT JOIN assembly y ON y.segment_id = s.id
    WHERE w.resolved
), whole AS MATERIALIZED (
    -- Nothing is lacking when a check was interrupted: it is checked anew, or would never end.
    SELECT asset_id FROM known GROUP BY asset_id HAVING bool_and(done)
), mended AS (
    -- Its tries are counted anew, like those of a job.
    UPDATE assembly y SET failed = false, attempt = 0 FROM known k WHERE y.segment_id = k.id
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, whole_id, kind, attempt)
    SELECT l.id, k.asset_id, k.segment_id, k.whole_id, k.kind, 0
    FROM (
        SELECT CASE WHEN assembled THEN 0 ELSE origin_id END AS origin_id, own_priority, asset_id,
               id AS segment_id, CASE WHEN assembled THEN id ELSE parent_id END AS whole_id,
               ordinal, part, CASE WHEN assembled THEN 'verify' ELSE 'fetch' END AS kind,
               CASE WHEN assembled THEN 0 ELSE 3 END AS rank
        FROM known
        WHERE (NOT assembled OR parts_stored)
          AND (NOT done OR asset_id IN (SELECT asset_id FROM whole))
        UNION ALL
        SELECT origin_id, own_priority, id, NULL, NULL, 0, 0, 'resolve', 2
        FROM wanted WHERE NOT resolved
    ) AS k
    JOIN lane l ON l.catalog_id = $1 AND l.origin_id = k.origin_id AND l.rank = k.rank
        AND l.own_priority = k.own_priority
    ORDER BY k.asset_id, k.ordinal, k.part
    RETURNING 1
), started AS (
    UPDATE asset a SET
        state = CASE WHEN NOT c.resolved THEN 'resolving' WHEN c.state = 'new' THEN 'ready'
                     ELSE 'inProgress' END,
        resolved = c.resolved,
        segments = c.segments, segments_done = c.segments_done, segments_failed = 0,
        verifies = c.verifies, verifies_done = 0, verifies_failed = 0,
        bytes = c.bytes, adopted_bytes = c.bytes, retries = 0,
        refreshed = NULL, failure_code = NULL, failure_message = NULL,
        renewing_since = NULL, renewals = 0, renewed_done = c.segments_done, changed_at = now()
    FROM (
        SELECT w.id, w.resolved, w.state,
               count(k.id) FILTER (WHERE NOT k.assembled) AS segments,
               count(k.id) FILTER (WHERE k.done AND h.asset_id IS NULL) AS segments_done,
               count(k.id) FILTER (WHERE k.assembled) AS verifies,
               coalesce(sum(k.bytes) FILTER (WHERE k.done AND h.asset_id IS NULL), 0) AS bytes
        FROM wanted w
        LEFT JOIN known k ON k.asset_id = w.id
        LEFT JOIN whole h ON h.asset_id = w.id
        GROUP BY w.id, w.resolved, w.state
    ) AS c
    WHERE a.id = c.id
    RETURNING 1
)
SELECT (SELECT count(*) FROM started) AS assets, (SELECT count(*) FROM jobs) AS jobs
