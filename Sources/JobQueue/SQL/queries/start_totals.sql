-- $1 catalog, $2 generation. Counts anew; the catalog runs, or has ended when nothing is lacking.
UPDATE catalog c SET
    generation = $2::int,
    state = CASE WHEN t.unsettled > 0 THEN 'running'
                 WHEN t.failed > 0 THEN 'failed' ELSE 'completed' END,
    started_at = CASE WHEN c.state = 'running' THEN c.started_at ELSE now() END,
    ended_at = CASE WHEN t.unsettled > 0 THEN NULL ELSE now() END,
    assets = t.assets, assets_completed = t.completed, assets_failed = t.failed,
    segments = t.segments, segments_done = t.segments_done, segments_failed = t.segments_failed,
    bytes = t.bytes, adopted_bytes = t.adopted_bytes, retries = t.retries,
    sums_outstanding = (SELECT count(*) FROM directory WHERE catalog_id = $1 AND unsettled > 0)
        + (SELECT count(*) FROM job WHERE catalog_id = $1 AND directory_id IS NOT NULL),
    sums_failed = 0
FROM (
    SELECT count(*) AS assets,
           count(*) FILTER (WHERE state = 'completed') AS completed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           count(*) FILTER (WHERE state IN ({{assetUnsettled}})) AS unsettled,
           coalesce(sum(segments), 0) AS segments,
           coalesce(sum(segments_done), 0) AS segments_done,
           coalesce(sum(segments_failed), 0) AS segments_failed,
           coalesce(sum(bytes), 0) AS bytes, coalesce(sum(adopted_bytes), 0) AS adopted_bytes,
           coalesce(sum(retries), 0) AS retries
    FROM asset WHERE catalog_id = $1 AND generation = $2
) AS t
WHERE c.id = $1
