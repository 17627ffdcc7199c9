ended AS (
    SELECT catalog_id, directory_id, count(*) AS n FROM rolled
    WHERE state IN ('completed', 'failed') GROUP BY catalog_id, directory_id
), totals AS (
    SELECT catalog_id, count(*) FILTER (WHERE state = 'completed') AS completed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           sum(done) AS segments_done, sum(rolled.failed) AS segments_failed, sum(bytes) AS bytes,
           sum(adopted_bytes) AS adopted_bytes
    FROM rolled GROUP BY catalog_id
), locked_catalogs AS MATERIALIZED (
    SELECT id FROM catalog WHERE id = ANY(ARRAY(SELECT catalog_id FROM totals))
    ORDER BY id FOR NO KEY UPDATE
), locked_directories AS MATERIALIZED (
    -- After the catalogs: a start locks both in this order too.
    SELECT id FROM directory WHERE id = ANY(ARRAY(SELECT directory_id FROM ended))
        AND (SELECT count(*) FROM locked_catalogs) >= 0
    ORDER BY id FOR NO KEY UPDATE
), directories AS (
    UPDATE directory d SET unsettled = d.unsettled - e.n
    FROM ended e WHERE d.id = e.directory_id AND (SELECT count(*) FROM locked_directories) >= 0
    RETURNING d.id, d.catalog_id, d.unsettled
), sums AS (
    INSERT INTO job (queue_id, catalog_id, asset_id, directory_id, kind, priority)
    SELECT c.queue_id, c.id, 0, d.id, 'sums', c.priority
    FROM directories d JOIN catalog c ON c.id = d.catalog_id
    WHERE d.unsettled = 0
    ON CONFLICT (directory_id) WHERE directory_id IS NOT NULL DO NOTHING
)
UPDATE catalog c SET
    assets_completed = c.assets_completed + t.completed,
    assets_failed = c.assets_failed + t.failed,
    segments_done = c.segments_done + t.segments_done,
    segments_failed = c.segments_failed + t.segments_failed,
    bytes = c.bytes + t.bytes,
    adopted_bytes = c.adopted_bytes + t.adopted_bytes
FROM totals t WHERE c.id = t.catalog_id AND (SELECT count(*) FROM locked_catalogs) >= 0
RETURNING (SELECT count(*) FROM directories WHERE unsettled = 0) AS sums_jobs
