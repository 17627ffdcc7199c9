-- $1 catalog, whose lock is held. Adds what reports left in tallies to the counts of its directories
-- and of the catalog. A directory without unsettled assets gets its SHA256SUMS written; after the
-- last of them the catalog has ended.
WITH gone AS MATERIALIZED (
    DELETE FROM tally WHERE catalog_id = $1::bigint RETURNING *
), directories AS (
    UPDATE directory d SET unsettled = d.unsettled - e.n
    FROM (SELECT directory_id, sum(assets_completed + assets_failed) AS n FROM gone
          GROUP BY directory_id ORDER BY directory_id) AS e
    WHERE d.id = e.directory_id AND e.n > 0 AND d.unsettled > 0
    RETURNING d.id, d.unsettled
), sums AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, d.id, 'sums'
    FROM directories d, catalog c WHERE d.unsettled = 0 AND c.id = $1::bigint
    RETURNING 1
), added AS (
    SELECT count(*) AS rows, sum(assets_completed) AS completed, sum(assets_failed) AS failed,
           sum(segments) AS segments, sum(segments_done) AS segments_done,
           sum(segments_failed) AS segments_failed, sum(bytes) AS bytes,
           sum(adopted_bytes) AS adopted_bytes, sum(retries) AS retries,
           sum(sums_ended) AS sums_ended, sum(sums_failed) AS sums_failed
    FROM gone
), reckoned AS (
    SELECT t.*,
           c.state = 'running' AND c.sums_outstanding - t.sums_ended <= 0
               AND c.assets_completed + c.assets_failed + t.completed + t.failed >= c.assets
               AS ends,
           c.assets_failed + t.failed + c.sums_failed + t.sums_failed > 0 AS fails
    FROM added t, catalog c WHERE t.rows > 0 AND c.id = $1::bigint
), counted AS (
    UPDATE catalog c SET
        assets_completed = c.assets_completed + t.completed,
        assets_failed = c.assets_failed + t.failed,
        segments = c.segments + t.segments,
        segments_done = c.segments_done + t.segments_done,
        segments_failed = c.segments_failed + t.segments_failed,
        bytes = c.bytes + t.bytes,
        adopted_bytes = c.adopted_bytes + t.adopted_bytes,
        retries = c.retries + t.retries,
        sums_outstanding = greatest(c.sums_outstanding - t.sums_ended, 0),
        sums_failed = c.sums_failed + t.sums_failed,
        state = CASE WHEN NOT t.ends THEN c.state WHEN t.fails THEN 'failed' ELSE 'completed' END,
        ended_at = CASE WHEN t.ends THEN now() ELSE c.ended_at END
    FROM reckoned t WHERE c.id = $1::bigint
)
SELECT count(*) AS sums_jobs FROM sums
