-- $1 a queue's name, or null for all. What each running catalog lacks, leased or not: segments, and of
-- titles that are not resolved yet at least one each.
SELECT q.state <> 'paused' AND NOT t.schedule_closed AS is_open,
       t.fault_code IS NOT NULL OR outside_roots(t.id) IS NOT NULL AS is_faulty,
       greatest(c.segments - c.segments_done - c.segments_failed + n.segments,
                c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled + n.assets, 0)::bigint AS jobs,
       extract(epoch FROM c.deadline - now())::float8 AS deadline_seconds,
       coalesce(extract(epoch FROM c.not_before - now()), 0)::float8 AS begins_seconds,
       coalesce(extract(epoch FROM now() - greatest(c.started_at, c.not_before)), 0)::float8
           AS running_seconds
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
-- What reports have not yet had folded into it.
CROSS JOIN LATERAL (
    SELECT coalesce(sum(y.segments - y.segments_done - y.segments_failed), 0) AS segments,
           coalesce(sum(-y.assets_completed - y.assets_failed - y.assets_cancelled), 0) AS assets
    FROM tally y WHERE y.catalog_id = c.id
) AS n
WHERE c.state = 'running' AND ($1::text IS NULL OR q.name = $1)
