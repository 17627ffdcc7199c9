-- When running catalogs will end.

-- name: limits
-- @catalog is null for the 100 most recent. A row for each that runs: what bounds its rate. Its origins are those with
-- jobs left, of 4096 lanes at most. An origin is `full` while workers use all its connections. The last pace is that
-- between two samples, so a wait after them does not change it. Room is what the site's floor and quota leave.
SELECT c.id AS catalog_id, q.name AS queue, t.schedule, t.max_bytes_per_second, t.bytes_per_second,
       greatest(extract(epoch FROM c.not_before - now()), 0)::float8 AS not_before_seconds,
       extract(epoch FROM now())::float8 AS now,
       (SELECT count(*) FROM worker w WHERE w.last_seen > now() - interval '40 seconds'
           AND (w.queues IS NULL OR q.name = ANY(w.queues))) AS workers,
       least(t.available_bytes - coalesce(t.floor_bytes, 0), CASE WHEN t.quota_bytes IS NOT NULL THEN
           t.quota_bytes - (SELECT coalesce(sum(b.bytes), 0) FROM catalog b WHERE b.site_id = t.id)
           END)::bigint AS room_bytes,
       CASE WHEN c.pace[1] >= extract(epoch FROM c.started_at) THEN c.pace[4] - c.pace[1] END
           AS last_seconds,
       c.pace[5] - c.pace[2] AS last_segments, c.pace[6] - c.pace[3] AS last_bytes,
       o.origins, o.bytes_limited, o.bytes_per_second AS origins_bytes_per_second,
       o.requests_limited, o.requests_per_second, o.full_origins, o.url AS origin
FROM (
    SELECT * FROM catalog
    -- A range, so that the one is found through the index.
    WHERE id BETWEEN coalesce(@catalog::bigint, 0)
        AND coalesce(@catalog::bigint, 9223372036854775807)
    ORDER BY id DESC LIMIT 100
) AS c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
CROSS JOIN LATERAL (
    SELECT count(*) AS origins, count(m.bytes_per_second) AS bytes_limited,
           sum(m.bytes_per_second)::float8 AS bytes_per_second,
           count(m.requests_per_second) AS requests_limited,
           sum(m.requests_per_second)::float8 AS requests_per_second,
           count(*) FILTER (WHERE u.active >= m.connections) AS full_origins,
           -- The full ones first.
           (array_agg(o.url ORDER BY coalesce(u.active >= m.connections, false) DESC,
                          m.bytes_per_second, m.requests_per_second, o.id))[1] AS url
    FROM (
        SELECT DISTINCT l.origin_id
        FROM (SELECT id, origin_id, ready_since FROM lane
              WHERE catalog_id = c.id AND origin_id <> 0 LIMIT 4096) AS l
        WHERE l.ready_since IS NOT NULL
           -- Or a worker holds some of it. Spans stay when all of them was done.
           OR EXISTS (SELECT FROM (SELECT lease_id, first_id, last_id FROM span
                                   WHERE lane_id = l.id ORDER BY last_id DESC LIMIT 1000) AS p
                      JOIN lease e ON e.id = p.lease_id AND e.expires_at > now()
                      WHERE EXISTS (SELECT FROM job WHERE lane_id = l.id
                                    AND id BETWEEN p.first_id AND p.last_id))
    ) AS d
    JOIN origin o ON o.id = d.origin_id
    JOIN origin_limit m ON m.id = d.origin_id
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(active), 0) AS active FROM quota
        WHERE kind = 'origin' AND resource_id = o.id AND ends_at > now()
    ) AS u
) AS o
WHERE c.state = 'running'
