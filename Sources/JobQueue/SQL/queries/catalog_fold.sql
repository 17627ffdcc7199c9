-- $1 catalog, whose lock is held. Adds what reports left in tallies to the counts of its assets, its
-- directories and itself. A directory without unsettled assets gets its SHA256SUMS written; after
-- the last of them the catalog has ended.
WITH gone AS MATERIALIZED (
    DELETE FROM tally WHERE catalog_id = $1::bigint RETURNING *
), assets AS (
    UPDATE asset a SET
        segments_done = a.segments_done + t.done,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        state = CASE
            WHEN a.state NOT IN ({{assetUnderWay}}) THEN a.state
            WHEN a.segments_done + a.segments_failed + t.done < a.segments THEN 'inProgress'
            WHEN a.verifies_done + a.verifies_failed < a.verifies THEN 'verifying'
            WHEN a.segments_failed + a.verifies_failed > 0 THEN 'failed'
            ELSE 'completed' END,
        changed_at = now()
    FROM (
        SELECT asset_id, sum(segments_done) AS done, sum(bytes) AS bytes,
               sum(adopted_bytes) AS adopted_bytes
        FROM gone WHERE asset_id IS NOT NULL GROUP BY asset_id ORDER BY asset_id
    ) AS t
    WHERE a.id = t.asset_id
    RETURNING a.directory_id, a.state, a.state IN ('completed', 'failed') AS has_ended
), ended AS (
    SELECT directory_id, sum(assets_completed) AS completed, sum(assets_failed) AS failed,
           sum(assets_cancelled) AS cancelled
    FROM (
        SELECT directory_id, assets_completed, assets_failed, assets_cancelled FROM gone
        WHERE directory_id IS NOT NULL
        UNION ALL
        SELECT directory_id, (state = 'completed')::int, (state = 'failed')::int, 0 FROM assets
        WHERE has_ended
    ) AS e
    GROUP BY directory_id
), directories AS (
    UPDATE directory d SET unsettled = d.unsettled - (e.completed + e.failed + e.cancelled),
        sums = CASE WHEN d.unsettled = e.completed + e.failed + e.cancelled THEN 'due' ELSE d.sums END
    FROM ended e
    WHERE d.id = e.directory_id AND e.completed + e.failed + e.cancelled > 0 AND d.unsettled > 0
    RETURNING d.id, d.unsettled
), sums AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0, 0, -1, 0, d.id, 'sums'
    FROM directories d, catalog c WHERE d.unsettled = 0 AND c.id = $1::bigint
    RETURNING 1
), added AS (
    SELECT count(*) AS rows, coalesce((SELECT sum(completed) FROM ended), 0) AS completed,
           coalesce((SELECT sum(failed) FROM ended), 0) AS failed,
           coalesce((SELECT sum(cancelled) FROM ended), 0) AS cancelled,
           sum(segments) AS segments, sum(segments_done) AS segments_done,
           sum(segments_failed) AS segments_failed, sum(bytes) AS bytes,
           sum(adopted_bytes) AS adopted_bytes, sum(retries) AS retries,
           sum(sums_ended) AS sums_ended, sum(sums_failed) AS sums_failed
    FROM gone
), reckoned AS (
    SELECT t.*,
           c.state = 'running' AND c.sums_outstanding - t.sums_ended <= 0
               AND c.assets_completed + c.assets_failed + c.assets_cancelled
                   + t.completed + t.failed + t.cancelled >= c.assets
               AS ends,
           c.assets_failed + t.failed + c.sums_failed + t.sums_failed > 0 AS fails,
           c.assets_cancelled + t.cancelled > 0 AS is_cancelled
    FROM added t, catalog c WHERE t.rows > 0 AND c.id = $1::bigint
), counted AS (
    UPDATE catalog c SET
        assets_completed = c.assets_completed + t.completed,
        assets_failed = c.assets_failed + t.failed,
        assets_cancelled = c.assets_cancelled + t.cancelled,
        segments = c.segments + t.segments,
        segments_done = c.segments_done + t.segments_done,
        segments_failed = c.segments_failed + t.segments_failed,
        bytes = c.bytes + t.bytes,
        adopted_bytes = c.adopted_bytes + t.adopted_bytes,
        retries = c.retries + t.retries,
        sums_outstanding = greatest(c.sums_outstanding - t.sums_ended, 0),
        sums_failed = c.sums_failed + t.sums_failed,
        state = CASE WHEN NOT t.ends THEN c.state WHEN t.fails THEN 'failed'
                     WHEN t.is_cancelled THEN 'cancelled' ELSE 'completed' END,
        ended_at = CASE WHEN t.ends THEN now() ELSE c.ended_at END,
        -- Samples of its rate, reset after a start and after two minutes without a fold.
        pace = CASE WHEN c.pace IS NULL OR c.pace[4] < extract(epoch FROM c.started_at)
                         OR s.seconds - c.pace[4] > 120
                    THEN ARRAY[s.seconds, s.segments, s.bytes, s.seconds, s.segments, s.bytes]
                    WHEN s.seconds - c.pace[4] >= 30
                    THEN ARRAY[c.pace[4], c.pace[5], c.pace[6], s.seconds, s.segments, s.bytes]
                    ELSE c.pace END
    FROM reckoned t CROSS JOIN LATERAL (
        SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds,
               (b.segments_done + b.segments_failed + t.segments_done + t.segments_failed)::float8 AS segments,
               (b.bytes - b.adopted_bytes + t.bytes - t.adopted_bytes)::float8 AS bytes
        FROM catalog b WHERE b.id = $1::bigint
    ) AS s
    WHERE c.id = $1::bigint
)
SELECT count(*) AS sums_jobs FROM sums
