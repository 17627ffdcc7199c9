-- $1 catalog, or null for the 100 most recent. What is expected in all is an estimate: segments of
-- which nothing is known are taken to be like those that are.
SELECT c.id, c.name, q.name AS queue, t.storage_url, c.state, c.generation, c.assets,
       c.assets_completed, c.assets_failed, c.segments, c.segments_done, c.segments_failed,
       c.bytes, c.adopted_bytes, c.retries,
       coalesce(extract(epoch FROM coalesce(c.ended_at, now()) - c.started_at), 0)::float8
           AS seconds,
       p.received AS receiving_bytes,
       CASE WHEN c.segments_done + p.transfers > 0 THEN
           least(c.bytes + p.expected
                 + (c.bytes + p.expected) / (c.segments_done + p.transfers)
                   * greatest(c.segments - c.segments_done - c.segments_failed - p.transfers,
                              0)::numeric,
                 9e18)::bigint
       END AS expected_bytes
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum((e.value->>'receivedBytes')::bigint), 0)::bigint AS received,
           coalesce(sum((e.value->>'expectedBytes')::bigint), 0)::bigint AS expected,
           coalesce(sum((e.value->>'transfers')::bigint), 0)::bigint AS transfers
    FROM worker w, jsonb_each(w.progress) AS e
    JOIN asset a ON a.id = e.key::bigint
    WHERE w.last_seen > now() - interval '15 seconds' AND a.catalog_id = c.id
      AND c.state = 'running'
) AS p
-- A range, so that the one is found through the index.
WHERE c.id BETWEEN coalesce($1::bigint, 0) AND coalesce($1::bigint, 9223372036854775807)
ORDER BY c.id DESC LIMIT 100
