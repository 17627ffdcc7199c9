-- $1 lane and $2 number of the resolve job, $3 its asset. Its segments become jobs, in the manifest's
-- order, with the priority that it has by now; those that are done already are checked like any other. No result counts before its job
-- ran. Their lanes are locked.
WITH gone AS (
    DELETE FROM job WHERE lane_id = $1::bigint AND id = $2::bigint RETURNING lane_id, asset_id
), placed AS (
    SELECT n.id AS lane_id, s.id, s.asset_id, s.ordinal
    FROM gone g
    JOIN lane l ON l.id = g.lane_id
    JOIN asset a ON a.id = g.asset_id
    JOIN segment s ON s.asset_id = g.asset_id
    -- OFFSET 0: the other way round, the segments would be read again for each of their lanes.
    CROSS JOIN LATERAL (
        SELECT id FROM lane WHERE catalog_id = l.catalog_id AND origin_id = s.origin_id
            AND rank = 3 AND own_priority = coalesce(a.priority, -1) OFFSET 0
    ) AS n
), jobs AS (
    INSERT INTO job (lane_id, asset_id, segment_id, kind, attempt)
    SELECT lane_id, asset_id, id, 'fetch', 0 FROM placed ORDER BY ordinal
    RETURNING asset_id
), ready AS (
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT DISTINCT lane_id FROM placed)) AND ready_since IS NULL
), counted AS (
    UPDATE asset a SET state = 'ready', resolved = true, segments = t.n, segments_done = 0,
        segments_failed = 0, verifies = 0, verifies_done = 0, verifies_failed = 0, bytes = 0,
        adopted_bytes = 0, renewing_since = NULL, renewals = 0, renewed_done = 0, changed_at = now()
    FROM (SELECT count(*) AS n FROM jobs) AS t
    WHERE a.id = $3::bigint AND a.state IN ({{assetResolvable}})
    RETURNING a.catalog_id, a.segments
)
INSERT INTO tally (catalog_id, segments) SELECT catalog_id, segments FROM counted
