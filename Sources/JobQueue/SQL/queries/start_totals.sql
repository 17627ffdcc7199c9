-- $1 catalog, $2 generation. Counts anew what is under way by directory and in all; a SHA256SUMS that is
-- about to be written in a directory with something under way waits until that has ended. Tallies
-- without an asset go: what they say is in the assets, which are counted in the same snapshot, and
-- the SHA256SUMS of a directory that they end is written. The others, and those that come later, are
-- added by the next fold, which waits for the catalog's lock. The catalog runs, or has ended when
-- nothing is lacking.
WITH tallies AS MATERIALIZED (
    DELETE FROM tally WHERE catalog_id = $1 AND asset_id IS NULL
    RETURNING directory_id, assets_completed + assets_failed + assets_cancelled AS ended
), counted AS MATERIALIZED (
    SELECT directory_id, count(*) AS unsettled FROM asset
    WHERE catalog_id = $1 AND generation = $2 AND state IN ({{assetUnsettled}})
    GROUP BY directory_id
), ended AS MATERIALIZED (
    SELECT d.id FROM directory d
    JOIN (SELECT directory_id, sum(ended) AS n FROM tallies GROUP BY directory_id) AS e
        ON e.directory_id = d.id
    WHERE d.unsettled > 0 AND d.unsettled <= e.n
      AND d.id NOT IN (SELECT directory_id FROM counted)
), sums AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, ended.id, 'sums' FROM ended, catalog c WHERE c.id = $1
), early AS (
    DELETE FROM job USING lane l, counted
    WHERE l.catalog_id = $1 AND l.rank IN (0, 1, 4) AND job.lane_id = l.id
      AND job.directory_id = counted.directory_id
    RETURNING job.lane_id, job.id
), told AS (
    INSERT INTO cancelled_job (lease_id, job_id)
    SELECT e.id, g.id
    FROM early g
    JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = p.lease_id
    ON CONFLICT DO NOTHING
), early_delayed AS (
    DELETE FROM delayed_job d USING counted
    WHERE d.catalog_id = $1 AND d.directory_id = counted.directory_id
), directories AS (
    UPDATE directory d SET unsettled = coalesce(c.unsettled, 0),
        sums = CASE WHEN d.id IN (SELECT id FROM ended) THEN 'due' ELSE d.sums END
    FROM directory x LEFT JOIN counted c ON c.directory_id = x.id
    WHERE d.id = x.id AND x.catalog_id = $1
)
UPDATE catalog c SET
    generation = $2::int, starts = c.starts + 1,
    deadline = CASE WHEN c.generation < $2::int THEN c.opened_deadline ELSE c.deadline END,
    state = CASE WHEN t.unsettled > 0 THEN 'running'
                 WHEN t.failed > 0 THEN 'failed'
                 WHEN t.cancelled > 0 THEN 'cancelled' ELSE 'completed' END,
    started_at = CASE WHEN c.state = 'running' THEN c.started_at ELSE now() END,
    ended_at = CASE WHEN t.unsettled > 0 THEN NULL ELSE now() END,
    assets = t.assets, assets_completed = t.completed, assets_failed = t.failed,
    assets_cancelled = t.cancelled,
    segments = t.segments, segments_done = t.segments_done, segments_failed = t.segments_failed,
    bytes = t.bytes, adopted_bytes = t.adopted_bytes, retries = t.retries,
    sums_outstanding = (SELECT count(*) FROM counted) + (SELECT count(*) FROM ended) + (
        SELECT count(*) FROM (
            SELECT j.directory_id FROM lane l JOIN job j ON j.lane_id = l.id
            WHERE l.catalog_id = $1 AND l.rank IN (0, 1, 4) AND j.directory_id IS NOT NULL
            UNION ALL
            SELECT directory_id FROM delayed_job
            WHERE catalog_id = $1 AND directory_id IS NOT NULL
        ) AS s WHERE s.directory_id NOT IN (SELECT directory_id FROM counted)),
    sums_failed = 0
FROM (
    SELECT count(*) AS assets,
           count(*) FILTER (WHERE state = 'completed') AS completed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
           count(*) FILTER (WHERE state IN ({{assetUnsettled}})) AS unsettled,
           coalesce(sum(segments), 0) AS segments,
           coalesce(sum(segments_done), 0) AS segments_done,
           coalesce(sum(segments_failed), 0) AS segments_failed,
           coalesce(sum(bytes), 0) AS bytes, coalesce(sum(adopted_bytes), 0) AS adopted_bytes,
           coalesce(sum(retries), 0) AS retries
    FROM asset WHERE catalog_id = $1 AND generation = $2
) AS t
WHERE c.id = $1
