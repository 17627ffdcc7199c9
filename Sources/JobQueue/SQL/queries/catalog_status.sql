-- $1 catalog, or null for the 100 most recent.
SELECT c.id, c.name, q.name AS queue, t.storage_url, c.state, c.generation, c.assets,
       c.assets_completed, c.assets_failed, c.segments, c.segments_done, c.segments_failed,
       c.bytes, c.adopted_bytes, c.retries,
       coalesce(extract(epoch FROM coalesce(c.ended_at, now()) - c.started_at), 0)::float8
           AS seconds,
       coalesce((SELECT sum(e.value::bigint)
                 FROM worker w, jsonb_each_text(w.received) AS e
                 JOIN asset a ON a.id = e.key::bigint
                 WHERE w.last_seen > now() - interval '15 seconds' AND a.catalog_id = c.id), 0)
           ::bigint AS receiving_bytes
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
WHERE $1::bigint IS NULL OR c.id = $1::bigint
ORDER BY c.id DESC LIMIT 100
