-- $1 the resolve job, $2 its asset. Its segments become jobs, in the manifest's order; those that
-- are done already are checked like any other. No result counts before its job ran.
WITH gone AS (
    DELETE FROM job WHERE id = $1::bigint RETURNING queue_id, catalog_id, asset_id, priority
), jobs AS (
    INSERT INTO job (queue_id, catalog_id, origin_id, asset_id, segment_id, kind, priority)
    SELECT g.queue_id, g.catalog_id, s.origin_id, s.asset_id, s.id, 'fetch', g.priority
    FROM gone g JOIN segment s ON s.asset_id = g.asset_id
    ORDER BY s.ordinal
    ON CONFLICT DO NOTHING
    RETURNING asset_id
), counted AS (
    UPDATE asset a SET state = 'ready', resolved = true, segments = t.n, segments_done = 0,
        segments_failed = 0, verifies = 0, verifies_done = 0, verifies_failed = 0, bytes = 0,
        adopted_bytes = 0, changed_at = now()
    FROM (SELECT count(*) AS n FROM jobs) AS t
    WHERE a.id = $2::bigint AND a.state IN ({{assetResolvable}})
    RETURNING a.catalog_id, a.segments
)
UPDATE catalog c SET segments = c.segments + n.segments FROM counted n WHERE c.id = n.catalog_id
RETURNING n.segments
