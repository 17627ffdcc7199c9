-- $1 catalog, $2 generation. Drops the jobs of assets that left the catalog, have other sidecars or
-- were redefined, and what was known of the last. One that is refreshed is whole, and was.
WITH gone AS MATERIALIZED (
    SELECT id, redefined, state = 'refreshing' AND NOT redefined AS is_whole FROM asset
    WHERE catalog_id = $1 AND (redefined
        OR ((generation < $2 OR sidecars_changed) AND state IN ({{assetUnsettled}})))
    ORDER BY id FOR UPDATE
), jobs AS (
    DELETE FROM job USING gone, lane l
    WHERE l.catalog_id = $1 AND job.lane_id = l.id AND job.asset_id = gone.id
), delayed AS (
    DELETE FROM delayed_job d USING gone WHERE d.catalog_id = $1 AND d.asset_id = gone.id
), segments AS (
    DELETE FROM segment USING gone WHERE gone.redefined AND segment.asset_id = gone.id
    RETURNING segment.id
), results AS (
    DELETE FROM result USING segments WHERE result.segment_id = segments.id
), assemblies AS (
    DELETE FROM assembly USING segments WHERE assembly.segment_id = segments.id
)
UPDATE asset a SET
    state = CASE WHEN a.redefined THEN 'new' WHEN gone.is_whole THEN 'completed' ELSE 'interrupted' END,
    directory_id = CASE WHEN NOT a.redefined THEN a.directory_id ELSE (
        SELECT d.id FROM directory d
        WHERE d.catalog_id = $1 AND d.path = regexp_replace(a.key, '/?[^/]*$', '')) END,
    redefined = false, resolved = a.resolved AND NOT a.redefined,
    segments = CASE WHEN gone.is_whole THEN a.segments ELSE 0 END,
    segments_done = CASE WHEN gone.is_whole THEN a.segments_done ELSE 0 END, segments_failed = 0,
    verifies = CASE WHEN gone.is_whole THEN a.verifies ELSE 0 END,
    verifies_done = CASE WHEN gone.is_whole THEN a.verifies_done ELSE 0 END, verifies_failed = 0,
    bytes = CASE WHEN gone.is_whole THEN a.bytes ELSE 0 END,
    adopted_bytes = CASE WHEN gone.is_whole THEN a.adopted_bytes ELSE 0 END, refreshed = NULL,
    failure_code = NULL, failure_message = NULL, changed_at = now()
FROM gone WHERE a.id = gone.id
